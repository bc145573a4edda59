#pragma once

// When the host has launched each op of a placed step (rule 1 of the `physical` engine in
// docs/concepts/simulation.md).

#include <emplace/base/id_vector.hpp>
#include <emplace/base/infinity.hpp>
#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>

#include <cstddef>
#include <vector>

namespace emplace {

/// Lists launches in the order of time; a workspace of one thread.
class HostLaunches {
 public:
  /// Requires: `problem` outlives it.
  explicit HostLaunches(const Problem& problem);

  /// Finds the launches of the ops of a step. O(n) for one thread of the host, else O(n log n).
  /// Requires: exist().
  void set(const Placement& placement);

  /// Says whether the host launches any op at all.
  bool exist() const { return problem_.cluster().host.launch_us > 0; }

  /// Returns when `op` was launched; 0 if the host does not launch it.
  double at_us(OpId op) const { return exist() ? at_us_[op] : 0.0; }

  /// Returns when the next launch ends; infinity after the last.
  double next_us() const {
    if (next_ == in_order_.size()) {
      return kInfinity;
    }
    return at_us_[in_order_[next_]];
  }

  /// Takes out the op of the next launch. Requires: there is one.
  OpId take() { return in_order_[next_++]; }

 private:
  const Problem& problem_;
  IdVector<OpId, double> at_us_;
  std::vector<OpId> in_order_;
  std::size_t next_ = 0;
  std::vector<double> threads_us_;  // until when each thread launches
};

}  // namespace emplace
