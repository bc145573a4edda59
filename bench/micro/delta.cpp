// Every move of one group to another device, for a training step of Inception-V3 at its default
// grouping on four K80s in the `placeto` and `grappler` models and on four V100s of a DGX-1, around
// a random placement and around that of the human expert, memory included. Divide the time of one
// kind of run by that of the other for the ratio that sim/README.md quotes.

#include "sim/src/physical_engine.hpp"
#include "sim/src/placeto_engine.hpp"

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

// Agents use the first four devices.
Problem inception(const std::string& name) {
  auto graph = std::make_shared<const OpGraph>(load_graph("inception-v3"));
  Grouping grouping = group_ops(*graph);
  Cluster cluster = load_cluster(name);
  for (std::size_t device = 4; device < cluster.devices.size(); ++device) {
    cluster.devices[device].placeable = false;
  }
  return Problem(std::move(graph), std::move(grouping),
                 std::make_shared<const Cluster>(std::move(cluster)));
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

void run(PlacetoEngine& engine, const Placement& placement) {
  engine.run(placement);
  engine.account_memory(placement);
}

void run(PhysicalEngine& engine, const Placement& placement) { engine.run(placement); }

template <class Engine>
void move_one_group(benchmark::State& state, Engine& engine, const Problem& problem,
                    const char* agent, bool is_full) {
  const std::vector<Placement> placements = moves(problem, place(problem, agent));
  std::int64_t replays = 0;
  for (auto _ : state) {
    for (const Placement& placement : placements) {
      if (is_full) {
        engine.forget();
      }
      run(engine, placement);
      replays += engine.was_replay();
      benchmark::DoNotOptimize(engine.makespan_us());
    }
  }
  const auto runs = state.iterations() * static_cast<std::int64_t>(placements.size());
  state.SetItemsProcessed(runs);
  state.counters["replayed"] = static_cast<double>(replays) / static_cast<double>(runs);
}

void BM_MoveOneGroup(benchmark::State& state, const char* agent, bool is_full) {
  const Problem problem = inception("p2-8xlarge-4");
  PlacetoEngine engine(problem);
  move_one_group(state, engine, problem, agent, is_full);
}
BENCHMARK_CAPTURE(BM_MoveOneGroup, random_full, "random", true);
BENCHMARK_CAPTURE(BM_MoveOneGroup, random_delta, "random", false);
BENCHMARK_CAPTURE(BM_MoveOneGroup, human_expert_full, "human-expert", true);
BENCHMARK_CAPTURE(BM_MoveOneGroup, human_expert_delta, "human-expert", false);

void BM_MoveOneGroupPhysical(benchmark::State& state, const char* cluster, const char* agent,
                             bool is_full) {
  const Problem problem = inception(cluster);
  PhysicalEngine engine(problem, false);
  move_one_group(state, engine, problem, agent, is_full);
}
BENCHMARK_CAPTURE(BM_MoveOneGroupPhysical, v100_random_full, "dgx-1-v100", "random", true);
BENCHMARK_CAPTURE(BM_MoveOneGroupPhysical, v100_random_delta, "dgx-1-v100", "random", false);
BENCHMARK_CAPTURE(BM_MoveOneGroupPhysical, v100_human_expert_full, "dgx-1-v100", "human-expert",
                  true);
BENCHMARK_CAPTURE(BM_MoveOneGroupPhysical, v100_human_expert_delta, "dgx-1-v100", "human-expert",
                  false);
BENCHMARK_CAPTURE(BM_MoveOneGroupPhysical, grappler_human_expert_full, "p2-8xlarge-4-grappler",
                  "human-expert", true);
BENCHMARK_CAPTURE(BM_MoveOneGroupPhysical, grappler_human_expert_delta, "p2-8xlarge-4-grappler",
                  "human-expert", false);

}  // namespace
}  // namespace emplace::micro
