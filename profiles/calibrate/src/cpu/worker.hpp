#pragma once

// A thread that does one task after another, and a team of cores that it shares the tasks among:
// the cores of one CPU device.
//
// OpenMP, because oneDNN runs on its threads, too: a second team would fight for the cores with
// threads that still wait. One thread does it all where there is no OpenMP, and under the thread
// sanitizer, which does not see that OpenMP's threads wait for each other and takes all that they
// share for a race.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace emplace::calibrate {

/// Shares parts of work among cores. For one thread, whose team it is.
class CoreTeam {
 public:
  explicit CoreTeam(int cores) : cores_(cores) {}

  int cores() const { return cores_; }

  /// Calls work(part) for all part < parts. Who does which part is of no consequence for results.
  template <class Work>
  void share(std::int64_t parts, const Work& work) const {
#if defined(_OPENMP) && !defined(__SANITIZE_THREAD__)
    if (parts > 1 && cores_ > 1) {
#pragma omp parallel for num_threads(cores_) schedule(static)
      for (std::int64_t part = 0; part < parts; ++part) {
        work(part);
      }
      return;
    }
#endif
    for (std::int64_t part = 0; part < parts; ++part) {
      work(part);
    }
  }

 private:
  int cores_;
};

/// Does tasks in order. Tasks may be added by one thread.
class Worker {
 public:
  using Task = std::function<void(const CoreTeam&)>;

  /// Starts a thread whose team is pinned to `cores`, one thread to each; throws DeviceFailure if
  /// the system allows fewer threads. Once `stop`, if it is not null, is true, it skips tasks.
  explicit Worker(std::span<const int> cores, const std::atomic<bool>* stop = nullptr);

  /// Ends when all tasks are done.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Adds a task. One that throws ends those after it unseen, until finish() has told.
  void add(Task task);

  /// Blocks until all tasks are done; throws DeviceFailure with what a task threw.
  void finish();

 private:
  void work(const std::vector<int>& cores);

  const std::atomic<bool>* stop_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  bool has_team_ = false;
  bool is_busy_ = false;
  bool is_ending_ = false;
  std::string failure_;
  std::thread thread_;  // last, because it uses the others
};

}  // namespace emplace::calibrate
