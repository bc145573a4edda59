#pragma once

// The policy of Placeto that moves groups and clusters by their values (value_network.hpp).

#include "placeto/value_network.hpp"
#include "placeto/value_trainer.hpp"
#include "policy_gradient/policy_agent.hpp"

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace emplace::agents::placeto {

/// Says what a value policy is and does.
struct ValuePolicyOptions {
  ValueNetworkOptions network{};
  ValueLearningOptions learning{};
  /// Begins with the parameters that come with emplace, if they have as many rounds.
  bool pretrained = true;
};

/// Holds the network of a policy, and runs episodes with it.
class ValuePolicy final : public policy_gradient::PolicyModel {
 public:
  explicit ValuePolicy(const ValuePolicyOptions& options);

  std::size_t num_devices() const override { return 0; }
  const ValueNetwork<float>& network() const { return network_; }
  void initialize(RandomStream& random) override;
  std::vector<std::pair<std::string, nn::Parameters<float>*>> networks() override {
    return {{"layers", &network_.parameters()}};
  }
  void run_greedy_episode(Session& session) override;
  std::unique_ptr<policy_gradient::Trainer> make_trainer(
      std::span<Session* const> sessions) override;

  /// Places with the whole budget, and learns from each evaluation on the way. The policy stays as
  /// it is.
  void search(Session& session) const;

 private:
  ValuePolicyOptions options_;
  ValueNetwork<float> network_;
};

}  // namespace emplace::agents::placeto
