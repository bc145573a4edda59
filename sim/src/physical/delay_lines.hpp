#pragma once

// Transfers whose latency passes. All that wait for the same time end in the order in which they
// began, so each distinct latency has a queue, first in, first out, and no heap is needed.
//
// Complexity: O(distinct latencies) for each event; a cluster has few.

#include <emplace/base/id_vector.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace emplace::physical {

/// Delays transfers, each by the latency of its line; a workspace of one thread.
class DelayLines {
 public:
  /// Returns the line with this latency, a new one if need be.
  std::int32_t line_with(double latency_us) {
    const auto found = std::find_if(lines_.begin(), lines_.end(), [&](const Line& line) {
      return line.latency_us == latency_us;
    });
    const auto line = static_cast<std::int32_t>(found - lines_.begin());
    if (found == lines_.end()) {
      lines_.push_back({.latency_us = latency_us});
    }
    return line;
  }

  /// Makes room for transfers named 0 to `transfers` - 1, so that nothing is allocated later.
  void reserve(std::size_t transfers) { entries_.resize(transfers); }

  /// Forgets all transfers.
  void clear() {
    for (Line& line : lines_) {
      line = {.latency_us = line.latency_us};
    }
  }

  /// Lets the latency of a line begin for a transfer. Requires: times that never fall.
  void push(std::int32_t line, std::int32_t transfer, double now_us) {
    Line& queue = lines_[line];
    const double at_us = now_us + queue.latency_us;
    entries_[transfer] = {at_us, kNone};
    if (queue.first == kNone) {
      queue.first = transfer;
      queue.next_us = at_us;
    } else {
      entries_[queue.last].next = transfer;
    }
    queue.last = transfer;
  }

  /// Returns when the next latency is over; infinity if none passes.
  double next_us() const {
    double next_us = std::numeric_limits<double>::infinity();
    for (const Line& line : lines_) {
      next_us = std::min(next_us, line.next_us);
    }
    return next_us;
  }

  /// Takes out the transfers whose latency is over at `until_us`, and appends them to `arrived`, in
  /// no order. Returns the latest of `last_us` and the times at which they were.
  double take(double until_us, double last_us, std::vector<std::int32_t>& arrived) {
    for (Line& line : lines_) {
      while (line.next_us <= until_us) {
        last_us = std::max(last_us, line.next_us);
        arrived.push_back(line.first);
        line.first = entries_[line.first].next;
        line.next_us = line.first == kNone ? std::numeric_limits<double>::infinity()
                                           : entries_[line.first].at_us;
      }
    }
    return last_us;
  }

 private:
  static constexpr std::int32_t kNone = -1;

  struct Line {
    double latency_us = 0;
    double next_us = std::numeric_limits<double>::infinity();  // when the first one is through
    std::int32_t first = kNone;
    std::int32_t last = kNone;
  };

  struct Entry {
    double at_us;
    std::int32_t next;
  };

  IdVector<std::int32_t, Line> lines_;
  IdVector<std::int32_t, Entry> entries_;  // of each transfer
};

}  // namespace emplace::physical
