#pragma once

// What the cells and trainings of a suite are expected to cost, to divide it or to estimate its
// time. All problems are compiled for that, one after the other, and none is kept.

#include <emplace/bench/cell.hpp>
#include <emplace/bench/cost_model.hpp>
#include <emplace/bench/problem_set.hpp>
#include <emplace/bench/shard.hpp>
#include <emplace/bench/suite.hpp>
#include <emplace/bench/suite_policies.hpp>

#include <cstdint>
#include <vector>

namespace emplace::bench {

/// All that a suite runs, with costs on one core.
struct SuiteCosts {
  std::vector<Cell> cells{};                ///< as cells_of()
  std::vector<ProblemSize> sizes{};         ///< of the problem of each cell
  std::vector<std::int64_t> cells_us{};     ///< of each cell
  std::vector<std::int64_t> cells_bytes{};  ///< of memory, in addition to the problem
  std::vector<SuiteTraining> trainings{};   ///< as trainings_of()
  std::vector<std::int64_t> trainings_us{};
  std::vector<std::int64_t> trainings_bytes{};  ///< of memory, in addition to the problems
  std::vector<std::int64_t> policies_bytes{};   ///< of the file that each training writes
  std::vector<ProblemHash> problems{};          ///< of the cells, then of the trainings

  /// Returns what cannot be divided (shard.hpp), in the order of the cells.
  std::vector<Piece> pieces() const;

  /// Returns what `shard` runs: all, if it is the whole.
  ShardWork work_of(Shard shard) const;
};

/// Loads all that `suite` names and returns the costs. Throws as cells_of(), for_each_problem() and
/// hash_trained() do.
SuiteCosts costs_of(const Suite& suite, std::uint64_t root_seed,
                    const CostModel& model = CostModel::shipped());

}  // namespace emplace::bench
