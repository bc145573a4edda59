// One simulation of a random placement, memory accounting included. Divide by BM_LongestPath at the
// same number of ops for the ratio that README.md quotes.

#include "random_problem.hpp"

#include <emplace/sim/simulator.hpp>

#include <benchmark/benchmark.h>

#include <vector>

namespace emplace::micro {
namespace {

constexpr std::uint64_t kPlacements = 16;  // in turn, so that branches are not learned by heart

void BM_SimulatePlaceto(benchmark::State& state) {
  const Problem problem =
      random_problem(static_cast<OpId>(state.range(0)), static_cast<DeviceId>(state.range(1)));
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
BENCHMARK(BM_SimulatePlaceto)
    ->ArgNames({"ops", "devices"})
    ->ArgsProduct({{100, 1000, 10000}, {4}})
    ->Args({10000, 16});

}  // namespace
}  // namespace emplace::micro
