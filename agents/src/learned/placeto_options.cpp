#include "placeto_options.hpp"

#include <emplace/graphs/check.hpp>
#include <emplace/graphs/error.hpp>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace emplace::agents::placeto {

using namespace std::string_literals;

namespace {

// Choices in the order of their enumerations.
const std::vector<std::string> kOrders = {"topological", "random", "reverse"};
const std::vector<std::string> kStarts = {"one-device", "random", "each-episode", "best", "better"};
const std::vector<std::string> kRewards = {"step", "minimum", "terminal"};
const std::vector<std::string> kDecays = {"none", "linear", "exponential"};

ParamSpec choice(std::string name, std::string value, std::vector<std::string> choices,
                 std::string summary) {
  return {.name = std::move(name),
          .default_value = std::move(value),
          .choices = std::move(choices),
          .summary = std::move(summary)};
}

ParamSpec flag(std::string name, bool value, std::string summary) {
  return {.name = std::move(name), .default_value = value, .summary = std::move(summary)};
}

ParamSpec number(std::string name, double value, double min, double max, std::string summary) {
  return {.name = std::move(name),
          .default_value = value,
          .min = min,
          .max = max,
          .summary = std::move(summary)};
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
                   const std::vector<std::string>& choices) {
  const auto found = std::ranges::find(choices, params.get<std::string>(name));
  EMPLACE_CHECK(found != choices.end(), "{} is none of its choices", name);
  return static_cast<Enumeration>(found - choices.begin());
}

}  // namespace

std::vector<ParamSpec> parameter_table() {
  const Options defaults;
  const NetworkOptions& network = defaults.network;
  const EpisodeOptions& episode = defaults.episode;
  const LearningOptions& learning = defaults.learning;
  return {
      choice("algorithm", "reinforce", {"reinforce", "ppo"}, "how the policy follows the returns"),
      whole_number("workers", 1, 1, 8, "episodes that are played side by side for an update"),
      choice("devices", "one-hot", {"one-hot", "candidates"},
             "all in one pass, told apart by their number, or a pass for each, which sees times on "
             "it: one policy for any number and kind"),
      number("stay", network.stay, 0, 100, "added to the logit of the device where the group is"),
      number("logit-bound", network.logit_bound, 0, 1000,
             "logits are so many times their tanh; 0: they are as they come"),
      flag("zero-head", network.zero_head, "the last weights are 0 at first"),
      flag("memory", network.memory, "a feature: the bytes of a group's first outputs"),
      flag("start-time", network.start_time, "a feature: when a group starts, from the current on"),
      choice("messages", "rounds", {"rounds", "sweep"},
             "rounds of all groups at once, or one sweep in topological order"),
      whole_number("rounds", network.rounds, 0, 64, "of messages; 0 is the simple partitioner"),
      choice("pooling", "around", {"around", "all"},
             "of ancestors, descendants and peers, or of all alike (with rounds=0 the simple "
             "aggregator)"),
      whole_number("peers", 0, 0, 1'000'000, "those that start nearest, at most so many; 0: all"),
      flag("means", network.means, "pools are means, not sums"),
      flag("small", network.small, "without the layers that the released code calls not small"),
      choice("order", "topological", kOrders, "in which groups are visited"),
      choice("start", "random", kStarts,
             "placement at the start of an episode; the first best is random; better: of one "
             "device and a "
             "random one, which are simulated"),
      number("fresh", episode.fresh, 0, 1, "share of episodes that start at random all the same"),
      choice("reward", "step", kRewards,
             "what each step gains, gains over the best reached later, or minus the last time"),
      number("epsilon", episode.epsilon, 0, 1, "share of choices that are drawn evenly"),
      number("discount", episode.discount, 0, 1, "of what a later step gains"),
      whole_number("sweeps", 1, 1, 100, "of an episode over all groups"),
      flag("all-devices", episode.all_devices,
           "with reward=step: a visit simulates the group on each device, and the policy follows "
           "the mean gain"),
      flag("reuse", episode.reuse, "an unchanged placement is not simulated again"),
      choice("unit", "second", {"second", "work"},
             "of times: a second, or the time of all ops one after the other"),
      flag("log-time", episode.log_time, "rewards from logarithms of times"),
      number("memory-penalty", episode.memory_penalty, 0, 1000,
             "units of time for each 10^9 bytes over"),
      number("memory-limit", episode.memory_limit_gb, 0, 1e6, "10^9 bytes of a device; 0: its own"),
      number("cap", episode.cap, 1e-3, 1e6, "units of time that a step may count at most"),
      whole_number("greedy-every", episode.greedy_every, 0, 1'000'000'000,
                   "episodes until one takes the likeliest devices; 0: none does"),
      whole_number("baseline", 10, 0, 1000,
                   "episodes over which a step's returns are averaged; 0: no baseline"),
      flag("normalize", learning.normalize, "advantages are divided by their root mean square"),
      number("entropy", learning.entropy, 0, 1000, "first weight of the entropy"),
      number("entropy-end", learning.entropy_end, 0, 1000, "its least weight"),
      choice("entropy-decay", "linear", kDecays,
             "linear over a share of the updates, or by 5 % every 100 updates"),
      number("entropy-share", learning.entropy_share, 0.001, 1, "of the updates, for linear"),
      choice("optimizer", "adam", nn::optimizer_names(), "of the weights"),
      number("rate", learning.rate, 0, 1, "first learning rate"),
      number("rate-end", learning.rate_end, 0, 1, "last learning rate, reached linearly"),
      number("clip", learning.clip, 1e-6, 1e6, "largest norm of a gradient"),
      whole_number(
          "batches", 1, 1, 1'000'000,
          "into which an update's decisions are cut, with a step of the optimizer for each"),
      whole_number("ppo-epochs", learning.ppo_epochs, 1, 100, "of PPO over an update's episodes"),
      number("ppo-clip", learning.ppo_clip, 0.01, 1, "by which PPO lets probabilities change"),
  };
}

std::vector<ParamSpec> plus_parameter_table() {
  return changed(parameter_table(), {{"algorithm", "ppo"s},
                                     {"devices", "candidates"s},
                                     {"stay", 3.0},
                                     {"zero-head", true},
                                     {"means", true},
                                     {"order", "random"s},
                                     {"start", "best"s},
                                     {"discount", 0.3},
                                     {"reuse", true},
                                     {"unit", "work"s},
                                     {"normalize", true},
                                     {"baseline", std::int64_t{0}},
                                     {"entropy", 0.2},
                                     {"entropy-decay", "none"s},
                                     {"rate", 3e-3},
                                     {"rate-end", 1e-3}});
}

std::vector<ParamSpec> transfer_parameter_table() {
  return changed(plus_parameter_table(), {{"algorithm", "reinforce"s},
                                          {"stay", 1.0},
                                          {"start", "better"s},
                                          {"fresh", 0.5},
                                          {"discount", 0.0},
                                          {"sweeps", std::int64_t{2}},
                                          {"all-devices", true},
                                          {"batches", std::int64_t{32}},
                                          {"rate-end", 1e-4}});
}

std::vector<ParamSpec> joint_parameter_table() {
  const GroupingOptions grouping;
  std::vector<ParamSpec> table = plus_parameter_table();
  table.push_back(whole_number("groups", 64, 1, 1'000'000,
                               "to which those of the problem are merged before an episode"));
  table.push_back(number("balance", grouping.balance, 1, 1e6,
                         "times its share of all time that a merged group may take"));
  table.push_back(number("grouper-rate", grouping.rate, 0, 1, "learning rate of the grouper"));
  return table;
}

Options options_of(const Params& params) {
  const auto whole = [&](std::string_view name) { return params.get<std::int64_t>(name); };
  const auto real = [&](std::string_view name) { return params.get<double>(name); };
  const auto is = [&](std::string_view name) { return params.get<bool>(name); };
  const auto says = [&](std::string_view name, std::string_view value) {
    return params.get<std::string>(name) == value;
  };
  const bool is_joint = params.values().contains("groups");
  return {.network = {.candidates = says("devices", "candidates"),
                      .stay = real("stay"),
                      .logit_bound = real("logit-bound"),
                      .zero_head = is("zero-head"),
                      .memory = is("memory"),
                      .start_time = is("start-time"),
                      .one_sweep = says("messages", "sweep"),
                      .rounds = static_cast<int>(whole("rounds")),
                      .pools_around = says("pooling", "around"),
                      .peers = static_cast<std::size_t>(whole("peers")),
                      .means = is("means"),
                      .small = is("small")},
          .episode = {.workers = static_cast<std::size_t>(whole("workers")),
                      .order = chosen<Order>(params, "order", kOrders),
                      .start = chosen<Start>(params, "start", kStarts),
                      .fresh = real("fresh"),
                      .reward = chosen<Reward>(params, "reward", kRewards),
                      .discount = real("discount"),
                      .epsilon = real("epsilon"),
                      .sweeps = static_cast<std::size_t>(whole("sweeps")),
                      // What a device gains at once is known only where each step has a reward.
                      .all_devices = is("all-devices") && says("reward", "step"),
                      .reuse = is("reuse"),
                      .relative_times = says("unit", "work"),
                      .log_time = is("log-time"),
                      .memory_penalty = real("memory-penalty"),
                      .memory_limit_gb = real("memory-limit"),
                      .cap = real("cap"),
                      .greedy_every = whole("greedy-every"),
                      .groups = is_joint ? static_cast<GroupId>(whole("groups")) : 0},
          .learning = {.ppo = says("algorithm", "ppo"),
                       .batches = static_cast<std::size_t>(whole("batches")),
                       .ppo_epochs = static_cast<int>(whole("ppo-epochs")),
                       .ppo_clip = real("ppo-clip"),
                       .baseline_episodes = static_cast<std::size_t>(whole("baseline")),
                       .normalize = is("normalize"),
                       .entropy = real("entropy"),
                       .entropy_end = real("entropy-end"),
                       .entropy_decay = chosen<EntropyDecay>(params, "entropy-decay", kDecays),
                       .entropy_share = real("entropy-share"),
                       .optimizer = nn::find_optimizer_kind(params.get<std::string>("optimizer")),
                       .rate = real("rate"),
                       .rate_end = real("rate-end"),
                       .clip = real("clip")},
          .grouping =
              is_joint ? GroupingOptions{.balance = real("balance"), .rate = real("grouper-rate")}
                       : GroupingOptions{}};
}

}  // namespace emplace::agents::placeto
