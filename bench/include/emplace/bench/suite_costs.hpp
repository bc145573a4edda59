#pragma once

// What the cells and trainings of a suite take, for those who divide it, order it or forecast it.
//
//     work = simulations * ops
//
// A cell simulates as often as its budget of evaluations allows, or counts as one simulation if its
// agent makes none; where costs have relative deviations, the draws in which placements are
// compared (kCellDraws) come on top. A training simulates all evaluations of its episodes. So
// work is the same on every machine. What agents compute besides is not known, and not counted.

#include <emplace/bench/cell.hpp>
#include <emplace/bench/problem_set.hpp>
#include <emplace/bench/shard.hpp>
#include <emplace/bench/suite.hpp>
#include <emplace/bench/suite_policies.hpp>
#include <emplace/sim/problem.hpp>

#include <cstdint>
#include <functional>
#include <vector>

namespace emplace::bench {

/// Holds what of a problem counts for time and room.
struct ProblemSize {
  std::int64_t ops = 0;
  std::int64_t groups = 0;
  bool has_spreads = false;  ///< of costs: cells are compared in draws
};

/// Returns the size of `problem`.
ProblemSize size_of(const Problem& problem);

/// Returns the evaluations that the agent of `cell` makes at most.
std::int64_t evaluations_of(const Cell& cell);

/// Returns the work of `cell`; see the head of this file.
double work_of(const Cell& cell, const ProblemSize& size);

/// Returns the expected bytes of the result of `cell` in its store.
std::int64_t expected_bytes(const Cell& cell, const ProblemSize& size);

/// Holds all that a suite runs, with its work.
struct SuiteCosts {
  std::vector<Cell> cells{};               ///< as cells_of()
  std::vector<ProblemSize> sizes{};        ///< of the problem of each cell
  std::vector<double> cells_work{};        ///< of each cell
  std::vector<SuiteTraining> trainings{};  ///< as trainings_of()
  std::vector<double> trainings_work{};
  std::vector<std::int64_t> trainings_evaluations{};
  std::vector<std::int64_t> policies_bytes{};  ///< of the file that each training writes
  std::vector<ProblemHash> problems{};         ///< of the cells, then of the trainings

  /// Returns what cannot be divided (shard.hpp), in the order of the cells.
  std::vector<Piece> pieces() const;

  /// Returns what `shard` runs: all, if it is the whole.
  ShardWork work_of(Shard shard) const;
};

/// Loads all that `suite` names, one problem after the other, hands each problem of its cells to
/// `each`, if given, and returns the costs. Throws as cells_of(), for_each_problem() and
/// hash_trained() do.
SuiteCosts costs_of(const Suite& suite, std::uint64_t root_seed,
                    const std::function<void(const Problem&)>& each = {});

}  // namespace emplace::bench
