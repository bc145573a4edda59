#pragma once

// When a device is busy, and the first time at which it could do something more (HEFT's insertion,
// Topcuoglu et al. 2002). Of work that takes `cost`, from `ready` on:
//     start = ready, or the end of the first busy time after which it fits before the next
// A plain list of n busy times has to be searched one by one. Here they are kept in blocks of
// bounded length, and a tree has the longest idle time of each block, of each two, four, and so on,
// so that a search skips those where nothing fits. Complexity for blocks of b: O(b + log n) for
// each call, and O(n / b) more for those that divide a block, one in b / 2; memory O(n). One
// thread.

#include <cstddef>
#include <vector>

namespace emplace::agents {

/// The busy times of one device, which do not overlap.
class BusyTimes {
 public:
  /// Returns the first time from `ready_us` on at which the device is idle for `cost_us`.
  double start_of_idle(double ready_us, double cost_us) const;

  /// Adds a busy time. Requires: the device is idle in it.
  void add(double start_us, double finish_us);

  /// Returns when the last busy time ends; 0 if there is none.
  double last_finish_us() const {
    return blocks_.empty() ? 0 : blocks_.back().times.back().finish_us;
  }

 private:
  struct Interval {
    double start_us;
    double finish_us;
  };

  // Consecutive busy times, never none.
  struct Block {
    std::vector<Interval> times;
    double longest_idle_us = 0;  // before one of them, and after the one before that
  };

  void measure(std::size_t block);
  void grow_tree();
  std::size_t next_block(std::size_t first, double least_idle_us) const;

  std::vector<Block> blocks_;
  // The longest idle times as a heap: those of nodes 2 i and 2 i + 1 give that of i, and the leaves
  // after the last block have none.
  std::vector<double> tree_;
};

}  // namespace emplace::agents
