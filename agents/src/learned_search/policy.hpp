#pragma once

// The policy of `learned-search`: the network of move values (value_network.hpp).

#include "learned_search/trainer.hpp"
#include "learned_search/value_network.hpp"
#include "policy_gradient/policy_agent.hpp"

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace emplace::agents::learned_search {

/// Holds the network of a policy, and runs episodes with it.
class SearchPolicy final : public policy_gradient::PolicyModel {
 public:
  explicit SearchPolicy(const Options& options);

  std::size_t num_devices() const override { return 0; }
  const ValueNetwork<float>& network() const { return network_; }
  void initialize(RandomStream& random) override;
  std::vector<std::pair<std::string, nn::Parameters<float>*>> networks() override {
    return {{"layers", &network_.parameters()}};
  }
  void run_greedy_episode(Evaluator& evaluator) override;
  std::unique_ptr<policy_gradient::Trainer> make_trainer(
      std::span<Evaluator* const> evaluators, policy_gradient::TrainingPurpose purpose) override;

  /// Learns from each evaluation on the way.
  bool search(Evaluator& evaluator) const override;

 private:
  Options options_;
  ValueNetwork<float> network_;
};

/// Runs an episode of `learned-search`, with its defaults and the policy that comes with emplace,
/// from `start` with the whole budget.
void run_default_episode(Evaluator& evaluator, const Placement& start);

}  // namespace emplace::agents::learned_search
