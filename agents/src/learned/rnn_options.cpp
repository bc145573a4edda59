#include "rnn_options.hpp"

#include <string_view>
#include <utility>

namespace emplace::agents::rnn {
namespace {

ParamSpec number(std::string name, double value, double min, double max, std::string summary) {
  return {.name = std::move(name),
          .default_value = value,
          .min = min,
          .max = max,
          .summary = std::move(summary)};
}

ParamSpec count(std::string name, std::size_t value, std::int64_t min, std::int64_t max,
                std::string summary) {
  return whole_number(std::move(name), static_cast<std::int64_t>(value), min, max,
                      std::move(summary));
}

}  // namespace

std::vector<ParamSpec> parameter_table(const Options& defaults) {
  const PolicyOptions& policy = defaults.policy;
  const LearningOptions& learning = defaults.learning;
  std::vector<ParamSpec> table;
  const auto add = [&table](ParamSpec parameter) { table.push_back(std::move(parameter)); };
  add(count("hidden", policy.hidden, 2, 512, "size of the LSTMs"));
  add(count("types", policy.types, 1, 256, "numbers learned for each kind of op"));
  if (policy.groups > 0) {
    add(count("groups", policy.groups, 2, 256,
              "that can be learned (2018: 256, of thousands of ops)"));
    add(count("grouper", policy.grouper, 1, 512, "hidden size of the network that groups"));
    add(count("groupings", learning.groupings, 1, 16, "drawn for an update"));
    add(count("placements", learning.placements, 1, 64, "drawn for each grouping"));
  } else {
    add(count("adjacency", policy.adjacency, 1, 4096,
              "numbers of a group that say who its neighbours are, by place in topological order "
              "modulo this"));
    add(count("placements", learning.placements, 1, 64, "drawn for an update"));
  }
  add(number("temperature", policy.temperature, 0.01, 1000, "T of the logits C tanh(u / T)"));
  add(number("bound", policy.bound, 0.01, 1000, "C"));
  add(number("noise", learning.noise, 0, 10,
             "of the placer's logits, over their root mean square"));
  add(whole_number("noise-updates", learning.noise_updates, 0, 1'000'000'000,
                   "updates with that noise"));
  add(number("failing", learning.failing_s, 0, 1e6,
             "seconds that count for a placement that does not fit"));
  add(whole_number("valid-after", learning.valid_after, 0, 1'000'000'000,
                   "updates until only placements that fit are learned from"));
  add(number("baseline", learning.baseline_decay, 0, 1, "decay of the rewards' moving average"));
  add(number("entropy", learning.entropy, 0, 1000,
             "weight of the entropy of the placer's choices; ours"));
  add({.name = "optimizer",
       .default_value = nn::optimizer_names()[static_cast<std::size_t>(learning.optimizer)],
       .choices = nn::optimizer_names(),
       .summary = "of the weights"});
  add(number("rate", learning.rate, 0, 1,
             "learning rate; with the 0.1 of 2018 all devices become one at once"));
  add(number("clip", learning.clip, 1e-6, 1e6, "largest norm of a gradient"));
  return table;
}

Options options_of(const Params& params) {
  const auto whole = [&](std::string_view name) { return params.get<std::int64_t>(name); };
  const auto size = [&](std::string_view name) { return static_cast<std::size_t>(whole(name)); };
  const auto real = [&](std::string_view name) { return params.get<double>(name); };
  Options options{
      .policy = {.hidden = size("hidden"),
                 .types = size("types"),
                 .temperature = real("temperature"),
                 .bound = real("bound")},
      .learning = {.placements = size("placements"),
                   .noise = real("noise"),
                   .noise_updates = whole("noise-updates"),
                   .failing_s = real("failing"),
                   .valid_after = whole("valid-after"),
                   .baseline_decay = real("baseline"),
                   .entropy = real("entropy"),
                   .optimizer = nn::find_optimizer_kind(params.get<std::string>("optimizer")),
                   .rate = real("rate"),
                   .clip = real("clip")}};
  if (params.values().contains("groups")) {
    options.policy.groups = size("groups");
    options.policy.grouper = size("grouper");
    options.learning.groupings = size("groupings");
  } else {
    options.policy.adjacency = size("adjacency");
  }
  return options;
}

std::vector<std::string> policy_parameters(const Options& options) {
  std::vector<std::string> names = {"hidden", "types", "temperature", "bound"};
  if (options.policy.groups > 0) {
    names.insert(names.end(), {"groups", "grouper"});
  } else {
    names.emplace_back("adjacency");
  }
  return names;
}

}  // namespace emplace::agents::rnn
