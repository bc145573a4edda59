#pragma once

// How many threads something uses. A result never depends on it.

#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <cstddef>

namespace emplace::bench {

/// Returns how many of the `wanted` threads (0: one per core) the system allows this process now,
/// including the calling one; oneTBB ends the process if it cannot make a thread. At least 1.
int available_threads(int wanted);

/// Calls `body` and returns what it returns; what it does in parallel uses available_threads().
template <class Body>
auto on_threads(int wanted, const Body& body) {
  const int count = available_threads(wanted);
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                                  static_cast<std::size_t>(count));
  tbb::task_arena arena(count);
  return arena.execute(body);
}

}  // namespace emplace::bench
