#pragma once

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <cstddef>

namespace emplace::agents::policy_gradient {

/// Calls `compute(i)` for each i below `count`, in parallel.
template <class Compute>
void in_parallel(std::size_t count, const Compute& compute) {
  // Isolated, so that a thread which waits here does not start on another cell of the suite.
  tbb::this_task_arena::isolate([&] { tbb::parallel_for(std::size_t{0}, count, compute); });
}

}  // namespace emplace::agents::policy_gradient
