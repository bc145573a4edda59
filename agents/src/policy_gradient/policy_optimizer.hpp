#pragma once

// The updates of a policy's parameters: gradient descent with clipped gradients, a learning rate
// and a weight of the entropy bonus that follow schedules over the budget.
//
//     optimizer.begin_update();
//     ... sample, evaluate, compute the gradient with optimizer.entropy_weight() ...
//     optimizer.step(gradient);
//     optimizer.end_update();

#include "nn/optimizer.hpp"
#include "nn/parameters.hpp"
#include "policy_gradient/learning_options.hpp"
#include "policy_gradient/schedule.hpp"

#include <emplace/agents/evaluator.hpp>
#include <emplace/base/json_cursor.hpp>

#include <cstdint>
#include <span>
#include <string>

namespace emplace::agents::policy_gradient {

/// Updates the parameters of a policy.
class PolicyOptimizer {
 public:
  /// Begins a training of `parameters` with the budgets of `evaluators`. Requires: both outlive
  /// this.
  PolicyOptimizer(const LearningOptions& options, nn::Parameters<float>& parameters,
                  std::span<Evaluator* const> evaluators);

  /// Begins an update, whose learning rate and entropy weight are those of the budget that is spent
  /// by now.
  void begin_update();

  /// Returns the weight of the entropy bonus in this update.
  double entropy_weight() const { return entropy_weight_; }

  /// Makes a step against `gradient`, which is clipped. Returns its norm before.
  double step(std::span<float> gradient);

  /// Ends the update, with or without a step.
  void end_update() { ++updates_; }

  /// Returns the number of updates that have ended.
  std::int64_t updates() const { return updates_; }

  /// Returns the state, besides the parameters, as a JSON object.
  std::string to_json() const;

  /// Restores what to_json() wrote, the same bits; throws kFormat if it is something else.
  void load(const JsonCursor& json);

 private:
  Schedule learning_rates_;
  Schedule entropy_weights_;
  double max_grad_norm_;
  nn::Parameters<float>* parameters_;
  nn::Optimizer optimizer_;
  BudgetProgress progress_;
  double learning_rate_ = 0;  // of this update
  double entropy_weight_ = 0;
  std::int64_t updates_ = 0;
};

}  // namespace emplace::agents::policy_gradient
