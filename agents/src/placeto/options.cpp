#include "options.hpp"

#include "policy_gradient/parameter_table.hpp"

#include <emplace/graphs/check.hpp>
#include <emplace/graphs/error.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace emplace::agents::placeto {

using namespace std::string_literals;

namespace {

// Choices in the order of their enumerations. Constants of the compiler: agents are registered
// before main(), when a vector in this file may not have been made yet.
constexpr std::array kOrders = {"topological", "random", "reverse"};
constexpr std::array kStarts = {"one-device", "random", "random-each-episode", "best", "better"};
constexpr std::array kRewards = {"step", "minimum", "terminal"};
constexpr std::array kDecays = {"none", "linear", "exponential"};

std::vector<std::string> names(std::span<const char* const> choices) {
  return {choices.begin(), choices.end()};
}

// Returns `table` with other defaults.
std::vector<ParamSpec> changed(std::vector<ParamSpec> table,
                               const std::map<std::string, ParamValue, std::less<>>& defaults) {
  for (ParamSpec& parameter : table) {
    if (const auto found = defaults.find(parameter.name); found != defaults.end()) {
      parameter.default_value = found->second;
    }
  }
  return table;
}

template <class Enumeration>
Enumeration chosen(const Params& params, std::string_view name,
                   std::span<const char* const> choices) {
  const auto found = std::ranges::find(choices, params.get<std::string>(name));
  EMPLACE_CHECK(found != choices.end(), "the value of {} is none of its choices", name);
  return static_cast<Enumeration>(found - choices.begin());
}

}  // namespace

std::vector<ParamSpec> parameter_table() {
  const Options defaults;
  const NetworkOptions& network = defaults.network;
  const EpisodeOptions& episode = defaults.episode;
  const LearningOptions& learning = defaults.learning;
  std::vector<ParamSpec> table;
  append_group(
      table, "network",
      {choice("device-encoding", "one-hot", {"one-hot", "features"},
              "how the policy knows a device: one-hot, by its number, for one number of devices; "
              "features, by costs and transfer times on it, for any number and kind"),
       whole_number("rounds", network.rounds, 0, 64,
                    "rounds of message passing; 0: a group's embedding ignores its neighbours")},
      {choice("message-passing", "rounds", {"rounds", "sweep"},
              "rounds: all groups at once, `rounds` times; sweep: once, in topological order"),
       choice("pooling", "by-relation", {"by-relation", "all"},
              "by-relation: one pool each for ancestors, descendants and peers of the current "
              "group; all: one pool of all groups"),
       whole_number(
           "max-peers", 0, 0, 1'000'000,
           "largest number of pooled peers, those that start nearest in time; 0: no limit"),
       flag("mean-pooling", network.mean_pooling, "pools are means instead of sums"),
       flag("small-network", network.small_network,
            "fewer hidden layers, like the small network of the released code"),
       flag("memory-feature", network.memory_feature,
            "adds a feature of a group: the bytes of the first outputs of its ops"),
       flag("start-time-feature", network.start_time_feature,
            "adds a feature of a group: its start time relative to the current group's"),
       number("stay-bias", network.stay_bias, 0, 100,
              "added to the logit of the group's present device; large: few groups move at first"),
       number("tanh-clipping", network.tanh_clipping, 0, 1000,
              "C of the logits C tanh(x); 0: no clipping"),
       flag("zero-init", network.zero_init,
            "initializes the last layer with zeros, so that a new policy is uniform")});
  append_group(
      table, "episode",
      {whole_number("workers", 1, 1, 8, "episodes that run in parallel for one update"),
       choice(
           "start", "random", names(kStarts),
           "placement at the start of an episode: one device; random, drawn once; random in each "
           "episode; the best so far; the better of one device and a random one (2 evaluations)"),
       whole_number("sweeps", 1, 1, 100, "visits of each group in an episode"),
       flag("skip-unchanged", episode.skip_unchanged,
            "an action that keeps the placement takes no evaluation")},
      {choice("order", "topological", names(kOrders), "order of the visits to groups"),
       number("random-start", episode.random_start, 0, 1,
              "probability that an episode starts at a random placement instead of `start`"),
       number("epsilon", episode.epsilon, 0, 1, "probability of a uniformly random action"),
       whole_number(
           "greedy-every", episode.greedy_every, 0, 1'000'000'000,
           "period, in rounds of episodes, of a greedy episode without an update; 0: none")});
  append_group(
      table, "reward",
      {choice("reward", "step", names(kRewards),
              "step: the time that an action saves; minimum: the time above the lowest that "
              "follows; terminal: minus the time at the end"),
       number("discount", episode.discount, 0, 1,
              "discount factor of later rewards, for reward=step"),
       flag("all-actions", episode.all_actions,
            "for reward=step: evaluates every device at each visit and follows the all-actions "
            "policy gradient"),
       choice(
           "time-unit", "second", {"second", "work"},
           "unit of times: a second, or the time of all ops in sequence on their fastest devices")},
      {flag("log-time", episode.log_time, "takes the logarithm of times"),
       number("memory-penalty", episode.memory_penalty, 0, 1000,
              "units of time added for each 10^9 bytes over the memory limit"),
       number("memory-limit", episode.memory_limit_gb, 0, 1e6,
              "memory limit of a device in 10^9 bytes, for the penalty; 0: the device's own"),
       number("time-cap", episode.time_cap, 1e-3, 1e6, "upper limit of a time, in units of time")});
  append_group(
      table, "learning",
      {choice("algorithm", "reinforce", {"reinforce", "ppo"}, "policy-gradient method"),
       number("learning-rate", learning.learning_rate, 0, 1, "initial learning rate"),
       number("entropy-weight", learning.entropy_weight, 0, 1000,
              "initial weight of the entropy bonus, which keeps the policy exploring")},
      {number("learning-rate-end", learning.learning_rate_end, 0, 1,
              "final learning rate, reached linearly at the end of the budget"),
       choice("optimizer", "adam", nn::optimizer_names(), "method of gradient descent"),
       number("max-grad-norm", learning.max_grad_norm, 1e-6, 1e6,
              "Euclidean norm to which gradients are clipped"),
       whole_number("minibatches", 1, 1, 1'000'000,
                    "parts of an update's decisions, each with its own optimizer step"),
       whole_number("ppo-epochs", learning.ppo_epochs, 1, 100,
                    "passes of PPO over the decisions of an update"),
       number("ppo-clip", learning.ppo_clip, 0.01, 1,
              "PPO clips ratios of probabilities to 1 plus or minus this"),
       whole_number("baseline-episodes", 10, 0, 1000,
                    "rounds of episodes that the baseline of each step averages; 0: no baseline"),
       flag("normalize-advantages", learning.normalize_advantages,
            "divides advantages by their root mean square"),
       choice("entropy-decay", "linear", names(kDecays),
              "decay of the entropy weight: none; linear; exponential, by 5 % every 100 updates"),
       number("entropy-weight-end", learning.entropy_weight_end, 0, 1000, "final entropy weight"),
       number("entropy-decay-share", learning.entropy_decay_share, 0.001, 1,
              "share of the budget that a linear decay takes")});
  return table;
}

std::vector<ParamSpec> plus_parameter_table() {
  return changed(parameter_table(), {{"algorithm", "ppo"s},
                                     {"device-encoding", "features"s},
                                     {"stay-bias", 3.0},
                                     {"zero-init", true},
                                     {"mean-pooling", true},
                                     {"order", "random"s},
                                     {"start", "best"s},
                                     {"discount", 0.3},
                                     {"skip-unchanged", true},
                                     {"time-unit", "work"s},
                                     {"normalize-advantages", true},
                                     {"baseline-episodes", std::int64_t{0}},
                                     {"entropy-weight", 0.2},
                                     {"entropy-decay", "none"s},
                                     {"learning-rate", 3e-3},
                                     {"learning-rate-end", 1e-3}});
}

std::vector<ParamSpec> transfer_parameter_table() {
  return changed(plus_parameter_table(), {{"algorithm", "reinforce"s},
                                          {"stay-bias", 1.0},
                                          {"start", "better"s},
                                          {"random-start", 0.5},
                                          {"discount", 0.0},
                                          {"sweeps", std::int64_t{2}},
                                          {"all-actions", true},
                                          {"minibatches", std::int64_t{32}},
                                          {"learning-rate-end", 1e-4}});
}

std::vector<ParamSpec> joint_parameter_table() {
  const GroupingOptions grouping;
  std::vector<ParamSpec> table = plus_parameter_table();
  append_group(
      table, "grouping",
      {whole_number("merged-groups", 64, 1, 1'000'000, "number of merged groups in an episode")},
      {number("balance", grouping.balance, 1, 1e6,
              "limit of a merged group's time, as a multiple of an even share"),
       number("grouper-learning-rate", grouping.learning_rate, 0, 1,
              "learning rate of the grouping network")});
  return table;
}

std::vector<std::string> network_parameters() {
  return {"device-encoding",    "stay-bias",       "tanh-clipping", "memory-feature",
          "start-time-feature", "message-passing", "rounds",        "pooling",
          "max-peers",          "mean-pooling",    "small-network"};
}

Options options_of(const Params& params) {
  const auto whole = [&](std::string_view name) { return params.get<std::int64_t>(name); };
  const auto real = [&](std::string_view name) { return params.get<double>(name); };
  const auto is = [&](std::string_view name) { return params.get<bool>(name); };
  const auto says = [&](std::string_view name, std::string_view value) {
    return params.get<std::string>(name) == value;
  };
  const bool is_joint = params.values().contains("merged-groups");
  return {.network = {.score_candidates = says("device-encoding", "features"),
                      .stay_bias = real("stay-bias"),
                      .tanh_clipping = real("tanh-clipping"),
                      .zero_init = is("zero-init"),
                      .memory_feature = is("memory-feature"),
                      .start_time_feature = is("start-time-feature"),
                      .sweep = says("message-passing", "sweep"),
                      .rounds = static_cast<int>(whole("rounds")),
                      .pools_by_relation = says("pooling", "by-relation"),
                      .max_peers = static_cast<std::size_t>(whole("max-peers")),
                      .mean_pooling = is("mean-pooling"),
                      .small_network = is("small-network")},
          .episode = {.workers = static_cast<std::size_t>(whole("workers")),
                      .order = chosen<Order>(params, "order", kOrders),
                      .start = chosen<Start>(params, "start", kStarts),
                      .random_start = real("random-start"),
                      .reward = chosen<Reward>(params, "reward", kRewards),
                      .discount = real("discount"),
                      .epsilon = real("epsilon"),
                      .sweeps = static_cast<std::size_t>(whole("sweeps")),
                      // An action has a reward of its own only where each step has one.
                      .all_actions = is("all-actions") && says("reward", "step"),
                      .skip_unchanged = is("skip-unchanged"),
                      .relative_times = says("time-unit", "work"),
                      .log_time = is("log-time"),
                      .memory_penalty = real("memory-penalty"),
                      .memory_limit_gb = real("memory-limit"),
                      .time_cap = real("time-cap"),
                      .greedy_every = whole("greedy-every"),
                      .groups = is_joint ? static_cast<GroupId>(whole("merged-groups")) : 0},
          .learning = {.ppo = says("algorithm", "ppo"),
                       .minibatches = static_cast<std::size_t>(whole("minibatches")),
                       .ppo_epochs = static_cast<int>(whole("ppo-epochs")),
                       .ppo_clip = real("ppo-clip"),
                       .baseline_episodes = static_cast<std::size_t>(whole("baseline-episodes")),
                       .normalize_advantages = is("normalize-advantages"),
                       .entropy_weight = real("entropy-weight"),
                       .entropy_weight_end = real("entropy-weight-end"),
                       .entropy_decay = chosen<EntropyDecay>(params, "entropy-decay", kDecays),
                       .entropy_decay_share = real("entropy-decay-share"),
                       .optimizer = nn::find_optimizer_kind(params.get<std::string>("optimizer")),
                       .learning_rate = real("learning-rate"),
                       .learning_rate_end = real("learning-rate-end"),
                       .max_grad_norm = real("max-grad-norm")},
          .grouping = is_joint ? GroupingOptions{.balance = real("balance"),
                                                 .learning_rate = real("grouper-learning-rate")}
                               : GroupingOptions{}};
}

}  // namespace emplace::agents::placeto
