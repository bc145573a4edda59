// Incremental simulation in the `placeto` model: every move of one group to another device, for a
// training step on four K80s, memory included: of Inception-V3 at 128 groups, around a random
// placement and around that of the human expert; and of Inception-V3 and NMT at the finest
// grouping around the placement of HEFT, also with the step time there as the cut-off, as searches
// have it. The time of full runs by that of incremental ones is the ratio that
// docs/concepts/incremental-simulation.md is about.

#include <emplace/agents/evaluator.hpp>
#include <emplace/agents/registry.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/grouping_strategy.hpp>
#include <emplace/sim/neighbourhood.hpp>
#include <emplace/sim/simulator.hpp>

#include <benchmark/benchmark.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace emplace::micro {
namespace {

Problem problem_of(const char* name, const char* grouping_name) {
  auto graph = std::make_shared<const OpGraph>(load_graph(name));
  Grouping grouping = find_grouping(grouping_name).group(*graph, kDefaultGroups);
  return Problem(std::move(graph), std::move(grouping),
                 std::make_shared<const Cluster>(load_cluster("p2-8xlarge-4")));
}

Placement place(const Problem& problem, const std::string& agent) {
  agents::Evaluator evaluator(problem, {.budget = {.max_evaluations = 1}});
  return agents::AgentRegistry::global().make({.name = agent})->place(problem, evaluator);
}

// All moves of one group.
std::vector<Move> moves(const Problem& problem, const Placement& base) {
  std::vector<Move> moves;
  for (GroupId group = 0; group < problem.num_groups(); ++group) {
    for (const DeviceId device : problem.placeable_devices()) {
      if (device != base[group]) {
        moves.push_back({group, device});
      }
    }
  }
  return moves;
}

enum class Run { kFull, kIncremental, kCutOff };

void move_one_group(benchmark::State& state, const Problem& problem, const char* agent, Run run) {
  const Placement base = place(problem, agent);
  const std::vector<Move> all = moves(problem, base);
  Simulator simulator(problem);
  Neighbourhood neighbourhood(problem);
  const double base_us = neighbourhood.start(base).makespan_us;
  const double cutoff_us = run == Run::kCutOff ? base_us : std::numeric_limits<double>::infinity();
  Placement moved = base;
  for (auto _ : state) {
    for (const Move& move : all) {
      if (run == Run::kFull) {
        moved[move.group] = move.device;
        benchmark::DoNotOptimize(simulator.run(moved).makespan_us);
        moved[move.group] = base[move.group];
      } else {
        benchmark::DoNotOptimize(neighbourhood.try_moves({&move, 1}, cutoff_us).makespan_us);
      }
    }
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(all.size()));
}

void BM_MoveOneGroup(benchmark::State& state, const char* agent, Run run) {
  move_one_group(state, problem_of("inception-v3", "neighbours"), agent, run);
}
BENCHMARK_CAPTURE(BM_MoveOneGroup, random_full, "random", Run::kFull);
BENCHMARK_CAPTURE(BM_MoveOneGroup, random_incremental, "random", Run::kIncremental);
BENCHMARK_CAPTURE(BM_MoveOneGroup, human_expert_full, "human-expert", Run::kFull);
BENCHMARK_CAPTURE(BM_MoveOneGroup, human_expert_incremental, "human-expert", Run::kIncremental);

void BM_MoveOneFineGroup(benchmark::State& state, const char* graph, Run run) {
  move_one_group(state, problem_of(graph, "colocation"), "heft", run);
}
BENCHMARK_CAPTURE(BM_MoveOneFineGroup, inception_v3_full, "inception-v3", Run::kFull);
BENCHMARK_CAPTURE(BM_MoveOneFineGroup, inception_v3_incremental, "inception-v3", Run::kIncremental);
BENCHMARK_CAPTURE(BM_MoveOneFineGroup, inception_v3_cut_off, "inception-v3", Run::kCutOff);
BENCHMARK_CAPTURE(BM_MoveOneFineGroup, nmt_full, "nmt", Run::kFull);
BENCHMARK_CAPTURE(BM_MoveOneFineGroup, nmt_incremental, "nmt", Run::kIncremental);
BENCHMARK_CAPTURE(BM_MoveOneFineGroup, nmt_cut_off, "nmt", Run::kCutOff);

}  // namespace
}  // namespace emplace::micro
