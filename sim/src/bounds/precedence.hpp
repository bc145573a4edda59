#pragma once

// What every placement keeps of a problem: how long each op takes at least, and what it waits for.
// An op that waits for another starts at least its busy time later where the two share a device,
// and `extra_us` later still where they do not: that is the transfer, less the gap after the
// producer, which a transfer need not wait for. Read from the end the same holds of the ends, so
// one algorithm gives heads and tails (reversed()).

#include <emplace/base/id_vector.hpp>
#include <emplace/sim/problem.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace emplace::bounds {

/// Holds the ops as tasks with lower bounds of their times.
class Precedence {
 public:
  /// Says that an op waits for another, or is waited for.
  struct Edge {
    OpId op;
    double extra_us;  ///< what it costs at least to be on another device; may be negative
  };

  /// Reads a problem whose ops may be on any of `devices`. Requires: at least one.
  Precedence(const Problem& problem, std::span<const DeviceId> devices);

  /// Returns the same with time running backwards.
  Precedence reversed() const;

  OpId num_ops() const { return busy_us_.end_id(); }

  /// Returns how long an op keeps the device that runs it fastest, gap included.
  double busy_us(OpId op) const { return busy_us_[op]; }

  GroupId group_of(OpId op) const { return group_of_[op]; }

  /// Returns what `op` waits for.
  std::span<const Edge> before(OpId op) const { return edges_of(before_, before_begin_, op); }

  /// Returns what waits for `op`.
  std::span<const Edge> after(OpId op) const { return edges_of(after_, after_begin_, op); }

  /// Returns all ops in a topological order.
  const std::vector<OpId>& order() const { return order_; }

 private:
  struct Dependence {
    OpId producer;
    OpId consumer;
    double extra_us;
  };

  void link(const std::vector<Dependence>& dependences);

  static std::span<const Edge> edges_of(const std::vector<Edge>& edges,
                                        const IdVector<OpId, std::size_t>& begin, OpId op) {
    return {edges.data() + begin[op], edges.data() + begin[op + 1]};
  }

  IdVector<OpId, double> busy_us_;
  IdVector<OpId, GroupId> group_of_;
  std::vector<OpId> order_;
  std::vector<Edge> before_;
  std::vector<Edge> after_;
  IdVector<OpId, std::size_t> before_begin_;
  IdVector<OpId, std::size_t> after_begin_;
};

}  // namespace emplace::bounds
