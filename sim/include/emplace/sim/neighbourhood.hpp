#pragma once

// The steps of placements that differ from a base in some groups: what a search looks at, one move
// after the other. It goes on from a move by making it the base.
//
// A step is simulated from what is known of the base where the cluster's model can do so
// (docs/concepts/incremental-simulation.md); the result is that of a full run, to the last bit. A
// Neighbourhood is one thread's workspace. After the first runs it allocates nothing.

#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>
#include <emplace/sim/simulator.hpp>

#include <limits>
#include <memory>
#include <span>
#include <vector>

namespace emplace {

/// Simulates the neighbours of a placement.
class Neighbourhood {
 public:
  /// Prepares a workspace. Requires: `problem` outlives it.
  explicit Neighbourhood(const Problem& problem);

  Neighbourhood(Neighbourhood&&) noexcept;
  ~Neighbourhood();

  /// Makes `base` the base; its step is simulated by start(), or when the first move from there is.
  /// Requires: a valid device for each group.
  void go_to(const Placement& base);

  /// Simulates the step of the base. Requires: there is one.
  const SimResult& start();

  /// Does both.
  const SimResult& start(const Placement& base) {
    go_to(base);
    return start();
  }

  /// Simulates the step of the base after moves of different groups, cut off at `cutoff_us` as
  /// Simulator::run() is. The result is valid until the next call. Requires: there is a base.
  const SimResult& try_moves(std::span<const Move> moves,
                             double cutoff_us = std::numeric_limits<double>::infinity());

  /// Does the same for other priorities of different groups. Requires: the base has priorities.
  const SimResult& try_priorities(std::span<const PriorityChange> changes,
                                  double cutoff_us = std::numeric_limits<double>::infinity());

  /// Makes the placement that was tried last the base. Requires: it was not cut off, and nothing
  /// was called since.
  void accept();

  /// Returns the base, and the placement that was tried last.
  const Placement& base() const { return base_; }
  const Placement& tried() const { return tried_; }

 private:
  void prepare();
  void take_back();

  const Problem& problem_;
  std::unique_ptr<Engine> engine_;
  Placement base_;
  Placement tried_;
  std::vector<Move> moves_;              // from base_ to tried_
  std::vector<PriorityChange> changes_;  // from base_ to tried_
  bool has_started_ = false;
};

}  // namespace emplace
