#pragma once

// The policy of placeto or placeto-joint, and the state of its training.

#include "placeto/episode.hpp"
#include "placeto/grouper.hpp"
#include "placeto/learner.hpp"
#include "placeto/network.hpp"
#include "placeto/options.hpp"
#include "placeto/regrouping.hpp"

#include <tbb/enumerable_thread_specific.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace emplace::agents::placeto {

/// Holds the networks of a policy, and collects rollouts with them.
struct Policy {
  Policy(const Options& options, std::size_t devices)
      : num_devices(options.network.score_candidates ? 0 : devices),
        network(options.network, devices),
        collectors([this] { return RolloutCollector(network); }) {
    if (options.episode.groups > 0) {
      grouper.emplace();
    }
  }

  /// Initializes all weights.
  void initialize(RandomStream& random) {
    network.initialize(random);
    if (grouper) {
      grouper->parameters().initialize(random);
    }
  }

  /// Says whether it places on `devices` devices.
  bool fits(std::size_t devices) const { return num_devices == 0 || num_devices == devices; }

  std::size_t num_devices;  // 0: any
  Network<float> network;
  tbb::enumerable_thread_specific<RolloutCollector> collectors;  // one for each thread
  std::optional<Grouper<float>> grouper;                         // of placeto-joint only
};

/// Holds the episodes of one problem in a round.
struct EpisodeBatch {
  std::size_t problem = 0;
  std::size_t workers = 0;
  Environment* environment = nullptr;  ///< the problem's, or one with coarser groups
  bool is_complete = false;            ///< the budget sufficed
};

/// Holds the state of a training besides the policy.
struct Training {
  Training(const Options& options, Policy& policy) : learner(options.learning, policy.network) {
    if (policy.grouper) {
      grouper_learner.emplace(options.grouping.learning_rate, options.learning.max_grad_norm,
                              *policy.grouper);
    }
  }

  Learner learner;
  std::optional<GrouperLearner> grouper_learner;
  std::vector<Environment> environments;  // one for each session
  std::vector<Regrouping> regroupings;    // the same, or none
  std::int64_t evaluations_before = 0;    // of the sessions, when the training began
  std::int64_t round = 0;                 // number of the next one
  std::size_t next = 0;                   // environment of the next episode, modulo their number
  std::int64_t episodes = 0;              // completed

  /// Returns the share of the sessions' budgets that the training has spent.
  double progress() const {
    std::int64_t spent = -evaluations_before;
    std::int64_t left = 0;
    for (const Environment& environment : environments) {
      spent += environment.session->evaluations();
      left += environment.session->evaluations_left();
    }
    return spent + left > 0 ? static_cast<double>(spent) / static_cast<double>(spent + left) : 0;
  }
};

}  // namespace emplace::agents::placeto
