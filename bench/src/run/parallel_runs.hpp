#pragma once

// Computes many results on the threads of one machine and passes them on one at a time.

#include <emplace/bench/threads.hpp>

#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <atomic>
#include <cstddef>
#include <mutex>

namespace emplace::bench {

/// Computes `compute(i)`, a Result, for each i below `count`, in parallel, and passes it to
/// `sink(i, result)`, one at a time but from any thread and in any order. Computations start in the
/// order of i. `threads` of 0 means all cores. When `stop` turns true no further one starts, and
/// the results of those that run are dropped. An exception of either function ends all and is
/// rethrown.
template <class Result, class Compute, class Sink>
void run_in_parallel(std::size_t count, int threads, const std::atomic<bool>& stop,
                     const Compute& compute, const Sink& sink) {
  std::atomic<std::size_t> next{0};
  std::atomic<bool> has_failed{false};
  std::mutex sink_mutex;

  const auto work = [&] {
    while (!stop && !has_failed) {
      const std::size_t at = next.fetch_add(1);
      if (at >= count) {
        return;
      }
      try {
        const Result result = compute(at);
        if (stop) {
          return;
        }
        const std::lock_guard lock(sink_mutex);
        if (!has_failed) {
          // Isolated, so that a sink which waits for others does not begin another result, whose
          // sink would wait for it.
          tbb::this_task_arena::isolate([&] {
            try {
              sink(at, result);
            } catch (...) {
              has_failed = true;  // before the lock is free, or else one more result is passed on
              throw;
            }
          });
        }
      } catch (...) {
        has_failed = true;
        throw;
      }
    }
  };

  on_threads(threads, [&] {
    tbb::task_group workers;
    for (int worker = 0; worker < tbb::this_task_arena::max_concurrency(); ++worker) {
      workers.run(work);
    }
    workers.wait();
  });
}

}  // namespace emplace::bench
