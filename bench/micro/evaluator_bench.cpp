// Many placements of one problem, evaluated by an evaluator on one and on two threads: the ratio of
// items per second is the speed-up.

#include "random_problem.hpp"

#include <emplace/agents/evaluator.hpp>

#include <benchmark/benchmark.h>
#include <tbb/global_control.h>

#include <limits>
#include <vector>

namespace emplace::micro {
namespace {

void BM_EvaluateMany(benchmark::State& state) {
  const tbb::global_control threads(tbb::global_control::max_allowed_parallelism,
                                    static_cast<std::size_t>(state.range(0)));
  const Problem problem = random_problem(1000, 4);
  std::vector<Placement> placements;
  for (std::uint64_t seed = 0; seed < 2048; ++seed) {
    placements.push_back(random_placement(problem, seed));
  }
  agents::Evaluator evaluator(
      problem, {.budget = {.max_evaluations = std::numeric_limits<std::int64_t>::max()}});
  for (auto _ : state) {
    benchmark::DoNotOptimize(evaluator.evaluate(placements).data());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(placements.size()));
}
BENCHMARK(BM_EvaluateMany)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime();

}  // namespace
}  // namespace emplace::micro
