#pragma once

// The ready ops of each device, in the order in which it runs them (rule 1 of the `physical` engine
// in docs/concepts/simulation.md): those of the highest priority first; then first come, first
// served, or the longest path first.

#include "priorities.hpp"

#include <emplace/base/id_vector.hpp>
#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>

#include <algorithm>
#include <compare>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

namespace emplace::physical {

/// Holds the queues of all devices; a workspace of one thread.
class ReadyQueues {
 public:
  /// Makes room. Requires: `problem` outlives it.
  explicit ReadyQueues(const Problem& problem);

  /// Empties the queues and makes room for `num_ops_on` ops on each device; the order is that of
  /// `placement`. Requires: it outlives the run.
  void reset(const Placement& placement, IdSpan<DeviceId, const std::int32_t> num_ops_on);

  bool is_empty(DeviceId device) const { return queues_[device].head == queues_[device].tail; }

  /// Queues an op that is ready at `at_us`. Requires: none was queued that is ready later.
  void push(DeviceId device, OpId op, double at_us) {
    Queue& queue = queues_[device];
    Entry* at = queue.tail++;
    *at = {at_us, op};
    if (is_heap_) {
      std::push_heap(queue.head, queue.tail,
                     [this](const Entry& a, const Entry& b) { return runs_before(b, a); });
      return;
    }
    // Only ops of this very time can be out of place: those woken by what took no time.
    for (; at != queue.head && runs_before(*at, at[-1]); --at) {
      std::swap(*at, at[-1]);
    }
  }

  /// Takes out the op that the device runs next. Requires: the queue is not empty.
  OpId pop(DeviceId device) {
    Queue& queue = queues_[device];
    if (!is_heap_) {
      return (queue.head++)->op;
    }
    std::pop_heap(queue.head, queue.tail,
                  [this](const Entry& a, const Entry& b) { return runs_before(b, a); });
    return (--queue.tail)->op;
  }

 private:
  struct Entry {
    double ready_us;
    OpId op;
  };

  // A stretch of the shared storage: sorted, or a heap.
  struct Queue {
    Entry* head = nullptr;
    Entry* tail = nullptr;
  };

  bool runs_before(const Entry& a, const Entry& b) const {
    if (const auto order = priorities_.compare(a.op, b.op); std::is_neq(order)) {
      return std::is_gt(order);
    }
    if (by_critical_path_ && problem_.priority_us(a.op) != problem_.priority_us(b.op)) {
      return problem_.priority_us(a.op) > problem_.priority_us(b.op);
    }
    return std::tie(a.ready_us, a.op) < std::tie(b.ready_us, b.op);
  }

  const Problem& problem_;
  const bool by_critical_path_;
  Priorities priorities_;
  bool is_heap_;  // else sorted
  IdVector<DeviceId, Queue> queues_;
  std::vector<Entry> storage_;
};

}  // namespace emplace::physical
