#include "value_learner.hpp"

#include <algorithm>

namespace emplace::agents::learned_search {
namespace {

constexpr float kLargestError = 2;  // whose gradient is not clipped
constexpr double kMaxGradientNorm = 10;

}  // namespace

ValueLearner::ValueLearner(ValueNetwork<float>& network)
    : network_(&network), optimizer_(network.parameters().values().size()) {}

void ValueLearner::add_gradient(nn::Tape<float>& tape, nn::Value values,
                                std::span<const float> labels, std::size_t count,
                                std::span<float> gradient) {
  const float weight = 1.0F / static_cast<float>(count);
  const nn::MatrixView<float> derivatives = tape.seed(values);
  for (std::size_t row = 0; row < labels.size(); ++row) {
    derivatives(row, 0) = weight * std::clamp(tape.value(values)(row, 0) - labels[row],
                                              -kLargestError, kLargestError);
  }
  tape.backward(gradient);
}

double ValueLearner::step(std::span<float> gradient, double learning_rate) {
  return optimizer_.clipped_step(network_->parameters().values(), gradient, learning_rate,
                                 kMaxGradientNorm);
}

}  // namespace emplace::agents::learned_search
