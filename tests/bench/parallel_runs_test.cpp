#include "bench/src/run/parallel_runs.hpp"

#include <gtest/gtest.h>
#include <tbb/parallel_for.h>

#include <atomic>
#include <cstddef>

namespace emplace::bench::parallel_runs_test {
namespace {

// A thread that waits for others inside a sink must not begin a result, whose sink would wait for
// the first one for ever.
TEST(RunInParallel, ASinkMayComputeInParallelToo) {
  const std::atomic<bool> never_stop{false};
  for (int round = 0; round < 200; ++round) {
    std::size_t results = 0;
    std::atomic<int> parts{0};
    run_in_parallel<std::size_t>(
        16, 4, never_stop, [](std::size_t at) { return at; },
        [&](std::size_t, std::size_t) {
          ++results;
          tbb::parallel_for(0, 64, [&](int) { ++parts; });
        });
    EXPECT_EQ(results, 16U);
    EXPECT_EQ(parts, 16 * 64);
  }
}

}  // namespace
}  // namespace emplace::bench::parallel_runs_test
