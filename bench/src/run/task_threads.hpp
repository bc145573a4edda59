#pragma once

// Computes texts on the threads of this process, while the thread that wants them talks to other
// ranks.

#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace emplace::bench {

/// Runs tasks on oneTBB's threads. Used by one thread.
class TaskThreads {
 public:
  /// Holds what a task gave.
  struct Done {
    std::size_t task = 0;
    std::string text{};
    std::exception_ptr error{};  ///< that it threw, in place of a text; may be null
  };

  /// Has `count` threads besides the one that calls.
  explicit TaskThreads(int count);

  /// Waits for the tasks that were started; to have them end early is the caller's work.
  ~TaskThreads();
  TaskThreads(const TaskThreads&) = delete;
  TaskThreads& operator=(const TaskThreads&) = delete;

  /// Returns the number of threads.
  std::size_t count() const { return count_; }

  /// Starts a task of this number; it waits for a thread where as many run as there are threads.
  void start(std::size_t task, std::function<std::string()> compute);

  /// Returns the tasks that ended since the last call; waits for one, at most for `most`.
  std::vector<Done> wait(std::chrono::microseconds most);

 private:
  std::size_t count_;
  tbb::global_control limit_;
  tbb::task_arena arena_;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::vector<Done> done_;
  std::size_t running_ = 0;
};

}  // namespace emplace::bench
