#pragma once

// The policy of Post (Gao, Chen, Li, NeurIPS 2018): for each group m probabilities of the devices,
// p_m = softmax(u_m), drawn from independently of all other groups. There is no network. Two rules
// change it:
//
// - Cross-entropy minimization. The distribution nearest to that of the elite, the samples with the
//   least times, is known in closed form: p_m(d) is the share of the elite that has m on d. Mixed
//   with the uniform distribution, so that no device is lost for ever.
// - Proximal policy optimization: some steps of gradient ascent in u on the mean over samples of
//   sum over m of A p_m(d_m) / q_m(d_m), less `penalty` times the sum over m of KL(q_m || p_m),
//   where q is the distribution that was sampled from and A a sample's advantage. With S_d the mean
//   over samples of A [d_m = d] / q_m(d), the derivative by u_m(d) is
//   p_m(d) (S_d - sum of p_m S) + penalty (q_m(d) - p_m(d)), so samples are read only once.

#include <emplace/graphs/random.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace emplace::agents::post {

/// Holds a device for each group, as an index into those to choose from.
using Choices = std::vector<std::int32_t>;

/// Says how steps of proximal policy optimization are made.
struct ProximalOptions {
  int steps = 0;
  double rate = 0;
  double penalty = 0;
};

/// Holds the probabilities of devices, by group.
class Policy {
 public:
  /// Starts with equal probabilities. Requires: at least one device.
  Policy(std::size_t num_groups, std::size_t num_devices);

  /// Returns the probabilities of the devices for `group`.
  std::span<const double> probabilities(std::size_t group) const {
    return {probabilities_.data() + group * num_devices_, num_devices_};
  }

  /// Draws a device for each group.
  Choices sample(RandomStream& random) const;

  /// Moves to the distribution of `elite`, of which a share `uniform` is replaced by equal
  /// probabilities. Requires: an elite.
  void minimize_cross_entropy(std::span<const Choices> elite, double uniform);

  /// Moves along the proximal objective. Requires: `samples`, of which there are some, were drawn
  /// from this policy as it is, and an advantage for each.
  void optimize_proximally(std::span<const Choices> samples, std::span<const double> advantages,
                           const ProximalOptions& options);

 private:
  std::size_t num_groups_;
  std::size_t num_devices_;
  std::vector<double> logits_;         // by group, device
  std::vector<double> probabilities_;  // their softmax
};

}  // namespace emplace::agents::post
