#pragma once

// A policy of Placeto, or of placeto-joint, and what its training goes on from.

#include "learned/placeto_episode.hpp"
#include "learned/placeto_grouper.hpp"
#include "learned/placeto_learner.hpp"
#include "learned/placeto_network.hpp"
#include "learned/placeto_options.hpp"
#include "learned/placeto_regrouping.hpp"

#include <tbb/enumerable_thread_specific.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace emplace::agents::placeto {

/// Holds a policy with what plays it.
struct Policy {
  Policy(const Options& options, std::size_t devices)
      : num_devices(options.network.candidates ? 0 : devices),
        network(options.network, devices),
        players([this] { return Player(network); }) {
    if (options.episode.groups > 0) {
      grouper.emplace();
    }
  }

  /// Draws all weights.
  void initialize(RandomStream& random) {
    network.initialize(random);
    if (grouper) {
      grouper->parameters().initialize(random);
    }
  }

  /// Says whether it places on so many devices.
  bool fits(std::size_t devices) const { return num_devices == 0 || num_devices == devices; }

  std::size_t num_devices;  // 0: any
  Network<float> network;
  tbb::enumerable_thread_specific<Player> players;  // one for each thread
  std::optional<Grouper<float>> grouper;            // only where the grouping is learned, too
};

/// Holds what is played of a problem in a round.
struct Play {
  std::size_t problem = 0;
  std::size_t workers = 0;
  Course* course = nullptr;  ///< the problem's, or one over coarser groups
  bool is_whole = false;     ///< the budget sufficed
};

/// Holds what training knows beside the policy.
struct Training {
  Training(const Options& options, Policy& policy) : learner(options.learning, policy.network) {
    if (policy.grouper) {
      grouper_learner.emplace(options.grouping.rate, options.learning.clip, *policy.grouper);
    }
  }

  Learner learner;
  std::optional<GrouperLearner> grouper_learner;
  std::vector<Course> courses;          // one for each session
  std::vector<Regrouping> regroupings;  // the same, or none
  std::int64_t evaluations_before = 0;  // of the sessions, when it began: schedules run from there
  std::int64_t round = 0;               // the one to play next
  std::size_t next = 0;                 // whose turn it is, modulo courses
  std::int64_t episodes = 0;            // that were played

  /// Returns what share of the sessions' budgets is spent.
  double progress() const {
    std::int64_t spent = -evaluations_before;
    std::int64_t left = 0;
    for (const Course& course : courses) {
      spent += course.session->evaluations();
      left += course.session->evaluations_left();
    }
    return spent + left > 0 ? static_cast<double>(spent) / static_cast<double>(spent + left) : 0;
  }
};

}  // namespace emplace::agents::placeto
