#include "options.hpp"

#include "policy_gradient/parameter_table.hpp"

#include <string_view>
#include <utility>

namespace emplace::agents::rnn {
namespace {

ParamSpec count(std::string name, std::size_t value, std::int64_t min, std::int64_t max,
                std::string summary) {
  return whole_number(std::move(name), static_cast<std::int64_t>(value), min, max,
                      std::move(summary));
}

}  // namespace

std::vector<ParamSpec> parameter_table(const Options& defaults) {
  const PolicyOptions& policy = defaults.policy;
  const LearningOptions& learning = defaults.learning;
  const bool is_grouped = policy.groups > 0;
  std::vector<ParamSpec> table;
  append_group(
      table, "network", {count("hidden", policy.hidden, 2, 512, "size of the LSTMs")},
      {count("embedding", policy.embedding, 1, 256, "size of the embedding of op kinds"),
       number("temperature", policy.temperature, 0.01, 1000, "T of the logits C tanh(u / T)"),
       number("tanh-clipping", policy.tanh_clipping, 0.01, 1000, "C of the logits C tanh(u / T)")});
  if (is_grouped) {
    append_group(
        table, "grouping",
        {count("learned-groups", policy.groups, 2, 256, "largest number of learned groups")},
        {count("grouper-hidden", policy.grouper_hidden, 1, 512,
               "hidden size of the network that groups")});
  } else {
    append_group(
        table, "network", {},
        {count("adjacency", policy.adjacency, 1, 4096,
               "size of the vector that encodes a group's neighbours, by their position in "
               "topological order modulo this")});
  }
  append_group(table, "reward", {},
               {number("out-of-memory-time", learning.out_of_memory_s, 0, 1e6,
                       "seconds that count as the step time of a placement that does not fit"),
                whole_number("feasible-only-after", learning.feasible_only_after, 0, 1'000'000'000,
                             "updates after which placements that do not fit are ignored"),
                number("baseline-decay", learning.baseline_decay, 0, 1,
                       "decay of the moving average of rewards, the baseline")});
  std::vector<ParamSpec> samples = {
      count("placements", learning.placements, 1, 64,
            is_grouped ? "sampled for each grouping" : "sampled for an update"),
      number("learning-rate", learning.learning_rate, 0, 1,
             "learning rate; at the paper's 0.1 all groups soon share one device")};
  if (is_grouped) {
    samples.insert(samples.begin(),
                   count("groupings", learning.groupings, 1, 16, "sampled for an update"));
  }
  append_group(
      table, "learning", samples,
      {{.name = "optimizer",
        .default_value = nn::optimizer_names()[static_cast<std::size_t>(learning.optimizer)],
        .choices = nn::optimizer_names(),
        .summary = "method of gradient descent"},
       number("max-grad-norm", learning.max_grad_norm, 1e-6, 1e6,
              "Euclidean norm to which gradients are clipped"),
       number("entropy-weight", learning.entropy_weight, 0, 1000,
              "weight of the entropy bonus of the placement policy"),
       number("logit-noise", learning.logit_noise, 0, 10,
              "standard deviation of noise on the placement logits, relative to their "
              "root mean square"),
       whole_number("noise-updates", learning.noise_updates, 0, 1'000'000'000,
                    "updates with that noise")});
  return table;
}

Options options_of(const Params& params) {
  const auto whole = [&](std::string_view name) { return params.get<std::int64_t>(name); };
  const auto size = [&](std::string_view name) { return static_cast<std::size_t>(whole(name)); };
  const auto real = [&](std::string_view name) { return params.get<double>(name); };
  Options options{
      .policy = {.hidden = size("hidden"),
                 .embedding = size("embedding"),
                 .temperature = real("temperature"),
                 .tanh_clipping = real("tanh-clipping")},
      .learning = {.placements = size("placements"),
                   .logit_noise = real("logit-noise"),
                   .noise_updates = whole("noise-updates"),
                   .out_of_memory_s = real("out-of-memory-time"),
                   .feasible_only_after = whole("feasible-only-after"),
                   .baseline_decay = real("baseline-decay"),
                   .entropy_weight = real("entropy-weight"),
                   .optimizer = nn::find_optimizer_kind(params.get<std::string>("optimizer")),
                   .learning_rate = real("learning-rate"),
                   .max_grad_norm = real("max-grad-norm")}};
  if (params.values().contains("learned-groups")) {
    options.policy.groups = size("learned-groups");
    options.policy.grouper_hidden = size("grouper-hidden");
    options.learning.groupings = size("groupings");
  } else {
    options.policy.adjacency = size("adjacency");
  }
  return options;
}

std::vector<std::string> policy_parameters(const Options& options) {
  std::vector<std::string> names = {"hidden", "embedding", "temperature", "tanh-clipping"};
  if (options.policy.groups > 0) {
    names.insert(names.end(), {"learned-groups", "grouper-hidden"});
  } else {
    names.emplace_back("adjacency");
  }
  return names;
}

}  // namespace emplace::agents::rnn
