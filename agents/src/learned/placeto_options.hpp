#pragma once

// The switches of Placeto (Addanki et al. 2019) and of its released code (agents/README.md says
// which are left out); defaults are those of the authors' file of hyper-parameters where it has
// one. What is ours, and off by default, is marked so; `placeto-plus` and
// `placeto-transfer` have most of it on.

#include "nn/optimizer.hpp"

#include <emplace/graphs/ids.hpp>
#include <emplace/graphs/params.hpp>

#include <cstdint>
#include <vector>

namespace emplace::agents::placeto {

/// Shapes the network; a saved policy fits only where these are the same.
struct NetworkOptions {
  bool candidates = false;  // ours: scores device after device, of any number and kind
  double stay = 0;          // ours: added to the logit of the device where the group is
  double logit_bound = 0;   // logits become so many times their tanh; 0: they stay
  bool zero_head = false;   // ours: all other logits are 0 at first
  bool memory = false;
  bool start_time = true;
  bool one_sweep = false;
  int rounds = 8;
  bool pools_around = true;
  std::size_t peers = 0;
  bool means = false;
  bool small = false;
};

enum class Order : std::uint8_t { kTopological, kRandom, kReverse };
enum class Start : std::uint8_t { kOneDevice, kRandom, kEachEpisode, kBest, kBetter };
enum class Reward : std::uint8_t { kStep, kMinimum, kTerminal };
enum class EntropyDecay : std::uint8_t { kNone, kLinear, kExponential };

/// Says what an episode is and what it is worth.
struct EpisodeOptions {
  std::size_t workers = 1;
  Order order = Order::kTopological;
  Start start = Start::kRandom;
  double fresh = 0;  // ours: share of episodes that start at random all the same
  Reward reward = Reward::kStep;
  double discount = 1;
  double epsilon = 0;  // share of choices that are drawn evenly
  std::size_t sweeps = 1;
  bool all_devices = false;  // ours: all are simulated, and the policy learns of all
  bool reuse = false;        // ours: an unchanged placement is not simulated again
  bool relative_times = false;
  bool log_time = false;
  double memory_penalty = 2;   // for each GB
  double memory_limit_gb = 0;  // 0: the device's own
  double cap = 10;
  std::int64_t greedy_every = 999;
  GroupId groups = 0;  // to which those of the problem are merged; 0: they are not
};

/// Says how groups are merged before an episode.
struct GroupingOptions {
  double balance = 2;
  double rate = 1e-3;
};

/// Says how the policy follows the returns.
struct LearningOptions {
  bool ppo = false;
  std::size_t batches = 1;  // ours: steps of the optimizer, each on a part of the decisions
  int ppo_epochs = 4;
  double ppo_clip = 0.2;
  std::size_t baseline_episodes = 10;  // 0: none
  bool normalize = false;              // ours: advantages have a root mean square of 1
  double entropy = 1;
  double entropy_end = 0;
  EntropyDecay entropy_decay = EntropyDecay::kLinear;
  double entropy_share = 0.5;
  nn::OptimizerKind optimizer = nn::OptimizerKind::kAdam;
  double rate = 1e-3;
  double rate_end = 1e-4;
  double clip = 1.25;
};

struct Options {
  NetworkOptions network{};
  EpisodeOptions episode{};
  LearningOptions learning{};
  GroupingOptions grouping{};
};

/// Returns the table of parameters with the defaults of `placeto`, `placeto-plus` or
/// `placeto-transfer`.
std::vector<ParamSpec> parameter_table();
std::vector<ParamSpec> plus_parameter_table();
std::vector<ParamSpec> transfer_parameter_table();

/// Returns the table of parameters of the agent that learns the grouping, too.
std::vector<ParamSpec> joint_parameter_table();

/// Reads what a user gave.
Options options_of(const Params& params);

}  // namespace emplace::agents::placeto
