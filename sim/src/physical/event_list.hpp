#pragma once

// A future event list: a binary heap by time. The `physical` engine keeps the ends of ops in one,
// and the ends of transfers' latencies in another.

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

namespace emplace::physical {

/// Holds the events to come, each with an id that says whose it is.
template <typename Id>
class EventList {
 public:
  /// Makes room, so that nothing is allocated later.
  void reserve(std::size_t events) { events_.reserve(events); }

  void clear() { events_.clear(); }

  /// Schedules an event.
  void push(double at_us, Id id) {
    events_.push_back({at_us, id});
    std::push_heap(events_.begin(), events_.end(), kLater);
  }

  /// Returns when the next event happens; infinity if there is none.
  double next_us() const {
    return events_.empty() ? std::numeric_limits<double>::infinity() : events_.front().at_us;
  }

  /// Replaces `taken` by the events until `until_us`, in the order of their ids. Returns the
  /// latest of `last_us` and their times.
  double take(double until_us, double last_us, std::vector<Id>& taken) {
    taken.clear();
    while (next_us() <= until_us) {
      last_us = std::max(last_us, events_.front().at_us);
      taken.push_back(events_.front().id);
      std::pop_heap(events_.begin(), events_.end(), kLater);
      events_.pop_back();
    }
    if (taken.size() > 1) {
      std::sort(taken.begin(), taken.end());
    }
    return last_us;
  }

 private:
  struct Event {
    double at_us;
    Id id;
  };

  // For a heap whose first element is the one before which no other comes.
  static constexpr auto kLater = [](const Event& a, const Event& b) { return a.at_us > b.at_us; };

  std::vector<Event> events_;
};

}  // namespace emplace::physical
