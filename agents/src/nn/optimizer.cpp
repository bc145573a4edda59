#include "optimizer.hpp"

#include "number_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace emplace::agents::nn {
namespace {

constexpr double kAdamMean = 0.9;
constexpr double kAdamSquare = 0.999;
constexpr float kAdamEpsilon = 1e-8F;
constexpr float kRmspropSquare = 0.9F;
constexpr float kRmspropEpsilon = 1e-10F;

}  // namespace

const std::vector<std::string>& optimizer_names() {
  static const std::vector<std::string> names = {"adam", "rmsprop", "sgd"};
  return names;
}

Optimizer::Optimizer(OptimizerKind kind, std::size_t num_parameters)
    : kind_(kind),
      mean_(kind == OptimizerKind::kAdam ? num_parameters : 0),
      // TensorFlow initializes RMSprop's mean square with 1.
      square_(kind == OptimizerKind::kSgd ? 0 : num_parameters,
              kind == OptimizerKind::kRmsprop ? 1.0F : 0.0F) {}

void Optimizer::step(std::span<float> parameters, std::span<const float> gradient,
                     double learning_rate) {
  const std::size_t count = parameters.size();
  const auto rate = static_cast<float>(learning_rate);
  switch (kind_) {
    case OptimizerKind::kSgd:
      for (std::size_t i = 0; i < count; ++i) {
        parameters[i] -= rate * gradient[i];
      }
      break;
    case OptimizerKind::kRmsprop:
      for (std::size_t i = 0; i < count; ++i) {
        const float g = gradient[i];
        square_[i] = kRmspropSquare * square_[i] + (1 - kRmspropSquare) * g * g;
        parameters[i] -= rate * g / std::sqrt(square_[i] + kRmspropEpsilon);
      }
      break;
    case OptimizerKind::kAdam: {
      mean_power_ *= kAdamMean;
      square_power_ *= kAdamSquare;
      const auto corrected =
          static_cast<float>(learning_rate * std::sqrt(1 - square_power_) / (1 - mean_power_));
      for (std::size_t i = 0; i < count; ++i) {
        const float g = gradient[i];
        mean_[i] += static_cast<float>(1 - kAdamMean) * (g - mean_[i]);
        square_[i] += static_cast<float>(1 - kAdamSquare) * (g * g - square_[i]);
        parameters[i] -= corrected * mean_[i] / (std::sqrt(square_[i]) + kAdamEpsilon);
      }
      break;
    }
  }
}

double Optimizer::clipped_step(std::span<float> parameters, std::span<float> gradient,
                               double learning_rate, double max_norm) {
  const double norm = clip_norm(gradient, max_norm);
  if (std::isfinite(norm)) {
    step(parameters, gradient, learning_rate);
  }
  return norm;
}

std::string Optimizer::to_json() const {
  return fmt::format(R"({{"mean": {}, "square": {}, "mean_power": {}, "square_power": {}}})",
                     write_numbers<float>(mean_), write_numbers<float>(square_), mean_power_,
                     square_power_);
}

void Optimizer::load(const JsonCursor& json) {
  json.expect_only({"mean", "square", "mean_power", "square_power"});
  auto mean = read_numbers<float>(json.at("mean"), mean_.size());
  auto square = read_numbers<float>(json.at("square"), square_.size());
  if (std::ranges::any_of(square, [](float number) { return number < 0; })) {
    json.at("square").fail("expected squares, found a number below 0");
  }
  const double mean_power = json.at("mean_power").number(0, 1);
  square_power_ = json.at("square_power").number(0, 1);
  mean_power_ = mean_power;
  mean_ = std::move(mean);
  square_ = std::move(square);
}

double clip_norm(std::span<float> gradient, double max_norm) {
  double square = 0;
  for (const float number : gradient) {
    square += static_cast<double>(number) * number;
  }
  const double norm = std::sqrt(square);
  if (norm > max_norm) {
    const auto factor = static_cast<float>(max_norm / norm);
    for (float& number : gradient) {
      number *= factor;
    }
  }
  return norm;
}

}  // namespace emplace::agents::nn
