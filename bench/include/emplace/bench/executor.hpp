#pragma once

// Runs the work of a suite: its cells, and the trainings of its policies. An executor runs it on
// the threads of this process, through oneTBB, or on all ranks of a job (rank_executor.hpp).
// Results depend neither on the number of threads and ranks nor on the order.

#include <emplace/agents/evaluator.hpp>
#include <emplace/bench/cell.hpp>
#include <emplace/bench/problem_set.hpp>
#include <emplace/bench/suite_policies.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace emplace::bench {

/// Further options of a cell's evaluator; see agents::Evaluator::Options. With a time, a start, or
/// a bound that ends it, the result does not depend on the cell alone.
struct CellWatch {
  std::optional<std::chrono::duration<double>> max_time{};
  std::optional<Placement> start{};    ///< evaluated before the agent places
  const PolicyFile* policy = nullptr;  ///< the agent starts from this one
  bool ends_at_bound = false;  ///< the budget ends at a placement that meets the lower bound
  std::function<void(std::int64_t)> progress{};
  std::function<void(const agents::Incumbent::Improvement&)> improved{};
};

/// Runs one cell, whose agent may start from one of `policies`. The cell is kFailed if the agent
/// throws or returns a placement that is not complete. `stop` ends it early; the result is then the
/// best so far, which differs from run to run. If the machine runs out of memory, threads,
/// processes or files, there is no result: std::bad_alloc and std::system_error are passed on.
CellResult run_cell(const Cell& cell, const ProblemSet::Entry& entry, const Policies& policies,
                    const std::atomic<bool>& stop, const CellWatch& watch = {});

/// A cell that the machine could not run.
struct CellFault {
  Cell cell{};
  std::string reason{};
};

/// Returns a sentence about which of `num_cells` cells could not be run. Requires: there are some.
std::string describe(std::span<const CellFault> faults, std::size_t num_cells);

/// Runs many cells or trainings at the same time.
class Executor {
 public:
  virtual ~Executor() = default;

  /// Runs every cell and passes each result to `sink`, one at a time but from any thread and in any
  /// order. When `stop` turns true no further cell starts, and running cells end early without a
  /// result. An exception of `sink` ends the run and is rethrown. Cells that the machine could not
  /// run are run again at the end, one after the other; returns those that failed again.
  virtual std::vector<CellFault> run_cells(std::span<const Cell> cells, const ProblemSet& problems,
                                           const Policies& policies, const std::atomic<bool>& stop,
                                           const std::function<void(const CellResult&)>& sink) = 0;

  /// Trains every policy and hands it to `sink`, in the same way. Throws what training throws.
  virtual void train_policies(
      std::span<const SuiteTraining> trainings, const std::atomic<bool>& stop,
      const std::function<void(const SuiteTraining&, const TrainedPolicy&)>& sink) = 0;
};

/// Runs cells and trainings on threads of this process.
class ThreadExecutor final : public Executor {
 public:
  /// `threads` of 0 means all cores.
  explicit ThreadExecutor(int threads) : threads_(threads) {}

  std::vector<CellFault> run_cells(std::span<const Cell> cells, const ProblemSet& problems,
                                   const Policies& policies, const std::atomic<bool>& stop,
                                   const std::function<void(const CellResult&)>& sink) override;
  void train_policies(
      std::span<const SuiteTraining> trainings, const std::atomic<bool>& stop,
      const std::function<void(const SuiteTraining&, const TrainedPolicy&)>& sink) override;

 private:
  int threads_;
};

}  // namespace emplace::bench
