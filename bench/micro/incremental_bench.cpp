// Incremental simulation in the `placeto` model: every move of one group to another device, for a
// training step of Inception-V3 at its default grouping on four K80s, around a random placement and
// around that of the human expert, memory included. The time of full runs by that of incremental
// ones is the ratio that docs/concepts/incremental-simulation.md quotes.

#include "sim/src/placeto/placeto_engine.hpp"

#include <emplace/agents/registry.hpp>
#include <emplace/agents/session.hpp>
#include <emplace/graphs/catalog.hpp>

#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace emplace::micro {
namespace {

Problem inception() {
  auto graph = std::make_shared<const OpGraph>(load_graph("inception-v3"));
  Grouping grouping = group_ops(*graph);
  return Problem(std::move(graph), std::move(grouping),
                 std::make_shared<const Cluster>(load_cluster("p2-8xlarge-4")));
}

Placement place(const Problem& problem, const std::string& agent) {
  agents::Session session(problem, {.max_evaluations = 1});
  return agents::AgentRegistry::global().make({.name = agent})->place(problem, session);
}

// The neighbours of `base`, as a search would try them: each is two moves from the one before.
std::vector<Placement> moves(const Problem& problem, const Placement& base) {
  std::vector<Placement> placements;
  for (GroupId group = 0; group < problem.num_groups(); ++group) {
    for (const DeviceId device : problem.placeable_devices()) {
      if (device != base[group]) {
        placements.push_back(base);
        placements.back()[group] = device;
      }
    }
  }
  return placements;
}

void BM_MoveOneGroup(benchmark::State& state, const char* agent, bool is_full) {
  const Problem problem = inception();
  const std::vector<Placement> placements = moves(problem, place(problem, agent));
  placeto::PlacetoEngine engine(problem);
  std::int64_t num_incremental = 0;
  for (auto _ : state) {
    for (const Placement& placement : placements) {
      if (is_full) {
        engine.forget();
      }
      benchmark::DoNotOptimize(engine.run(placement, Engine::kNoCutoff).makespan_us);
      num_incremental += engine.was_incremental();
    }
  }
  const auto runs = state.iterations() * static_cast<std::int64_t>(placements.size());
  state.SetItemsProcessed(runs);
  state.counters["incremental"] = static_cast<double>(num_incremental) / static_cast<double>(runs);
}
BENCHMARK_CAPTURE(BM_MoveOneGroup, random_full, "random", true);
BENCHMARK_CAPTURE(BM_MoveOneGroup, random_incremental, "random", false);
BENCHMARK_CAPTURE(BM_MoveOneGroup, human_expert_full, "human-expert", true);
BENCHMARK_CAPTURE(BM_MoveOneGroup, human_expert_incremental, "human-expert", false);

}  // namespace
}  // namespace emplace::micro
