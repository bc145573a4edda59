#pragma once

// A curve over positions of time to which intervals are added, and its maximum: a segment tree
// whose nodes hold what was added to all of their positions.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace emplace::agents {

/// Holds the bytes taken at each position. Queries O(1), changes and searches O(log positions).
class PeakTree {
 public:
  /// Starts with nothing taken. Requires: positions > 0.
  explicit PeakTree(std::size_t positions)
      : leaves_(std::bit_ceil(positions)), max_(2 * leaves_, 0), added_(leaves_, 0) {}

  /// Adds `bytes`, which may be negative, at the positions [begin, end).
  void add(std::size_t begin, std::size_t end, std::int64_t bytes) {
    if (begin >= end || bytes == 0) {
      return;
    }
    std::size_t left = begin + leaves_;
    std::size_t right = end + leaves_;
    const std::size_t first = left;
    const std::size_t last = right - 1;
    for (; left < right; left /= 2, right /= 2) {
      if (left % 2 == 1) {
        add_below(left++, bytes);
      }
      if (right % 2 == 1) {
        add_below(--right, bytes);
      }
    }
    update_above(first);
    update_above(last);
  }

  /// Returns the largest number of bytes.
  std::int64_t peak() const { return max_[1]; }

  /// Returns the first position that has it.
  std::size_t position_of_peak() const {
    std::size_t node = 1;
    while (node < leaves_) {
      node = 2 * node + (max_[2 * node] >= max_[2 * node + 1] ? 0 : 1);
    }
    return node - leaves_;
  }

 private:
  void add_below(std::size_t node, std::int64_t bytes) {
    max_[node] += bytes;
    if (node < leaves_) {
      added_[node] += bytes;
    }
  }

  void update_above(std::size_t node) {
    for (node /= 2; node > 0; node /= 2) {
      max_[node] = std::max(max_[2 * node], max_[2 * node + 1]) + added_[node];
    }
  }

  std::size_t leaves_;
  std::vector<std::int64_t> max_;  // of the positions below a node, without what is added above it
  std::vector<std::int64_t> added_;  // to all positions below an inner node
};

}  // namespace emplace::agents
