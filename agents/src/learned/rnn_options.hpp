#pragma once

// What shapes and trains the recurrent agents. Each agent has a table of its own, since their
// papers differ.

#include "nn/optimizer.hpp"

#include <emplace/graphs/params.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace emplace::agents::rnn {

/// Shapes the networks; a saved policy fits only where these are the same.
struct PolicyOptions {
  std::size_t hidden = 256;     ///< size of the LSTMs
  std::size_t types = 20;       ///< numbers learned for each kind of op
  std::size_t adjacency = 256;  ///< numbers of an item that say who its neighbours are
  double temperature = 10;      ///< T of the logits C tanh(u / T)
  double bound = 5;             ///< C
  std::size_t groups = 0;       ///< learned; 0: items are placed as they are, by a one-way encoder
  std::size_t grouper = 64;     ///< hidden size of what groups
};

/// Says how the policy follows the times.
struct LearningOptions {
  std::size_t groupings = 1;   ///< drawn for an update
  std::size_t placements = 4;  ///< drawn for each of them
  double noise = 0;            ///< of logits, over their root mean square
  std::int64_t noise_updates = 0;
  double failing_s = 100;        ///< time that counts for a placement that does not fit
  std::int64_t valid_after = 0;  ///< updates until only placements that fit count
  double baseline_decay = 0.9;   ///< of the moving average
  double entropy = 0;            ///< weight of the entropy of the placer's choices, ours
  nn::OptimizerKind optimizer = nn::OptimizerKind::kAdam;
  double rate = 1e-3;
  double clip = 1;
};

struct Options {
  PolicyOptions policy{};
  LearningOptions learning{};
};

/// Returns the table of parameters of an agent with these defaults; those of learned groups only if
/// it has some.
std::vector<ParamSpec> parameter_table(const Options& defaults);

/// Reads what a user gave for that table.
Options options_of(const Params& params);

/// Returns the names of the parameters of that table that shape the networks.
std::vector<std::string> policy_parameters(const Options& options);

}  // namespace emplace::agents::rnn
