#include "suite_json.hpp"

#include <emplace/agents/registry.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/error.hpp>
#include <emplace/graphs/params.hpp>
#include <emplace/profiles/cluster.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <tuple>

namespace emplace::bench {
namespace {

using Json = nlohmann::ordered_json;
using Names = std::vector<std::string>;

constexpr std::string_view kSchema = "emplace-suite";
constexpr std::int64_t kVersion = 1;
constexpr std::size_t kMaxNameLength = 64;
constexpr std::int64_t kMaxRepetitions = 10'000;
constexpr std::int64_t kMaxEvaluations = 1'000'000'000;
constexpr std::int64_t kMaxGroups = 1'000'000;
constexpr double kMaxStepTimeS = 1e9;
// A million cells of the cheapest agents take hours; a longer list is a mistake in the file.
constexpr std::int64_t kMaxCells = 1'000'000;

// Folders of results are called after suites, so a name must be safe as one.
bool is_kebab_case(std::string_view name) {
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !name.empty() && plain(name.front()) && plain(name.back()) &&
         std::ranges::all_of(name, [&](char c) { return plain(c) || c == '-'; }) &&
         name.find("--") == std::string_view::npos;
}

// What a name in a suite stands for; throws where it does not exist.
Names expand_graph(const std::string& name) { return expand_graphs(name); }

Names expand_cluster(const std::string& name) {
  const Names names = cluster_names();
  if (!names_file(name) && !std::ranges::binary_search(names, name)) {
    throw_unknown_name("cluster", name, names);
  }
  return {name};
}

Names expand_agent(const std::string& name) {
  const Spec spec = Spec::parse(name);
  resolve_params(agents::AgentRegistry::global().info(spec.name).parameters, spec,
                 "agent " + spec.name);
  return {name};
}

// Reads a suite. What a name stands for is asked only where names must be known.
class Reader {
 public:
  Reader(const JsonCursor& json, KnownNames known_names) : json_(json), known_names_(known_names) {}

  Suite read();

 private:
  Names expanded(const JsonCursor& name, Names (*expand)(const std::string&)) const;
  void read_graphs(const JsonCursor& list);
  void read_clusters(const JsonCursor& list);
  void read_agents(const JsonCursor& list);
  void read_grouping(const JsonCursor& name);
  void read_rivals(const JsonCursor& list);
  void read_published(const JsonCursor& published);
  PublishedFigure read_figure(const JsonCursor& figure) const;
  bool has_agent(const std::string& label) const;
  void check_number_of_cells() const;

  const JsonCursor& json_;
  KnownNames known_names_;
  Suite suite_;
};

std::optional<std::int64_t> find_integer(const JsonCursor& json, std::string_view key,
                                         std::int64_t min, std::int64_t max) {
  const std::optional<JsonCursor> member = json.find(key);
  return member ? std::optional(member->integer(min, max)) : std::nullopt;
}

Names Reader::expanded(const JsonCursor& name, Names (*expand)(const std::string&)) const {
  const std::string text = name.non_empty_text();
  if (known_names_ == KnownNames::kAny) {
    return {text};
  }
  try {
    return expand(text);
  } catch (const Error& error) {
    name.fail(error.what());
  }
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
    json.fail("'" + name + "' is in the list already");
  }
}

void Reader::read_graphs(const JsonCursor& list) {
  std::set<std::string> seen;
  for (const JsonCursor& element : elements_of(list)) {
    SuiteGraph graph;
    if (element.is_object()) {
      element.expect_only({"graph", "groups"});
      graph.groups = element.at("groups").integer(0, kMaxGroups);
    }
    const JsonCursor name = element.is_object() ? element.at("graph") : element;
    for (std::string& member : expanded(name, expand_graph)) {
      insert_or_fail(seen, member, name);
      graph.graph = std::move(member);
      suite_.graphs.push_back(graph);
    }
  }
}

void Reader::read_clusters(const JsonCursor& list) {
  std::set<std::string> seen;
  for (const JsonCursor& name : elements_of(list)) {
    for (std::string& cluster : expanded(name, expand_cluster)) {
      insert_or_fail(seen, cluster, name);
      suite_.clusters.push_back(std::move(cluster));
    }
  }
}

void Reader::read_agents(const JsonCursor& list) {
  if (list.is_text()) {
    if (list.text() != "*") {
      list.fail("expected a list of agents, or \"*\" for all");
    }
    for (std::string& name : agents::AgentRegistry::global().names()) {
      suite_.agents.push_back({.agent = std::move(name)});
    }
    return;
  }
  std::set<std::string> labels;
  std::set<std::pair<std::string, std::int64_t>> cells;
  for (const JsonCursor& element : elements_of(list)) {
    SuiteAgent agent;
    if (element.is_object()) {
      element.expect_only({"agent", "name", "max_evaluations"});
      if (const auto name = element.find("name")) {
        agent.name = name->non_empty_text();
      }
      agent.max_evaluations = find_integer(element, "max_evaluations", 1, kMaxEvaluations);
    }
    const JsonCursor spec = element.is_object() ? element.at("agent") : element;
    agent.agent = expanded(spec, expand_agent).front();
    insert_or_fail(labels, agent.label(), element);
    if (!cells.emplace(agent.agent, suite_.evaluations_of(agent)).second) {
      element.fail(fmt::format("'{}' with {} evaluations is in the list already", agent.agent,
                               suite_.evaluations_of(agent)));
    }
    suite_.agents.push_back(std::move(agent));
  }
}

void Reader::read_grouping(const JsonCursor& name) {
  suite_.grouping = name.non_empty_text();
  if (known_names_ == KnownNames::kAny) {
    return;
  }
  try {
    target_of(find_grouping(suite_.grouping), suite_.groups);
    for (const SuiteGraph& graph : suite_.graphs) {
      target_of(find_grouping(suite_.grouping), suite_.groups_of(graph));
    }
  } catch (const Error& error) {
    name.fail(error.what());
  }
}

bool Reader::has_agent(const std::string& label) const {
  return std::ranges::find(suite_.agents, label, &SuiteAgent::label) != suite_.agents.end();
}

void Reader::read_rivals(const JsonCursor& list) {
  std::set<std::string> seen;
  for (const JsonCursor& name : elements_of(list)) {
    const std::string label = name.non_empty_text();
    if (!has_agent(label)) {
      name.fail("'" + label + "' is none of the suite's agents");
    }
    insert_or_fail(seen, label, name);
    suite_.rivals.push_back(label);
  }
}

PublishedFigure Reader::read_figure(const JsonCursor& figure) const {
  figure.expect_only({"graph", "cluster", "agent", "step_time_s", "evaluations"});
  PublishedFigure read{.graph = figure.at("graph").text(),
                       .cluster = figure.at("cluster").text(),
                       .agent = figure.at("agent").text()};
  if (std::ranges::find(suite_.graphs, read.graph, &SuiteGraph::graph) == suite_.graphs.end()) {
    figure.at("graph").fail("'" + read.graph + "' is none of the suite's graphs");
  }
  if (std::ranges::find(suite_.clusters, read.cluster) == suite_.clusters.end()) {
    figure.at("cluster").fail("'" + read.cluster + "' is none of the suite's clusters");
  }
  if (!has_agent(read.agent)) {
    figure.at("agent").fail("'" + read.agent + "' is none of the suite's agents");
  }
  if (const JsonCursor step = figure.at("step_time_s"); !step.is_text()) {
    read.step_time_s = step.number(0, kMaxStepTimeS);
  } else if (step.text() != "out of memory") {
    step.fail("expected seconds, or \"out of memory\"");
  }
  read.evaluations = find_integer(figure, "evaluations", 1, kMaxEvaluations);
  return read;
}

void Reader::read_published(const JsonCursor& published) {
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
      figure.fail("this agent has a figure for this graph and cluster already");
    }
  }
  suite_.published = std::move(read);
}

void Reader::check_number_of_cells() const {
  const double cells =
      static_cast<double>(suite_.graphs.size()) * static_cast<double>(suite_.clusters.size()) *
      static_cast<double>(suite_.agents.size()) * static_cast<double>(suite_.repetitions);
  if (cells > static_cast<double>(kMaxCells)) {
    json_.fail("expected at most 1000000 cells (graphs x clusters x agents x repetitions)");
  }
}

Suite Reader::read() {
  json_.expect_schema(kSchema, kVersion);
  json_.expect_only({"schema", "version", "name", "summary", "graphs", "clusters", "agents",
                     "repetitions", "max_evaluations", "groups", "grouping", "rivals",
                     "published"});
  suite_.name = json_.at("name").text();
  if (!is_kebab_case(suite_.name) || suite_.name.size() > kMaxNameLength) {
    json_.at("name").fail("expected lower-case letters, digits and single '-', at most 64 of them");
  }
  if (const auto summary = json_.find("summary")) {
    suite_.summary = summary->text();
  }
  // Numbers come first: lists refer to them.
  suite_.repetitions =
      find_integer(json_, "repetitions", 1, kMaxRepetitions).value_or(suite_.repetitions);
  suite_.max_evaluations =
      find_integer(json_, "max_evaluations", 1, kMaxEvaluations).value_or(suite_.max_evaluations);
  suite_.groups = find_integer(json_, "groups", 0, kMaxGroups).value_or(suite_.groups);
  read_graphs(json_.at("graphs"));
  read_clusters(json_.at("clusters"));
  read_agents(json_.at("agents"));
  if (const auto grouping = json_.find("grouping")) {
    read_grouping(*grouping);
  }
  if (const auto rivals = json_.find("rivals")) {
    read_rivals(*rivals);
  }
  if (const auto published = json_.find("published")) {
    read_published(*published);
  }
  check_number_of_cells();
  return std::move(suite_);
}

Json to_json(const SuiteGraph& graph) {
  if (!graph.groups) {
    return graph.graph;
  }
  return {{"graph", graph.graph}, {"groups", *graph.groups}};
}

Json to_json(const SuiteAgent& agent) {
  if (agent.name.empty() && !agent.max_evaluations) {
    return agent.agent;
  }
  Json json = {{"agent", agent.agent}};
  if (!agent.name.empty()) {
    json["name"] = agent.name;
  }
  if (agent.max_evaluations) {
    json["max_evaluations"] = *agent.max_evaluations;
  }
  return json;
}

Json to_json(const PublishedFigure& figure) {
  Json json = {{"graph", figure.graph}, {"cluster", figure.cluster}, {"agent", figure.agent}};
  if (figure.step_time_s) {
    json["step_time_s"] = *figure.step_time_s;
  } else {
    json["step_time_s"] = "out of memory";
  }
  if (figure.evaluations) {
    json["evaluations"] = *figure.evaluations;
  }
  return json;
}

template <class T>
Json list_of(const std::vector<T>& values) {
  Json list = Json::array();
  for (const T& value : values) {
    list.push_back(to_json(value));
  }
  return list;
}

}  // namespace

bool names_file(std::string_view name_or_path) {
  return name_or_path.find('/') != std::string_view::npos || name_or_path.ends_with(".json");
}

Suite suite_from_json(const JsonCursor& json, KnownNames known_names) {
  return Reader(json, known_names).read();
}

Json suite_to_json(const Suite& suite) {
  Json json = {{"schema", kSchema},
               {"version", kVersion},
               {"name", suite.name},
               {"summary", suite.summary},
               {"graphs", list_of(suite.graphs)},
               {"clusters", suite.clusters},
               {"agents", list_of(suite.agents)},
               {"repetitions", suite.repetitions},
               {"max_evaluations", suite.max_evaluations},
               {"groups", suite.groups},
               {"grouping", suite.grouping}};
  if (!suite.rivals.empty()) {
    json["rivals"] = suite.rivals;
  }
  if (suite.published) {
    json["published"] = {{"source", suite.published->source},
                         {"recalled", suite.published->recalled},
                         {"comment", suite.published->comment},
                         {"figures", list_of(suite.published->figures)}};
  }
  return json;
}

}  // namespace emplace::bench
