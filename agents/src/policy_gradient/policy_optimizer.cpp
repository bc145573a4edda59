#include "policy_optimizer.hpp"

#include "policy_gradient/policy_agent.hpp"

#include <fmt/format.h>

namespace emplace::agents::policy_gradient {

PolicyOptimizer::PolicyOptimizer(const LearningOptions& options, nn::Parameters<float>& parameters,
                                 std::span<Evaluator* const> evaluators)
    : learning_rates_{.begin = options.learning_rate, .end = options.learning_rate_end},
      entropy_weights_{.begin = options.entropy_weight,
                       .end = options.entropy_weight_end,
                       .decay = options.entropy_decay,
                       .share = options.entropy_decay_share},
      max_grad_norm_(options.max_grad_norm),
      parameters_(&parameters),
      optimizer_(parameters.values().size()),
      progress_(evaluators) {}

void PolicyOptimizer::begin_update() {
  const double progress = progress_.share();
  learning_rate_ = learning_rates_.at(progress);
  entropy_weight_ = entropy_weights_.at(progress);
}

double PolicyOptimizer::step(std::span<float> gradient) {
  return optimizer_.clipped_step(parameters_->values(), gradient, learning_rate_, max_grad_norm_);
}

std::string PolicyOptimizer::to_json() const {
  return fmt::format(R"({{"evaluations_before": {}, "updates": {}, "optimizer": {}}})",
                     progress_.evaluations_before(), updates_, optimizer_.to_json());
}

void PolicyOptimizer::load(const JsonCursor& json) {
  json.expect_only({"evaluations_before", "updates", "optimizer"});
  progress_.load(json.at("evaluations_before"));
  updates_ = read_count(json.at("updates"));
  optimizer_.load(json.at("optimizer"));
}

}  // namespace emplace::agents::policy_gradient
