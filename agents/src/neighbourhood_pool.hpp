#pragma once

// Simulators of one problem that are lent to whoever needs one. At most as many are made as are in
// use at a time.

#include <emplace/sim/neighbourhood.hpp>
#include <emplace/sim/problem.hpp>

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace emplace::agents {

/// Lends simulators, from any thread.
class NeighbourhoodPool {
 public:
  /// Requires: `problem` outlives it.
  explicit NeighbourhoodPool(const Problem& problem) : problem_(&problem) {}

  std::unique_ptr<Neighbourhood> borrow() {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        std::unique_ptr<Neighbourhood> last = std::move(idle_.back());
        idle_.pop_back();
        return last;
      }
    }
    return std::make_unique<Neighbourhood>(*problem_);
  }

  void give_back(std::unique_ptr<Neighbourhood> neighbourhood) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(neighbourhood));
  }

 private:
  const Problem* problem_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Neighbourhood>> idle_;
};

}  // namespace emplace::agents
