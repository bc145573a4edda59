#pragma once

// The policy of Placeto: the network that chooses devices, with what it needs to run episodes.

#include "placeto/episode.hpp"
#include "placeto/network.hpp"
#include "placeto/options.hpp"
#include "policy_gradient/policy_agent.hpp"

#include <tbb/enumerable_thread_specific.h>

namespace emplace::agents::placeto {

/// Holds the network of a policy, and collects rollouts with them.
class PlacetoPolicy final : public policy_gradient::PolicyModel {
 public:
  PlacetoPolicy(const Options& options, std::size_t num_devices);

  std::size_t num_devices() const override { return num_devices_; }
  void initialize(RandomStream& random) override;
  std::vector<std::pair<std::string, nn::Parameters<float>*>> networks() override;
  void run_greedy_episode(Evaluator& evaluator) override;
  std::unique_ptr<policy_gradient::Trainer> make_trainer(
      std::span<Evaluator* const> evaluators, policy_gradient::TrainingPurpose purpose) override;

  PolicyNetwork<float>& network() { return network_; }

  /// Returns the collector of this thread.
  RolloutCollector& collector() { return collectors_.local(); }

 private:
  Options options_;
  std::size_t num_devices_;  // 0: any
  PolicyNetwork<float> network_;
  tbb::enumerable_thread_specific<RolloutCollector> collectors_;
};

}  // namespace emplace::agents::placeto
