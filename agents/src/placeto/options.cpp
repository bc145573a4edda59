#include "options.hpp"

namespace emplace::agents::placeto {
namespace {

OptionTable<Options> declare() {
  OptionTable<Options> table;
  auto network = table.group("network", &Options::network);
  network.choice(
      "device-encoding", &NetworkOptions::score_candidates, {"one-hot", "features"},
      "how the policy knows a device: one-hot, by its number, for one number of devices; "
      "features, by costs and transfer times on it, for any number and kind",
      kShapesNetwork);
  network.number("rounds", &NetworkOptions::rounds, 0, 64,
                 "rounds of message passing; 0: a group's embedding ignores its neighbours",
                 kShapesNetwork);
  network.choice("pooling", &NetworkOptions::single_pool, {"by-relation", "all"},
                 "by-relation: one pool each for ancestors, descendants and peers of the current "
                 "group; all: one pool of all groups",
                 kForExperts | kShapesNetwork);
  network.flag("mean-pooling", &NetworkOptions::mean_pooling, "pools are means instead of sums",
               kForExperts | kShapesNetwork);
  network.number(
      "stay-bias", &NetworkOptions::stay_bias, 0, 100,
      "added to the logit of the group's present device; large: few groups move at first",
      kForExperts | kShapesNetwork);
  network.flag("zero-init", &NetworkOptions::zero_init,
               "initializes the last layer with zeros, so that a new policy is uniform",
               kForExperts);

  auto episode = table.group("episode", &Options::episode);
  episode.number("workers", &EpisodeOptions::workers, 1, 8,
                 "episodes that run in parallel for one update");
  episode.choice("start", &EpisodeOptions::start,
                 {"one-device", "random", "random-each-episode", "best"},
                 "placement at the start of an episode: one device; random, drawn once for each "
                 "worker; random in each episode; the best so far");
  episode.number("random-start", &EpisodeOptions::random_start, 0, 1,
                 "share of episodes that start at a random placement instead, while a policy is "
                 "trained for other graphs; one that has seen good placements only does not learn "
                 "to improve bad ones",
                 kForExperts);
  episode.flag("skip-unchanged", &EpisodeOptions::skip_unchanged,
               "an action that keeps the placement takes no evaluation", kForExperts);
  episode.choice("order", &EpisodeOptions::order, {"topological", "random", "reverse"},
                 "order of the visits to groups", kForExperts);
  episode.flag("greedy-first", &EpisodeOptions::greedy_first,
               "the first round of episodes is greedy and makes no update, as each 999th is",
               kForExperts);

  auto reward = table.group("reward", &Options::episode);
  reward.choice("reward", &EpisodeOptions::reward, {"step", "terminal", "minimum"},
                "step: the time that an action saves; terminal: minus the time at the end; "
                "minimum: the time before an action minus the least after it");
  reward.number("discount", &EpisodeOptions::discount, 0, 1,
                "discount factor of later rewards, for reward=step");
  reward.choice(
      "time-unit", &EpisodeOptions::relative_times, {"second", "work"},
      "unit of times: a second, or the time of all ops in sequence on their fastest devices",
      kForExperts);
  reward.number("memory-limit", &EpisodeOptions::memory_limit_gb, 0, 1e6,
                "memory limit of a device in 10^9 bytes; each 10^9 bytes over it add 2 units to a "
                "time; 0: the device's own",
                kForExperts);

  auto update = table.group("learning", &Options::update);
  policy_gradient::declare_learning_options(table, &Options::learning);
  update.number("baseline-episodes", &UpdateOptions::baseline_episodes, 0, 1000,
                "rounds of episodes that the baseline of each step averages; 0: no baseline",
                kForExperts);
  return table;
}

}  // namespace

const OptionTable<Options>& option_table() {
  static const OptionTable<Options> table = declare();
  return table;
}

}  // namespace emplace::agents::placeto
