#include "suite_json.hpp"
#include "suite_parts.hpp"

#include <emplace/agents/registry.hpp>
#include <emplace/base/error.hpp>
#include <emplace/bench/policy_file.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/profiles/cluster.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <utility>

namespace emplace::bench {
namespace {

constexpr std::int64_t kMaxRepetitions = 10'000;
constexpr std::int64_t kMaxEvaluations = 1'000'000'000;
constexpr std::int64_t kMaxEpisodes = 1'000'000;
constexpr std::int64_t kMaxSuiteGroups = 1'000'000;
constexpr double kMaxStepTimeS = 1e9;
// A million cells of the cheapest agents take hours; a longer list is a mistake in the file.
constexpr std::int64_t kMaxCells = 1'000'000;
constexpr std::size_t kMaxNameLength = 64;
constexpr std::string_view kRemovable[] = {"families", "policies", "baselines", "published"};

using Names = std::vector<std::string>;

// Reads a suite. What a name stands for is asked only where names must be known.
class SuiteReader {
 public:
  SuiteReader(const JsonCursor& json, KnownNames known_names, std::span<const JsonCursor> extended)
      : json_(json), extended_(extended), known_names_(known_names) {}

  Suite read();

 private:
  std::optional<JsonCursor> find(std::string_view key) const;
  bool is_own(std::string_view key) const { return json_.find(key).has_value(); }
  JsonCursor at(std::string_view key) const;
  template <class Check>
  void check_name(const JsonCursor& json, const Check& check) const;
  Names read_graph_names(const JsonCursor& json) const;
  agents::AgentSpec read_agent_spec(const JsonCursor& json) const;
  void read_graphs(const JsonCursor& list);
  void read_families(const JsonCursor& list);
  void read_test_graph(const JsonCursor& name, const SuiteFamily& family);
  void read_policies(const JsonCursor& list);
  SuiteAgent read_agent(const JsonCursor& agent) const;
  std::vector<SuiteAgent> with_budgets(const SuiteAgent& agent) const;
  void read_policy_of(const JsonCursor& json, SuiteAgent& agent) const;
  void check_that_policies_are_used(const JsonCursor& list) const;
  void read_clusters(const JsonCursor& list);
  std::vector<std::string> read_clusters_of_graph(const JsonCursor& graph) const;
  void read_agents(const JsonCursor& list);
  void read_budgets(const JsonCursor& budgets);
  void read_grouping(const JsonCursor& name);
  void read_baselines(const JsonCursor& list);
  void read_published(const JsonCursor& published);
  PublishedFigure read_figure(const JsonCursor& figure) const;
  void check_extended() const;
  void check_number_of_cells() const;

  const JsonCursor& json_;
  const std::span<const JsonCursor> extended_;  // nearest first
  KnownNames known_names_;
  Suite suite_;
  std::vector<std::int64_t> budgets_;  // of an agent in a cell, where there are several
  std::set<std::string> graphs_;       // seen so far
};

std::optional<std::int64_t> integer_of(const std::optional<JsonCursor>& json, std::int64_t min,
                                       std::int64_t max) {
  return json ? std::optional(json->integer(min, max)) : std::nullopt;
}

// Names of suites and policies are parts of names of files.
void expect_kebab_case(const JsonCursor& json) {
  const std::string name = json.text();
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  if (name.empty() || name.size() > kMaxNameLength || !plain(name.front()) || !plain(name.back()) ||
      !std::ranges::all_of(name, [&](char c) { return plain(c) || c == '-'; }) ||
      name.find("--") != std::string::npos) {
    json.fail("expected lower-case letters, digits and single '-', at most 64 characters");
  }
}

void expect_cluster(const std::string& name) {
  if (!names_file(without_cluster_parameters(name))) {
    load_cluster(name);
  }
}

// Returns a member of the suite, or of the nearest that it extends. Null removes what is inherited.
std::optional<JsonCursor> SuiteReader::find(std::string_view key) const {
  std::optional<JsonCursor> member = json_.find(key);
  for (std::size_t at = 0; !member && at < extended_.size(); ++at) {
    member = extended_[at].find(key);
  }
  const bool is_removed =
      member && member->is_null() && std::ranges::find(kRemovable, key) != std::end(kRemovable);
  return is_removed ? std::nullopt : member;
}

JsonCursor SuiteReader::at(std::string_view key) const {
  const std::optional<JsonCursor> member = find(key);
  return member ? *member : json_.at(key);
}

// Calls `check` where names must be known, and tells what it throws at the place of `json`.
template <class Check>
void SuiteReader::check_name(const JsonCursor& json, const Check& check) const {
  if (known_names_ == KnownNames::kAny) {
    return;
  }
  try {
    check();
  } catch (const Error& error) {
    json.fail(error.what());
  }
}

// A family stands for its members.
Names SuiteReader::read_graph_names(const JsonCursor& json) const {
  Names names = {json.non_empty_text()};
  check_name(json, [&] { names = expand_graphs(names.front()); });
  return names;
}

agents::AgentSpec SuiteReader::read_agent_spec(const JsonCursor& json) const {
  agents::AgentSpec agent = agents::AgentSpec::from_json(json);
  check_name(json, [&] { agent.resolve(); });
  return agent;
}

// Returns the elements of a list, of which there must be one.
std::vector<JsonCursor> elements_of(const JsonCursor& list) {
  std::vector<JsonCursor> elements = list.elements();
  if (elements.empty()) {
    list.fail("expected at least one name");
  }
  return elements;
}

void insert_or_fail(std::set<std::string>& seen, const std::string& name, const JsonCursor& json) {
  if (!seen.insert(name).second) {
    json.fail("'" + name + "' is already in the list");
  }
}

void SuiteReader::read_graphs(const JsonCursor& list) {
  for (const JsonCursor& element : elements_of(list)) {
    SuiteGraph graph;
    if (element.is_object()) {
      element.expect_only({"graph", "groups", "clusters"});
      graph.groups = integer_of(element.find("groups"), 0, kMaxSuiteGroups);
      graph.clusters = read_clusters_of_graph(element);
    }
    const JsonCursor name = element.is_object() ? element.at("graph") : element;
    for (std::string& member : read_graph_names(name)) {
      insert_or_fail(graphs_, member, name);
      graph.graph = std::move(member);
      suite_.graphs.push_back(graph);
    }
  }
}

// Returns the clusters that a graph names, some of the suite's.
std::vector<std::string> SuiteReader::read_clusters_of_graph(const JsonCursor& graph) const {
  std::vector<std::string> clusters;
  std::set<std::string> seen;
  if (const auto list = graph.find("clusters")) {
    for (const JsonCursor& name : elements_of(*list)) {
      clusters.push_back(name.non_empty_text());
      insert_or_fail(seen, clusters.back(), name);
      if (is_own("graphs") &&
          std::ranges::find(suite_.clusters, clusters.back()) == suite_.clusters.end()) {
        name.fail("'" + clusters.back() + "' is not one of the suite's clusters");
      }
    }
  }
  return clusters;
}

void SuiteReader::read_families(const JsonCursor& list) {
  std::set<std::string> names;
  for (const JsonCursor& element : elements_of(list)) {
    element.expect_only({"name", "groups", "train", "validation", "test"});
    SuiteFamily family{.name = element.at("name").non_empty_text(),
                       .groups = integer_of(element.find("groups"), 0, kMaxSuiteGroups)};
    insert_or_fail(names, family.name, element.at("name"));
    std::set<std::string> seen;
    const auto read = [&](const JsonCursor& graphs, std::vector<std::string>& into) {
      for (const JsonCursor& name : elements_of(graphs)) {
        for (std::string& graph : read_graph_names(name)) {
          insert_or_fail(seen, graph, name);
          into.push_back(std::move(graph));
        }
      }
    };
    read(element.at("train"), family.train);
    if (const auto validation = element.find("validation")) {
      read(*validation, family.validation);
    }
    for (const JsonCursor& name : elements_of(element.at("test"))) {
      read_test_graph(name, family);
    }
    suite_.families.push_back(std::move(family));
  }
}

void SuiteReader::read_test_graph(const JsonCursor& name, const SuiteFamily& family) {
  for (std::string& graph : read_graph_names(name)) {
    insert_or_fail(graphs_, graph, name);
    for (const auto& [graphs, use] :
         {std::pair(&family.train, "training"), std::pair(&family.validation, "validation")}) {
      if (std::ranges::find(*graphs, graph) != graphs->end()) {
        name.fail(fmt::format("'{}' is a {} graph too", graph, use));
      }
    }
    suite_.graphs.push_back(
        {.graph = std::move(graph), .groups = family.groups, .family = family.name});
  }
}

void SuiteReader::read_clusters(const JsonCursor& list) {
  std::set<std::string> seen;
  for (const JsonCursor& name : elements_of(list)) {
    suite_.clusters.push_back(name.non_empty_text());
    check_name(name, [&] { expect_cluster(suite_.clusters.back()); });
    insert_or_fail(seen, suite_.clusters.back(), name);
  }
}

// Names an agent by what tells it from others of the same label: "placeto zero-shot, 100".
std::string distinct_name(const SuiteAgent& agent) {
  std::string name = agent.policy.empty() ? agent.agent.text()
                     : agent.learns       ? agent.policy + " fine-tuned"
                                          : agent.policy + " zero-shot";
  if (agent.max_evaluations) {
    name += fmt::format(", {}", *agent.max_evaluations);
  }
  return agent.grouping.empty() ? name : fmt::format("{}, {}", name, agent.grouping);
}

void SuiteReader::read_budgets(const JsonCursor& budgets) {
  if (!budgets.is_array()) {
    suite_.max_evaluations = budgets.integer(1, kMaxEvaluations);
    return;
  }
  for (const JsonCursor& budget : elements_of(budgets)) {
    const std::int64_t least = budgets_.empty() ? 1 : budgets_.back() + 1;
    budgets_.push_back(budget.integer(least, kMaxEvaluations));
  }
  suite_.max_evaluations = budgets_.back();
}

// Returns an agent with each budget of the suite, where its placements depend on that.
std::vector<SuiteAgent> SuiteReader::with_budgets(const SuiteAgent& agent) const {
  const bool depends =
      agent.learns && (known_names_ == KnownNames::kAny || !agent.agent.info().deterministic);
  if (budgets_.size() < 2 || agent.max_evaluations || !depends) {
    return {agent};
  }
  std::vector<SuiteAgent> agents(budgets_.size(), agent);
  for (std::size_t at = 0; at < agents.size(); ++at) {
    agents[at].max_evaluations = budgets_[at];
    agents[at].name = fmt::format("{}, {}", agent.label(), budgets_[at]);
  }
  return agents;
}

void SuiteReader::read_agents(const JsonCursor& list) {
  if (list.is_text()) {
    if (list.text() != "*") {
      list.fail("expected a list of agents, or \"*\" for all");
    }
    for (const std::string& name : agents::AgentRegistry::global().names()) {
      if (!agents::AgentRegistry::global().info(name).needs_program) {
        std::ranges::move(with_budgets({.agent = name}), std::back_inserter(suite_.agents));
      }
    }
    return;
  }
  std::vector<JsonCursor> elements;
  std::vector<SuiteAgent> read;
  std::map<std::string, int> count_of;  // by label
  for (const JsonCursor& element : elements_of(list)) {
    for (SuiteAgent& agent :
         with_budgets(element.is_object() ? read_agent(element)
                                          : SuiteAgent{.agent = read_agent_spec(element)})) {
      elements.push_back(element);
      ++count_of[agent.label()];
      read.push_back(std::move(agent));
    }
  }
  std::set<std::string> labels;
  for (std::size_t at = 0; at < elements.size(); ++at) {
    SuiteAgent& agent = read[at];
    if (agent.name.empty() && count_of[agent.label()] > 1) {
      std::string name = distinct_name(agent);
      agent.name = name == agent.agent.text() ? "" : std::move(name);
    }
    if (std::ranges::any_of(suite_.agents, [&](const SuiteAgent& other) {
          return share_a_cell(suite_, agent, other);
        })) {
      elements[at].fail(fmt::format("'{}' with {} evaluations is already in the list",
                                    agent.agent.text(), suite_.evaluations_of(agent)));
    }
    insert_or_fail(labels, agent.label(), elements[at]);
    suite_.agents.push_back(std::move(agent));
  }
}

SuiteAgent SuiteReader::read_agent(const JsonCursor& json) const {
  json.expect_only({"agent", "name", "max_evaluations", "grouping", "policy", "learns"});
  SuiteAgent agent;
  if (const auto name = json.find("name")) {
    agent.name = name->non_empty_text();
  }
  agent.max_evaluations = integer_of(json.find("max_evaluations"), 1, kMaxEvaluations);
  if (const auto grouping = json.find("grouping")) {
    agent.grouping = grouping->non_empty_text();
    check_name(*grouping, [&] { find_grouping(agent.grouping); });
  }
  if (const auto policy = json.find("policy")) {
    agent.policy = policy->non_empty_text();
    read_policy_of(json, agent);
  } else {
    agent.agent = read_agent_spec(json.at("agent"));
  }
  if (const auto learns = json.find("learns")) {
    agent.learns = learns->boolean();
    if (!agent.learns && agent.policy.empty()) {
      learns->fail("an agent without a policy must learn");
    }
  }
  return agent;
}

// An agent with a policy is that of the policy, perhaps with other parameters.
void SuiteReader::read_policy_of(const JsonCursor& json, SuiteAgent& agent) const {
  const auto policy = std::ranges::find(suite_.policies, agent.policy, &SuitePolicy::name);
  if (policy == suite_.policies.end()) {
    json.at("policy").fail("'" + agent.policy + "' is not one of the suite's policies");
  }
  const auto without_family = std::ranges::find(suite_.graphs, "", &SuiteGraph::family);
  if (without_family != suite_.graphs.end()) {
    json.at("policy").fail("policies are for graphs of families, and '" + without_family->graph +
                           "' is not in one");
  }
  agent.agent = policy->agent;
  if (const auto spec = json.find("agent")) {
    agent.agent = read_agent_spec(*spec);
    if (agent.agent.name() != policy->agent.name()) {
      spec->fail("the policy is of '" + policy->agent.text() + "'");
    }
  }
}

void SuiteReader::read_policies(const JsonCursor& list) {
  std::set<std::string> names;
  for (const JsonCursor& element : elements_of(list)) {
    element.expect_only({"name", "agent", "episodes", "validated"});
    expect_kebab_case(element.at("name"));
    SuitePolicy policy{.name = element.at("name").text(),
                       .agent = read_agent_spec(element.at("agent")),
                       .episodes = element.at("episodes").integer(1, kMaxEpisodes)};
    insert_or_fail(names, policy.name, element.at("name"));
    check_name(element.at("agent"), [&] { make_trainable(policy.agent); });
    if (const auto validated = element.find("validated")) {
      policy.validated = validated->boolean();
    }
    const auto without = std::ranges::find_if(
        suite_.families, [](const SuiteFamily& family) { return family.validation.empty(); });
    if (policy.validated && without != suite_.families.end()) {
      element.at("validated").fail("family '" + without->name + "' has no validation graphs");
    }
    const auto same = std::ranges::find_if(suite_.policies, [&](const SuitePolicy& other) {
      return other.agent == policy.agent && other.episodes == policy.episodes &&
             other.validated == policy.validated;
    });
    if (same != suite_.policies.end()) {
      element.fail(
          fmt::format("it is trained exactly like policy '{}': one of them is enough", same->name));
    }
    suite_.policies.push_back(std::move(policy));
  }
}

void SuiteReader::check_that_policies_are_used(const JsonCursor& list) const {
  for (std::size_t i = 0; i < suite_.policies.size(); ++i) {
    const std::string& name = suite_.policies[i].name;
    if (std::ranges::find(suite_.agents, name, &SuiteAgent::policy) == suite_.agents.end()) {
      list.elements()[i].fail("no agent uses '" + name + "'");
    }
  }
}

void SuiteReader::read_grouping(const JsonCursor& name) {
  suite_.grouping = name.non_empty_text();
  check_name(name, [&] {
    target_of(find_grouping(suite_.grouping), suite_.groups);
    for (const SuiteGraph& graph : suite_.graphs) {
      target_of(find_grouping(suite_.grouping), suite_.groups_of(graph));
    }
  });
}

void SuiteReader::read_baselines(const JsonCursor& list) {
  std::set<std::string> seen;
  for (const JsonCursor& name : elements_of(list)) {
    const std::string label = name.non_empty_text();
    if (is_own("baselines") && !has_agent(suite_, label)) {
      name.fail("'" + label + "' is not one of the suite's agents");
    }
    insert_or_fail(seen, label, name);
    suite_.baselines.push_back(label);
  }
}

PublishedFigure SuiteReader::read_figure(const JsonCursor& figure) const {
  figure.expect_only({"graph", "cluster", "agent", "step_time_s", "evaluations"});
  PublishedFigure read{.graph = figure.at("graph").text(),
                       .cluster = figure.at("cluster").text(),
                       .agent = figure.at("agent").text()};
  if (const auto misfit = misfit_of(suite_, read); misfit && is_own("published")) {
    figure.at(misfit->member).fail(misfit->message);
  }
  if (const JsonCursor step = figure.at("step_time_s"); !step.is_text()) {
    read.step_time_s = step.number(0, kMaxStepTimeS);
  } else if (step.text() != "out of memory") {
    step.fail("expected seconds, or \"out of memory\"");
  }
  read.evaluations = integer_of(figure.find("evaluations"), 1, kMaxEvaluations);
  return read;
}

void SuiteReader::read_published(const JsonCursor& published) {
  published.expect_only({"source", "recalled", "comment", "figures"});
  Published read{.source = published.at("source").non_empty_text(),
                 .recalled = published.at("recalled").boolean()};
  if (const auto comment = published.find("comment")) {
    read.comment = comment->text();
  }
  std::set<std::tuple<std::string, std::string, std::string>> seen;
  for (const JsonCursor& figure : published.at("figures").elements()) {
    read.figures.push_back(read_figure(figure));
    const PublishedFigure& last = read.figures.back();
    if (!seen.emplace(last.graph, last.cluster, last.agent).second) {
      figure.fail("this agent already has a figure for this graph and cluster");
    }
  }
  suite_.published = std::move(read);
}

void SuiteReader::check_extended() const {
  const std::optional<JsonCursor> name = json_.find("extends");
  if (name && extended_.empty()) {
    name->fail("expected a suite that is written out in full, without extends");
  }
  for (const JsonCursor& extended : extended_) {
    extended.expect_schema(kSuiteSchema, kSuiteVersion);
  }
}

void SuiteReader::check_number_of_cells() const {
  const double cells =
      static_cast<double>(suite_.graphs.size()) * static_cast<double>(suite_.clusters.size()) *
      static_cast<double>(suite_.agents.size()) * static_cast<double>(suite_.repetitions);
  if (cells > static_cast<double>(kMaxCells)) {
    json_.fail("expected at most 1000000 cells (graphs x clusters x agents x repetitions)");
  }
}

Suite SuiteReader::read() {
  json_.expect_schema(kSuiteSchema, kSuiteVersion);
  json_.expect_only({"schema", "version", "extends", "name", "summary", "graphs", "families",
                     "clusters", "policies", "agents", "repetitions", "max_evaluations", "groups",
                     "grouping", "baselines", "published"});
  check_extended();
  expect_kebab_case(json_.at("name"));  // never that of another: results are kept under it
  suite_.name = json_.at("name").text();
  if (const auto summary = find("summary")) {
    suite_.summary = summary->text();
  }
  // Numbers come first: lists refer to them.
  suite_.repetitions =
      integer_of(find("repetitions"), 1, kMaxRepetitions).value_or(suite_.repetitions);
  if (const auto budgets = find("max_evaluations")) {
    read_budgets(*budgets);
  }
  suite_.groups = integer_of(find("groups"), 0, kMaxSuiteGroups).value_or(suite_.groups);
  read_clusters(at("clusters"));
  const std::optional<JsonCursor> families = find("families");
  if (const auto graphs = find("graphs"); graphs || !families) {
    read_graphs(at("graphs"));
  }
  if (families) {
    read_families(*families);
  }
  if (const auto grouping = find("grouping")) {
    read_grouping(*grouping);
  }
  const std::optional<JsonCursor> policies = find("policies");
  if (policies) {
    read_policies(*policies);
  }
  read_agents(at("agents"));
  if (policies && is_own("policies")) {
    check_that_policies_are_used(*policies);
  }
  if (const auto baselines = find("baselines")) {
    read_baselines(*baselines);
  }
  if (const auto published = find("published")) {
    read_published(*published);
  }
  if (!extended_.empty()) {
    drop_misfits(suite_);
    if (suite_.graphs.empty()) {
      json_.fail("no graph of the extended suite is placed on these clusters");
    }
  }
  check_number_of_cells();
  return std::move(suite_);
}

}  // namespace

Suite suite_from_json(const JsonCursor& json, KnownNames known_names,
                      std::span<const JsonCursor> extended) {
  return SuiteReader(json, known_names, extended).read();
}

}  // namespace emplace::bench
