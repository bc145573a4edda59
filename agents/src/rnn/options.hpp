#pragma once

// The options of the recurrent agents. Each agent has its own defaults and parameters, since their
// papers differ.

#include "option_table.hpp"
#include "policy_gradient/learning_options.hpp"

#include <cstddef>
#include <cstdint>

namespace emplace::agents::rnn {

/// Shapes the networks; a saved policy fits only where these are the same.
struct PolicyOptions {
  std::size_t hidden = 256;         ///< size of the LSTMs
  std::size_t embedding = 20;       ///< size of the embedding of op kinds
  std::size_t adjacency = 256;      ///< size of the vector that encodes an item's neighbours
  std::size_t groups = 0;           ///< learned; 0: items are placed as they are
  std::size_t grouper_hidden = 64;  ///< hidden size of the grouping network
};

/// Says what is sampled for an update.
struct SamplingOptions {
  std::size_t placements = 4;
  double logit_noise = 0;  ///< standard deviation, relative to the logits' root mean square
  std::int64_t noise_updates = 0;
};

/// Says what a sampled placement costs.
struct RewardOptions {
  double out_of_memory_s = 100;          ///< counts as the time of a placement that does not fit
  std::int64_t feasible_only_after = 0;  ///< updates until placements that do not fit are ignored
};

/// Normalized advantages and the entropy bonus, which is of the placer only, are our additions.
struct Options {
  PolicyOptions policy{};
  SamplingOptions sampling{};
  RewardOptions reward{};
  policy_gradient::LearningOptions learning{
      .normalize_advantages = true, .entropy_weight = 0.03, .entropy_weight_end = 0.01};
};

/// Declares the options: those of the grouping network where the agent learns groups, else those of
/// placing groups as they are.
const OptionTable<Options>& option_table(bool learns_groups);

}  // namespace emplace::agents::rnn
