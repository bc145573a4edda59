#include "options.hpp"

namespace emplace::agents::rnn {
namespace {

OptionTable<Options> declare(bool learns_groups) {
  OptionTable<Options> table;
  auto network = table.group("network", &Options::policy);
  network.number("hidden", &PolicyOptions::hidden, 2, 512, "size of the LSTMs", kShapesNetwork);
  network.number("embedding", &PolicyOptions::embedding, 1, 256,
                 "size of the embedding of op kinds", kForExperts | kShapesNetwork);
  network.number("temperature", &PolicyOptions::temperature, 0.01, 1000,
                 "T of the logits C tanh(u / T)", kForExperts | kShapesNetwork);
  network.number("tanh-clipping", &PolicyOptions::tanh_clipping, 0.01, 1000,
                 "C of the logits C tanh(u / T)", kForExperts | kShapesNetwork);
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

  auto reward = table.group("reward", &Options::learning);
  reward.number("out-of-memory-time", &LearningOptions::out_of_memory_s, 0, 1e6,
                "seconds that count as the step time of a placement that does not fit",
                kForExperts);
  reward.number("feasible-only-after", &LearningOptions::feasible_only_after, 0, 1'000'000'000,
                "updates after which placements that do not fit are ignored", kForExperts);
  reward.number("baseline-decay", &LearningOptions::baseline_decay, 0, 1,
                "decay of the moving average of rewards, the baseline", kForExperts);

  auto learning = table.group("learning", &Options::learning);
  if (learns_groups) {
    learning.number("groupings", &LearningOptions::groupings, 1, 16, "sampled for an update");
  }
  learning.number("placements", &LearningOptions::placements, 1, 64,
                  learns_groups ? "sampled for each grouping" : "sampled for an update");
  learning.number("learning-rate", &LearningOptions::learning_rate, 0, 1,
                  "initial learning rate; at the paper's 0.1 all groups soon share one device");
  learning.number("entropy-weight", &LearningOptions::entropy_weight, 0, 1000,
                  "initial weight of the entropy bonus of the placement policy, which keeps it "
                  "exploring");
  learning.number("learning-rate-end", &LearningOptions::learning_rate_end, 0, 1,
                  "final learning rate, reached linearly at the end of the budget", kForExperts);
  learning.choice("optimizer", &LearningOptions::optimizer, nn::optimizer_names(),
                  "method of gradient descent", kForExperts);
  learning.number("max-grad-norm", &LearningOptions::max_grad_norm, 1e-6, 1e6,
                  "Euclidean norm to which gradients are clipped", kForExperts);
  learning.flag("normalize-advantages", &LearningOptions::normalize_advantages,
                "divides the advantages of an update by their root mean square, unless all its "
                "placements take the same time",
                kForExperts);
  learning.choice(
      "entropy-decay", &LearningOptions::entropy_decay, {"none", "linear", "exponential"},
      "decay of the entropy weight: none; linear; exponential, by 5 % every 100 updates",
      kForExperts);
  learning.number("entropy-weight-end", &LearningOptions::entropy_weight_end, 0, 1000,
                  "final entropy weight", kForExperts);
  learning.number("logit-noise", &LearningOptions::logit_noise, 0, 10,
                  "standard deviation of noise on the placement logits, relative to their "
                  "root mean square",
                  kForExperts);
  learning.number("noise-updates", &LearningOptions::noise_updates, 0, 1'000'000'000,
                  "updates with that noise", kForExperts);
  return table;
}

}  // namespace

const OptionTable<Options>& option_table(bool learns_groups) {
  static const OptionTable<Options> table = declare(false);
  static const OptionTable<Options> with_grouping = declare(true);
  return learns_groups ? with_grouping : table;
}

}  // namespace emplace::agents::rnn
