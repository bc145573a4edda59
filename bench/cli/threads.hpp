#pragma once

// How many threads a command uses.

#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/task_arena.h>

#include <cstddef>

namespace emplace::cli {

/// Calls `body` and returns what it returns; what it does in parallel uses so many threads, 0: as
/// many as there are cores.
template <class Body>
auto on_threads(int threads, const Body& body) {
  threads = threads == 0 ? tbb::info::default_concurrency() : threads;
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                                  static_cast<std::size_t>(threads));
  tbb::task_arena arena(threads);
  return arena.execute(body);
}

}  // namespace emplace::cli
