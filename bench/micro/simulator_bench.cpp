// One simulation of a random placement, memory accounting included. The `physical` model has as
// many devices around a switch.

#include "random_problem.hpp"

#include <emplace/sim/simulator.hpp>

#include <benchmark/benchmark.h>

#include <vector>

namespace emplace::micro {
namespace {

void simulate(benchmark::State& state, const Problem& problem) {
  std::vector<Placement> placements;
  for (std::uint64_t seed = 0; seed < kPlacements; ++seed) {
    placements.push_back(random_placement(problem, seed));
  }
  Simulator simulator(problem);
  std::size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(simulator.run(placements[next]).makespan_us);
    next = (next + 1) % placements.size();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void BM_SimulatePlaceto(benchmark::State& state) {
  simulate(state, random_problem(static_cast<OpId>(state.range(0)),
                                 static_cast<DeviceId>(state.range(1))));
}
BENCHMARK(BM_SimulatePlaceto)
    ->ArgNames({"ops", "devices"})
    ->ArgsProduct({{100, 1000, 10000}, {4}})
    ->Args({10000, 16});

void BM_SimulatePhysical(benchmark::State& state, LinkSharing sharing) {
  simulate(state, random_problem(static_cast<OpId>(state.range(0)),
                                 static_cast<DeviceId>(state.range(1)), sharing));
}
BENCHMARK_CAPTURE(BM_SimulatePhysical, fair, LinkSharing::kFair)
    ->ArgNames({"ops", "devices"})
    ->ArgsProduct({{100, 1000, 10000}, {4}})
    ->Args({1000, 8});
BENCHMARK_CAPTURE(BM_SimulatePhysical, fifo, LinkSharing::kFifo)
    ->ArgNames({"ops", "devices"})
    ->Args({1000, 4});

}  // namespace
}  // namespace emplace::micro
