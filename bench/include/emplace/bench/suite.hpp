#pragma once

// A suite describes a comparison: graphs x clusters x agents x repetitions, with a budget of
// evaluations for each. An evaluation is a simulated placement that is charged to a budget. A suite
// is a JSON file (bench/schema/suite.schema.json); some are shipped by name.
//
// To compare policies on graphs that they were not trained on, a suite has families and policies. A
// family has training graphs and test graphs. Each policy is trained once for every family, cluster
// and repetition, on all training graphs of the family together. Only test graphs have cells.

#include <emplace/agents/agent_spec.hpp>
#include <emplace/graphs/grouping_strategy.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace emplace::bench {

/// Names a graph of a suite.
struct SuiteGraph {
  std::string graph{};                   ///< as for load_graph()
  std::optional<std::int64_t> groups{};  ///< target of its grouping; the suite's if none
  std::string family{};                  ///< the family whose test graph it is, if any
  std::vector<std::string> clusters{};   ///< on which it is placed; all of the suite if empty

  /// Returns whether the suite places it on `cluster`, one of its own.
  bool is_placed_on(const std::string& cluster) const;

  bool operator==(const SuiteGraph&) const = default;
};

/// Graphs of one kind: those for training here, test graphs among Suite::graphs.
struct SuiteFamily {
  std::string name{};
  std::vector<std::string> train{};       ///< training graphs, as for load_graph()
  std::vector<std::string> validation{};  ///< those that choose a validated policy
  std::optional<std::int64_t> groups{};   ///< target of the grouping of all its graphs

  bool operator==(const SuiteFamily&) const = default;
};

/// Describes a policy that is trained for a suite.
struct SuitePolicy {
  std::string name{};         ///< kebab-case
  agents::AgentSpec agent{};  ///< a trainable one
  std::int64_t episodes = 1;  ///< on each training graph
  bool validated = false;     ///< whether it is the best by the validation graphs, or the last

  bool operator==(const SuitePolicy&) const = default;
};

/// Names an agent of a suite.
struct SuiteAgent {
  agents::AgentSpec agent{};
  std::string name{};                             ///< in reports; the text of `agent` if empty
  std::optional<std::int64_t> max_evaluations{};  ///< per cell; that of the suite if none
  std::string grouping{};                         ///< strategy; that of the graph if empty
  std::string policy{};                           ///< that it starts from; none if empty
  bool learns = true;                             ///< false: it uses the policy as it is

  /// Returns what reports call it.
  const std::string& label() const { return name.empty() ? agent.text() : name; }

  bool operator==(const SuiteAgent&) const = default;
};

/// What someone else measured for one agent on one graph and cluster of a suite.
struct PublishedFigure {
  std::string graph{};
  std::string cluster{};
  std::string agent{};                        ///< label of an agent of the suite
  std::optional<double> step_time_s{};        ///< nothing: it was out of memory
  std::optional<std::int64_t> evaluations{};  ///< until the best placement was found

  bool operator==(const PublishedFigure&) const = default;
};

/// Published figures to show next to those of a run.
struct Published {
  std::string source{};   ///< the publication
  bool recalled = false;  ///< from memory, not checked against a copy
  std::string comment{};  ///< what a reader should know before comparing
  std::vector<PublishedFigure> figures{};

  bool operator==(const Published&) const = default;
};

/// Describes a comparison.
struct Suite {
  std::string name{};                ///< kebab-case
  std::string summary{};             ///< one line
  std::vector<SuiteGraph> graphs{};  ///< those of families come last
  std::vector<SuiteFamily> families{};
  std::vector<std::string> clusters{};  ///< as for load_cluster()
  std::vector<SuitePolicy> policies{};
  std::vector<SuiteAgent> agents{};      ///< "*" in the file means all, sorted
  std::int64_t repetitions = 1;          ///< of agents that are not deterministic; others run once
  std::int64_t max_evaluations = 1000;   ///< budget of a cell
  std::int64_t groups = 0;               ///< target of the grouping; 0 for its default
  std::string grouping{};                ///< strategy; if empty, that of grouping_for()
  std::vector<std::string> baselines{};  ///< labels; reports compare with the fastest of these
  std::optional<Published> published{};

  /// Returns the target of the grouping of `graph`.
  std::int64_t groups_of(const SuiteGraph& graph) const { return graph.groups.value_or(groups); }

  /// Returns the strategy of the grouping of `graph`.
  std::string_view grouping_of(const SuiteGraph& graph) const {
    return grouping_for(grouping, groups_of(graph));
  }

  /// Returns the target of the grouping of `graph` for `agent`: 0 where its strategy takes none.
  std::int64_t groups_of(const SuiteGraph& graph, const SuiteAgent& agent) const;

  /// Returns the strategy of the grouping of `graph` for `agent`.
  std::string_view grouping_of(const SuiteGraph& graph, const SuiteAgent& agent) const {
    return agent.grouping.empty() ? grouping_of(graph) : agent.grouping;
  }

  /// Returns the budget of `agent` in a cell.
  std::int64_t evaluations_of(const SuiteAgent& agent) const {
    return agent.max_evaluations.value_or(max_evaluations);
  }

  bool operator==(const Suite&) const = default;
};

/// Reads a suite; `source` names it in errors. Throws kFormat, with the nearest names if a graph,
/// cluster, agent or parameter does not exist. Of the files that it names, only a suite that it
/// extends is opened.
Suite read_suite(std::string_view text, const std::string& source);

/// Returns the suite as JSON text, which read_suite() accepts. It is complete: agents are listed
/// one by one, and it extends no other.
std::string write_suite(const Suite& suite);

/// Returns the names of the shipped suites, sorted.
std::vector<std::string> suite_names();

/// Returns the shipped suite called `name`, or reads the file that it names (anything with a '/' or
/// ending in ".json"). Throws kUnknownName, kIo or kFormat.
Suite load_suite(std::string_view name_or_path);

}  // namespace emplace::bench
