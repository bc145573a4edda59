#pragma once

// Computes many results on the threads of one machine and passes them on one at a time.

#include <emplace/graphs/check.hpp>

#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <atomic>
#include <cstddef>
#include <mutex>

namespace emplace::bench {

/// Calls `work(count)` so that oneTBB uses `threads` threads in it; 0 means all cores, and `count`
/// says how many those are.
template <class Work>
void run_on_threads(int threads, const Work& work) {
  const int count = threads == 0 ? tbb::info::default_concurrency() : threads;
  EMPLACE_CHECK(count > 0, "{} threads", count);
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                                  static_cast<std::size_t>(count));
  tbb::task_arena arena(count);
  arena.execute([&] { work(count); });
}

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
          sink(at, result);
        }
      } catch (...) {
        has_failed = true;
        throw;
      }
    }
  };

  run_on_threads(threads, [&](int num_workers) {
    tbb::task_group workers;
    for (int worker = 0; worker < num_workers; ++worker) {
      workers.run(work);
    }
    workers.wait();
  });
}

}  // namespace emplace::bench
