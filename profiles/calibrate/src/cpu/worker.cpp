#include "worker.hpp"

#include <emplace/calibrate/compute_device.hpp>

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>

#include <latch>
#include <new>
#include <system_error>
#include <utility>

namespace emplace::calibrate {
namespace {

// OpenMP ends the program if it cannot have its threads, so they are tried before.
void expect_threads(std::size_t count) {
  std::latch done(1);
  std::vector<std::thread> threads;
  std::string failure;
  try {
    while (threads.size() < count) {
      threads.emplace_back([&] { done.wait(); });
    }
  } catch (const std::system_error& error) {
    failure = fmt::format("the system allows {} of {} threads that a device needs: {}",
                          threads.size(), count, error.code().message());
  }
  done.count_down();
  for (std::thread& thread : threads) {
    thread.join();
  }
  if (!failure.empty()) {
    throw DeviceFailure(failure);
  }
}

std::vector<int> with_threads(std::span<const int> cores) {
  expect_threads(cores.size());
  return {cores.begin(), cores.end()};
}

void pin_to_core(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(core), &set);
  pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

}  // namespace

Worker::Worker(std::span<const int> cores, const std::atomic<bool>* stop)
    : stop_(stop), thread_([this, own = with_threads(cores)] { work(own); }) {
  // The threads of the team are there, and are not counted on by the next worker.
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return has_team_; });
}

Worker::~Worker() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Worker::add(Task task) {
  const std::lock_guard lock(mutex_);
  tasks_.push_back(std::move(task));
  changed_.notify_all();
}

void Worker::finish() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return tasks_.empty() && !is_busy_; });
  if (!failure_.empty()) {
    throw DeviceFailure(std::exchange(failure_, {}));
  }
}

void Worker::work(const std::vector<int>& cores) {
  const CoreTeam team(static_cast<int>(cores.size()));
  pin_to_core(cores[0]);
  team.share(team.cores(),
             [&](std::int64_t part) { pin_to_core(cores[static_cast<std::size_t>(part)]); });
  std::unique_lock lock(mutex_);
  has_team_ = true;
  changed_.notify_all();
  while (true) {
    changed_.wait(lock, [&] { return !tasks_.empty() || is_ending_; });
    if (tasks_.empty()) {
      return;
    }
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    is_busy_ = true;
    const bool is_stopped = stop_ != nullptr && *stop_;
    const bool is_skipped = is_stopped || !failure_.empty();
    lock.unlock();
    std::string failure;
    if (!is_skipped) {
      try {
        task(team);
      } catch (const std::bad_alloc&) {
        failure = "out of memory";
      } catch (const std::exception& error) {
        failure = error.what();
      }
    }
    task = {};
    lock.lock();
    is_busy_ = false;
    if (failure_.empty()) {
      failure_ = std::move(failure);
    }
    changed_.notify_all();
  }
}

}  // namespace emplace::calibrate
