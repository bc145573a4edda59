#include "optimizer.hpp"

#include "number_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace emplace::agents::nn {
namespace {

constexpr double kMeanDecay = 0.9;
constexpr double kSquareDecay = 0.999;
constexpr float kEpsilon = 1e-8F;

}  // namespace

void Optimizer::step(std::span<float> parameters, std::span<const float> gradient,
                     double learning_rate) {
  mean_power_ *= kMeanDecay;
  square_power_ *= kSquareDecay;
  const auto corrected =
      static_cast<float>(learning_rate * std::sqrt(1 - square_power_) / (1 - mean_power_));
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const float g = gradient[i];
    mean_[i] += static_cast<float>(1 - kMeanDecay) * (g - mean_[i]);
    square_[i] += static_cast<float>(1 - kSquareDecay) * (g * g - square_[i]);
    parameters[i] -= corrected * mean_[i] / (std::sqrt(square_[i]) + kEpsilon);
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
