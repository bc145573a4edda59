#pragma once

// Losses of policy gradients, as their derivatives with respect to the log probability of a sampled
// action, which is what backward passes start from. Each is to be minimized.
//
// - REINFORCE (Williams 1992): -A log p, whose derivative is -A.
// - PPO (Schulman et al. 2017): -min(r A, clip(r, 1 - c, 1 + c) A), where r is the probability over
//   that before the update.

#include <emplace/graphs/elementary.hpp>

namespace emplace::agents::policy_gradient {

/// Returns the derivative of REINFORCE's loss.
inline double reinforce_derivative(double advantage) { return -advantage; }

/// Returns the derivative of PPO's loss, 0 where the ratio r = e^log_ratio is clipped.
inline double ppo_derivative(double advantage, double log_ratio, double clip) {
  const double ratio = exp_of(log_ratio);
  const bool is_clipped = advantage > 0 ? ratio > 1 + clip : ratio < 1 - clip;
  return -(is_clipped ? 0 : advantage * ratio);
}

}  // namespace emplace::agents::policy_gradient
