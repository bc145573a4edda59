#include "suite_parts.hpp"

#include <algorithm>

namespace emplace::bench {

std::optional<Misfit> misfit_of(const Suite& suite, const PublishedFigure& figure) {
  const auto graph = std::ranges::find(suite.graphs, figure.graph, &SuiteGraph::graph);
  if (graph == suite.graphs.end()) {
    return Misfit{"graph", "'" + figure.graph + "' is not one of the suite's graphs"};
  }
  if (std::ranges::find(suite.clusters, figure.cluster) == suite.clusters.end()) {
    return Misfit{"cluster", "'" + figure.cluster + "' is not one of the suite's clusters"};
  }
  if (!graph->is_placed_on(figure.cluster)) {
    return Misfit{"cluster", "'" + figure.graph + "' is not placed on '" + figure.cluster + "'"};
  }
  if (!has_agent(suite, figure.agent)) {
    return Misfit{"agent", "'" + figure.agent + "' is not one of the suite's agents"};
  }
  return std::nullopt;
}

bool has_agent(const Suite& suite, const std::string& label) {
  return std::ranges::find(suite.agents, label, &SuiteAgent::label) != suite.agents.end();
}

bool share_a_cell(const Suite& suite, const SuiteAgent& agent, const SuiteAgent& other) {
  return agent.agent.text() == other.agent.text() &&
         suite.evaluations_of(agent) == suite.evaluations_of(other) &&
         agent.policy == other.policy && agent.learns == other.learns &&
         std::ranges::any_of(suite.graphs, [&](const SuiteGraph& graph) {
           return suite.grouping_of(graph, agent) == suite.grouping_of(graph, other);
         });
}

void drop_misfits(Suite& suite) {
  std::erase_if(suite.graphs, [&](SuiteGraph& graph) {
    const bool is_on_all = graph.clusters.empty();
    std::erase_if(graph.clusters, [&](const std::string& cluster) {
      return std::ranges::find(suite.clusters, cluster) == suite.clusters.end();
    });
    return !is_on_all && graph.clusters.empty();
  });
  std::erase_if(suite.families, [&](const SuiteFamily& family) {
    return std::ranges::find(suite.graphs, family.name, &SuiteGraph::family) == suite.graphs.end();
  });
  std::erase_if(suite.policies, [&](const SuitePolicy& policy) {
    return std::ranges::find(suite.agents, policy.name, &SuiteAgent::policy) == suite.agents.end();
  });
  std::erase_if(suite.baselines,
                [&](const std::string& baseline) { return !has_agent(suite, baseline); });
  if (suite.published) {
    std::erase_if(suite.published->figures, [&](const PublishedFigure& figure) {
      return misfit_of(suite, figure).has_value();
    });
    if (suite.published->figures.empty()) {
      suite.published.reset();
    }
  }
}

}  // namespace emplace::bench
