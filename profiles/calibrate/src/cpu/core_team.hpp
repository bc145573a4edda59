#pragma once

// The cores of one CPU device, which share the work of one op after another. OpenMP, because oneDNN
// runs on its threads, too: a second team would fight for the cores with threads that still wait.
// One thread does it all where there is no OpenMP, and under the thread sanitizer, which does not
// see that OpenMP's threads wait for each other and takes all that they share for a race.

#include <cstdint>

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

}  // namespace emplace::calibrate
