#pragma once

// A future event list: a binary heap by time. The `physical` engine keeps the ends of ops in it.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace emplace::physical {

/// Holds the events to come, each with a number that says what it is.
class EventList {
 public:
  struct Event {
    double at_us;
    std::int32_t id;
  };

  /// Makes room, so that nothing is allocated later.
  void reserve(std::size_t events) { events_.reserve(events); }

  void clear() { events_.clear(); }

  /// Schedules an event.
  void push(double at_us, std::int32_t id) {
    events_.push_back({at_us, id});
    std::push_heap(events_.begin(), events_.end(), kLater);
  }

  /// Returns when the next event happens; infinity if there is none.
  double next_us() const {
    return events_.empty() ? std::numeric_limits<double>::infinity() : events_.front().at_us;
  }

  /// Takes the next event out. Requires: there is one.
  Event pop() {
    const Event event = events_.front();
    std::pop_heap(events_.begin(), events_.end(), kLater);
    events_.pop_back();
    return event;
  }

 private:
  // For a heap whose first element is the one after which no other comes.
  static constexpr auto kLater = [](const Event& a, const Event& b) {
    return a.at_us != b.at_us ? a.at_us > b.at_us : a.id > b.id;
  };

  std::vector<Event> events_;
};

}  // namespace emplace::physical
