#pragma once

// Rows for what overlaps in time: each interval goes to the first row that is free when it starts
// (the colouring of an interval graph by start times, with as few rows as overlap at once).
// Complexity: O(log rows) for each interval, amortized.

#include <functional>
#include <queue>
#include <utility>
#include <vector>

namespace emplace {

/// Assigns intervals to rows in which they do not overlap.
class Lanes {
 public:
  /// Returns the first row that is free at `start_us`, and keeps it busy until `end_us`. Requires:
  /// no earlier call had a later start.
  int take(double start_us, double end_us) {
    while (!busy_.empty() && busy_.top().first <= start_us) {
      free_.push(busy_.top().second);
      busy_.pop();
    }
    int lane = count_;
    if (free_.empty()) {
      ++count_;
    } else {
      lane = free_.top();
      free_.pop();
    }
    busy_.emplace(end_us, lane);
    return lane;
  }

  /// Counts the rows.
  int count() const { return count_; }

 private:
  template <class T>
  using LeastFirst = std::priority_queue<T, std::vector<T>, std::greater<>>;

  LeastFirst<std::pair<double, int>> busy_;  // until when, and the row
  LeastFirst<int> free_;
  int count_ = 0;
};

}  // namespace emplace
