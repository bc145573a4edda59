#pragma once

// The options of Placeto (Addanki et al. 2019) and of its released code. Defaults are those of the
// authors' file of hyperparameters where it has one. Options marked "ours" are additions, off by
// default; presets turn some of them on (presets.cpp).

#include "option_table.hpp"
#include "placeto/value_policy.hpp"
#include "policy_gradient/learning_options.hpp"

#include <emplace/base/params.hpp>

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
enum class Reward : std::uint8_t { kStep, kTerminal };

/// Says what an episode is and how its actions are rewarded.
struct EpisodeOptions {
  std::size_t workers = 1;
  Order order = Order::kTopological;
  Start start = Start::kRandom;
  Reward reward = Reward::kStep;
  double discount = 1;
  bool skip_unchanged = false;  // ours: an unchanged placement is not simulated again
  bool relative_times = false;
  double memory_limit_gb = 0;  // 0: the device's own
  bool greedy_first = false;
};

/// Says how a policy learns: to predict what moves gain (value_policy.hpp), or by policy gradient
/// from visits to one group after the other (policy.hpp).
enum class Algorithm : std::uint8_t { kRegression, kReinforce };

/// Says what an update of the policy is.
struct UpdateOptions {
  Algorithm algorithm = Algorithm::kReinforce;
  std::size_t baseline_episodes = 10;  // 0: none
};

/// Says what is particular to Algorithm::kRegression.
struct RegressionOptions {
  std::int64_t moves = 128;  // that the network values after a move that is kept
  Levels levels = Levels::kLearned;
  double epsilon = 0.1;                // probability of a random move
  double online_learning_rate = 1e-3;  // of what is learned while a graph is placed
  bool pretrained = true;              // begins with the policy that comes with emplace
};

struct Options {
  NetworkOptions network{};
  EpisodeOptions episode{};
  UpdateOptions update{};
  policy_gradient::LearningOptions learning{
      .max_grad_norm = 1.25, .entropy_weight = 1, .entropy_decay_share = 0.5};
  RegressionOptions regression{};
};

/// Declares the options.
const OptionTable<Options>& option_table();

/// Reads the values of that table. Throws kUsage for a value other than the default of an option
/// that the algorithm does not read.
Options read_options(const Params& params);

/// Returns what a policy for Algorithm::kRegression is made of.
ValuePolicyOptions value_policy_options(const Options& options);

}  // namespace emplace::agents::placeto
