#pragma once

// The policy of Placeto: the network that chooses devices and, where groups are learned, the one
// that merges groups before an episode.

#include "placeto/episode.hpp"
#include "placeto/grouper.hpp"
#include "placeto/network.hpp"
#include "placeto/options.hpp"
#include "policy_gradient/policy_agent.hpp"

#include <tbb/enumerable_thread_specific.h>

#include <optional>

namespace emplace::agents::placeto {

/// Holds the networks of a policy, and collects rollouts with them.
class Policy final : public policy_gradient::PolicyModel {
 public:
  Policy(const Options& options, std::size_t num_devices);

  std::size_t num_devices() const override { return num_devices_; }
  void initialize(RandomStream& random) override;
  std::vector<std::pair<std::string, nn::Parameters<float>*>> networks() override;
  void run_greedy_episode(Session& session) override;
  std::unique_ptr<policy_gradient::Trainer> make_trainer(
      std::span<Session* const> sessions) override;

  Network<float>& network() { return network_; }
  Grouper<float>* grouper() { return grouper_ ? &*grouper_ : nullptr; }

  /// Returns the collector of this thread.
  RolloutCollector& collector() { return collectors_.local(); }

 private:
  Options options_;
  std::size_t num_devices_;  // 0: any
  Network<float> network_;
  std::optional<Grouper<float>> grouper_;
  tbb::enumerable_thread_specific<RolloutCollector> collectors_;
};

}  // namespace emplace::agents::placeto
