#include "policy.hpp"

#include "nn/tape.hpp"
#include "policy_gradient/categorical.hpp"

#include <emplace/base/elementary.hpp>

#include <algorithm>

namespace emplace::agents::post {
namespace {

constexpr double kLeastProbability = 1e-300;  // whose logarithm is finite

}  // namespace

CategoricalPolicy::CategoricalPolicy(std::size_t num_groups, std::size_t num_devices)
    : num_groups_(num_groups),
      num_devices_(num_devices),
      logits_(num_groups * num_devices),
      probabilities_(num_groups * num_devices, 1 / static_cast<double>(num_devices)) {}

Choices CategoricalPolicy::sample(RandomStream& random) const {
  Choices choices(num_groups_);
  for (std::size_t group = 0; group < num_groups_; ++group) {
    choices[group] =
        static_cast<std::int32_t>(policy_gradient::sample_action(probabilities(group), random));
  }
  return choices;
}

void CategoricalPolicy::minimize_cross_entropy(std::span<const Choices> elite, double uniform) {
  std::ranges::fill(probabilities_, uniform / static_cast<double>(num_devices_));
  const double share = (1 - uniform) / static_cast<double>(elite.size());
  for (const Choices& choices : elite) {
    for (std::size_t group = 0; group < num_groups_; ++group) {
      probabilities_[group * num_devices_ + static_cast<std::size_t>(choices[group])] += share;
    }
  }
  for (std::size_t i = 0; i < logits_.size(); ++i) {
    logits_[i] = log_of(std::max(probabilities_[i], kLeastProbability));
  }
}

void CategoricalPolicy::optimize_proximally(std::span<const Choices> samples,
                                            std::span<const double> advantages,
                                            const ProximalOptions& options) {
  const auto count = static_cast<double>(samples.size());
  std::vector<double> value(num_devices_);
  for (std::size_t group = 0; group < num_groups_; ++group) {
    const std::size_t first = group * num_devices_;
    const std::span<double> p(probabilities_.data() + first, num_devices_);
    const std::vector<double> sampled_from(p.begin(), p.end());
    std::ranges::fill(value, 0.0);
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const auto device = static_cast<std::size_t>(samples[i][group]);
      value[device] += advantages[i] / (count * sampled_from[device]);
    }
    for (int step = 0; step < options.steps; ++step) {
      double mean = 0;
      for (std::size_t device = 0; device < num_devices_; ++device) {
        mean += p[device] * value[device];
      }
      for (std::size_t device = 0; device < num_devices_; ++device) {
        logits_[first + device] +=
            options.learning_rate * (p[device] * (value[device] - mean) +
                                     options.kl_penalty * (sampled_from[device] - p[device]));
      }
      nn::softmax<double>(logits_.data() + first, 1, p);
    }
  }
}

}  // namespace emplace::agents::post
