#include "options.hpp"

namespace emplace::agents::rnn {
namespace {

OptionTable<Options> declare(bool learns_groups) {
  OptionTable<Options> table;
  auto network = table.group("network", &Options::policy);
  network.number("hidden", &PolicyOptions::hidden, 2, 512, "size of the LSTMs", kShapesNetwork);
  network.number("embedding", &PolicyOptions::embedding, 1, 256,
                 "size of the embedding of op kinds", kForExperts | kShapesNetwork);
  if (learns_groups) {
    auto grouping = table.group("grouping", &Options::policy);
    grouping.number("learned-groups", &PolicyOptions::groups, 2, 256,
                    "largest number of learned groups", kShapesNetwork);
    grouping.number("grouper-hidden", &PolicyOptions::grouper_hidden, 1, 512,
                    "hidden size of the network that groups", kForExperts | kShapesNetwork);
  } else {
    network.number("adjacency", &PolicyOptions::adjacency, 1, 4096,
                   "size of the vector that encodes a group's neighbours, by their position in "
                   "topological order modulo this",
                   kForExperts | kShapesNetwork);
  }

  auto reward = table.group("reward", &Options::reward);
  reward.number("out-of-memory-time", &RewardOptions::out_of_memory_s, 0, 1e6,
                "seconds that count as the step time of a placement that does not fit",
                kForExperts);
  reward.number("feasible-only-after", &RewardOptions::feasible_only_after, 0, 1'000'000'000,
                "updates after which placements that do not fit are ignored", kForExperts);

  auto sampling = table.group("sampling", &Options::sampling);
  sampling.number("placements", &SamplingOptions::placements, 1, 64, "sampled for an update");
  sampling.number("logit-noise", &SamplingOptions::logit_noise, 0, 10,
                  "standard deviation of noise on the placement logits, relative to their "
                  "root mean square",
                  kForExperts);
  sampling.number("noise-updates", &SamplingOptions::noise_updates, 0, 1'000'000'000,
                  "updates with that noise", kForExperts);
  policy_gradient::declare_learning_options(table, &Options::learning);
  return table;
}

}  // namespace

const OptionTable<Options>& option_table(bool learns_groups) {
  static const OptionTable<Options> table = declare(false);
  static const OptionTable<Options> with_grouping = declare(true);
  return learns_groups ? with_grouping : table;
}

}  // namespace emplace::agents::rnn
