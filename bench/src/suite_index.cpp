#include "suite_index.hpp"

namespace emplace::bench {

SuiteIndex::SuiteIndex(const Suite& suite, std::uint64_t root_seed)
    : suite_(suite), root_seed_(root_seed) {
  for (const SuiteGraph& graph : suite.graphs) {
    graphs_.emplace(graph.graph, graphs_.size());
  }
  for (const std::string& cluster : suite.clusters) {
    clusters_.emplace(cluster, clusters_.size());
  }
  for (const SuiteAgent& agent : suite.agents) {
    agents_.emplace(
        AgentKey(agent.agent.text(), suite.evaluations_of(agent), agent.policy, agent.learns),
        agents_.size());
  }
}

std::optional<CellPosition> SuiteIndex::find(const Cell& cell) const {
  const auto graph = graphs_.find(cell.graph);
  const auto cluster = clusters_.find(cell.cluster);
  const auto agent =
      agents_.find({cell.agent.text(), cell.max_evaluations, cell.policy, cell.learns});
  if (graph == graphs_.end() || cluster == clusters_.end() || agent == agents_.end() ||
      cell.repetition >= suite_.repetitions ||
      cell != cell_of(suite_, suite_.graphs[graph->second], cell.cluster,
                      suite_.agents[agent->second], cell.repetition, root_seed_)) {
    return std::nullopt;
  }
  return CellPosition{graph->second, cluster->second, agent->second, cell.repetition};
}

}  // namespace emplace::bench
