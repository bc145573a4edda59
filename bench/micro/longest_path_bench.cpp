// The yardstick: one longest-path pass over the arrays that the simulator walks. It visits every op
// and every edge once and takes one maximum for each, which no simulator can do with less.

#include "random_problem.hpp"

#include <emplace/base/id_vector.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>

namespace emplace::micro {
namespace {

void BM_LongestPath(benchmark::State& state) {
  const Problem problem = random_problem(static_cast<OpId>(state.range(0)), 4);
  const IdSpan<OpId, const double> costs_us = problem.costs().on(0);
  IdVector<OpId, double> earliest_us(problem.num_ops());
  for (auto _ : state) {
    std::fill(earliest_us.begin(), earliest_us.end(), 0.0);
    double longest_us = 0;
    for (const OpId op : problem.topological_order()) {
      const double end_us = earliest_us[op] + costs_us[op];
      longest_us = std::max(longest_us, end_us);
      for (const Problem::Child& child : problem.children(op)) {
        double& child_us = earliest_us[child.op];
        child_us = std::max(child_us, end_us);
      }
    }
    benchmark::DoNotOptimize(longest_us);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_LongestPath)->ArgName("ops")->Arg(100)->Arg(1000)->Arg(10000);

}  // namespace
}  // namespace emplace::micro
