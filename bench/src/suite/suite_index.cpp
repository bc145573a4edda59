#include <emplace/base/check.hpp>
#include <emplace/bench/suite_index.hpp>

namespace emplace::bench {

SuiteIndex::SuiteIndex(const Suite& suite, std::uint64_t root_seed)
    : suite_(suite), root_seed_(root_seed) {
  for (const SuiteGraph& graph : suite.graphs) {
    graphs_.emplace(graph.graph, graphs_.size());
  }
  for (const std::string& cluster : suite.clusters) {
    clusters_.emplace(cluster, clusters_.size());
  }
  for (std::size_t position = 0; position < suite.agents.size(); ++position) {
    const SuiteAgent& agent = suite.agents[position];
    agents_.emplace(
        AgentKey(agent.agent.text(), suite.evaluations_of(agent), agent.policy, agent.learns),
        position);
  }
}

std::optional<CellPosition> SuiteIndex::find(const Cell& cell) const {
  const auto graph = graphs_.find(cell.graph);
  const auto cluster = clusters_.find(cell.cluster);
  if (graph == graphs_.end() || cluster == clusters_.end() ||
      !suite_.graphs[graph->second].is_placed_on(cell.cluster) ||
      cell.repetition >= suite_.repetitions) {
    return std::nullopt;
  }
  // Agents with one key differ in their grouping.
  const auto [begin, end] =
      agents_.equal_range({cell.agent.text(), cell.max_evaluations, cell.policy, cell.learns});
  for (auto agent = begin; agent != end; ++agent) {
    if (cell == cell_of(suite_, suite_.graphs[graph->second], cell.cluster,
                        suite_.agents[agent->second], cell.repetition, root_seed_)) {
      return CellPosition{graph->second, cluster->second, agent->second, cell.repetition};
    }
  }
  return std::nullopt;
}

const std::string& SuiteIndex::label_of(const Cell& cell) const {
  const std::optional<CellPosition> position = find(cell);
  EMPLACE_CHECK(position.has_value(), "a cell of {} is not of the suite", cell.agent.text());
  return suite_.agents[position->agent].label();
}

}  // namespace emplace::bench
