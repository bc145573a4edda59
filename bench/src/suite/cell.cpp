#include "length_prefixed.hpp"

#include <emplace/base/check.hpp>
#include <emplace/base/random.hpp>
#include <emplace/bench/cell.hpp>
#include <emplace/bench/suite_policies.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace emplace::bench {
namespace {

// The grouping that was the default once and the lack of a policy are not written.
std::string coordinates_without_budget(const Cell& cell) {
  std::string text = fmt::format("graph {} cluster {} agent {} repetition {} groups {}",
                                 length_prefixed(cell.graph), length_prefixed(cell.cluster),
                                 length_prefixed(cell.agent.text()), cell.repetition, cell.groups);
  if (cell.grouping != kTargetGrouping) {
    text += fmt::format(" grouping {}", length_prefixed(cell.grouping));
  }
  text += fmt::format(" root {}", cell.root_seed);
  if (!cell.policy.empty()) {
    text += fmt::format(" policy {} training {} {}", length_prefixed(cell.policy), cell.training,
                        cell.learns ? "learns" : "as it is");
  }
  return text;
}

// Fills in the policy that the agent of a cell starts from.
void add_policy(Cell& cell, const Suite& suite, const SuiteGraph& graph, const SuiteAgent& agent) {
  const auto policy = std::ranges::find(suite.policies, agent.policy, &SuitePolicy::name);
  const auto family = std::ranges::find(suite.families, graph.family, &SuiteFamily::name);
  EMPLACE_CHECK(policy != suite.policies.end() && family != suite.families.end(),
                "policy '{}' of family '{}'", agent.policy, graph.family);
  cell.policy = agent.policy;
  cell.training =
      hash_of(plan_of(suite, *policy, *family, cell.cluster, cell.repetition, cell.root_seed));
  cell.learns = agent.learns;
}

}  // namespace

std::string Cell::id() const {
  return fmt::format("{:016x}",
                     stable_hash(fmt::format("cell {} evaluations {}",
                                             coordinates_without_budget(*this), max_evaluations)));
}

std::uint64_t Cell::seed() const {
  return stable_hash(fmt::format("stream {}", coordinates_without_budget(*this)));
}

Cell cell_of(const Suite& suite, const SuiteGraph& graph, const std::string& cluster,
             const SuiteAgent& agent, std::int64_t repetition, std::uint64_t root_seed) {
  Cell cell{.graph = graph.graph,
            .cluster = cluster,
            .agent = agent.agent,
            .repetition = repetition,
            .max_evaluations = suite.evaluations_of(agent),
            .groups = suite.groups_of(graph, agent),
            .grouping = std::string(suite.grouping_of(graph, agent)),
            .root_seed = root_seed};
  if (!agent.policy.empty()) {
    add_policy(cell, suite, graph, agent);
  }
  return cell;
}

std::vector<Cell> cells_of(const Suite& suite, std::uint64_t root_seed) {
  EMPLACE_CHECK(root_seed <= static_cast<std::uint64_t>(kMaxRootSeed), "root seed {}", root_seed);
  std::vector<Cell> cells;
  for (const SuiteGraph& graph : suite.graphs) {
    for (const std::string& cluster : suite.clusters) {
      if (!graph.is_placed_on(cluster)) {
        continue;
      }
      for (const SuiteAgent& agent : suite.agents) {
        const std::int64_t repetitions = agent.agent.info().deterministic ? 1 : suite.repetitions;
        for (std::int64_t repetition = 0; repetition < repetitions; ++repetition) {
          cells.push_back(cell_of(suite, graph, cluster, agent, repetition, root_seed));
        }
      }
    }
  }
  return cells;
}

std::string_view to_string(CellStatus status) {
  switch (status) {
    case CellStatus::kOk:
      return "ok";
    case CellStatus::kOutOfMemory:
      return "out_of_memory";
    case CellStatus::kFailed:
      return "failed";
  }
  EMPLACE_CHECK(false, "status {}", static_cast<int>(status));
}

std::string hash_of(const Placement& placement) {
  std::string text = fmt::format("{}", fmt::join(placement.devices(), " "));
  if (placement.has_priorities()) {
    text += fmt::format("; {}", fmt::join(placement.priorities(), " "));
  }
  return fmt::format("{:016x}", stable_hash(text));
}

}  // namespace emplace::bench
