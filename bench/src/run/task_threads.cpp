#include "task_threads.hpp"

#include <utility>

namespace emplace::bench {

// The caller counts as one of oneTBB's threads, but takes no part.
TaskThreads::TaskThreads(int count)
    : count_(static_cast<std::size_t>(count)),
      limit_(tbb::global_control::max_allowed_parallelism, count_ + 1),
      arena_(count, 0) {}

TaskThreads::~TaskThreads() {
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [&] { return running_ == 0; });
}

void TaskThreads::start(std::size_t task, std::function<std::string()> compute) {
  {
    const std::lock_guard lock(mutex_);
    ++running_;
  }
  arena_.enqueue([this, task, compute = std::move(compute)] {
    Done done{.task = task};
    try {
      done.text = compute();
    } catch (...) {
      done.error = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    done_.push_back(std::move(done));
    --running_;
    ended_.notify_all();
  });
}

std::vector<TaskThreads::Done> TaskThreads::wait(std::chrono::microseconds most) {
  std::unique_lock lock(mutex_);
  ended_.wait_for(lock, most, [&] { return !done_.empty(); });
  return std::exchange(done_, {});
}

}  // namespace emplace::bench
