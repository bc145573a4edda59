#pragma once

// The policy of Post (Gao, Chen, Li, NeurIPS 2018): a distribution of devices p_m = softmax(u_m)
// for each group m, independent of the other groups. There is no network. Two rules update it:
//
// - Cross-entropy minimization. The distribution nearest to that of the elite, the samples of the
//   lowest times, has a closed form: p_m(d) is the share of the elite that has m on d. It is mixed
//   with the uniform distribution, so that no probability becomes 0.
// - Proximal policy optimization: some steps of gradient ascent in u on the mean over samples of
//   sum over m of A p_m(d_m) / q_m(d_m), less the penalty c times the sum over m of KL(q_m || p_m),
//   where q is the distribution that was sampled from and A a sample's advantage. With S_d the mean
//   over samples of A [d_m = d] / q_m(d), the derivative with respect to u_m(d) is
//   p_m(d) (S_d - sum of p_m S) + c (q_m(d) - p_m(d)), so samples are read only once.

#include <emplace/base/random.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace emplace::agents::post {

/// Holds a device for each group, as an index of a placeable one.
using Choices = std::vector<std::int32_t>;

/// Sets the steps of proximal policy optimization.
struct ProximalOptions {
  int steps = 0;
  double learning_rate = 0;
  double kl_penalty = 0;
};

/// Holds the probabilities of devices, by group.
class CategoricalPolicy {
 public:
  /// Starts with equal probabilities. Requires: at least one device.
  CategoricalPolicy(std::size_t num_groups, std::size_t num_devices);

  /// Returns the probabilities of the devices for `group`.
  std::span<const double> probabilities(std::size_t group) const {
    return {probabilities_.data() + group * num_devices_, num_devices_};
  }

  /// Samples a device for each group.
  Choices sample(RandomStream& random) const;

  /// Moves to the distribution of `elite`, mixed with a share `uniform` of equal probabilities.
  /// Requires: an elite.
  void minimize_cross_entropy(std::span<const Choices> elite, double uniform);

  /// Makes gradient steps on the proximal objective. Requires: `samples`, at least one, were drawn
  /// from this policy as it is; an advantage for each.
  void optimize_proximally(std::span<const Choices> samples, std::span<const double> advantages,
                           const ProximalOptions& options);

 private:
  std::size_t num_groups_;
  std::size_t num_devices_;
  std::vector<double> logits_;         // by group, device
  std::vector<double> probabilities_;  // their softmax
};

}  // namespace emplace::agents::post
