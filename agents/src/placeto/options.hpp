#pragma once

// The options of Placeto (Addanki et al. 2019) and of its released code. Defaults are those of the
// authors' file of hyperparameters where it has one. Options marked "ours" are additions, off by
// default; presets turn some of them on (presets.cpp).

#include "option_table.hpp"
#include "policy_gradient/learning_options.hpp"

#include <cstddef>
#include <cstdint>

namespace emplace::agents::placeto {

/// Shapes the network; a saved policy fits only where these are the same.
struct NetworkOptions {
  bool score_candidates = false;  // ours: a score for each device from its features
  double stay_bias = 0;           // ours: added to the logit of the group's present device
  bool zero_init = false;         // ours: the last layer is initialized with zeros
  int rounds = 8;
  bool single_pool = false;
  bool mean_pooling = false;
};

enum class Order : std::uint8_t { kTopological, kRandom, kReverse };
enum class Start : std::uint8_t { kOneDevice, kRandom, kRandomEachEpisode, kBest };
enum class Reward : std::uint8_t { kStep, kTerminal, kMinimum };

/// Says what an episode is and how its actions are rewarded.
struct EpisodeOptions {
  std::size_t workers = 1;
  Order order = Order::kTopological;
  Start start = Start::kRandom;
  double random_start = 0;  // ours: of a policy that is trained for other graphs
  Reward reward = Reward::kStep;
  double discount = 1;
  bool skip_unchanged = false;  // ours: an unchanged placement is not simulated again
  bool relative_times = false;
  double memory_limit_gb = 0;  // 0: the device's own
  bool greedy_first = false;
};

/// Says what an update of the policy is.
struct UpdateOptions {
  std::size_t baseline_episodes = 10;  // 0: none
};

struct Options {
  NetworkOptions network{};
  EpisodeOptions episode{};
  UpdateOptions update{};
  policy_gradient::LearningOptions learning{
      .max_grad_norm = 1.25, .entropy_weight = 1, .entropy_decay_share = 0.5};
};

/// Declares the options.
const OptionTable<Options>& option_table();

}  // namespace emplace::agents::placeto
