#pragma once

// Runs the work of a suite on all ranks of a job. The root hands out cells and trainings, the
// longest first, and each rank runs as many at a time as it has threads; a thread that is done gets
// the next. The root computes, too, and passes results to its sink as they arrive, so only the root
// has a store. Ranks load the suite themselves; the root sends ids and policies, and receives lines
// of cells.jsonl and the texts of policies.
//
// A rank that cannot compute what it was asked for ends the run with an error that names it; an
// agent that throws is a result like any other. Cells for which its machine has too little memory,
// threads or files are run again by the root at the end. If a rank dies, mpirun ends all others.
// After a stop or an error the executor cannot be used again: the job must be aborted.

#include <emplace/bench/communicator.hpp>
#include <emplace/bench/executor.hpp>

#include <atomic>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace emplace::bench {

/// The root's side. Used by one thread.
class RankExecutor final : public Executor {
 public:
  /// `threads` are those of the root. Requires: all other ranks call work_for_root().
  RankExecutor(Communicator& ranks, int threads);

  /// Dismisses the other ranks.
  ~RankExecutor() override;
  RankExecutor(const RankExecutor&) = delete;
  RankExecutor& operator=(const RankExecutor&) = delete;

  /// See Executor; `sink` is called by this thread. Throws Error if a rank failed.
  std::vector<CellFault> run_cells(std::span<const Cell> cells, const ProblemSet& problems,
                                   const Policies& policies, const std::atomic<bool>& stop,
                                   const std::function<void(const CellResult&)>& sink) override;
  void train_policies(
      std::span<const SuiteTraining> trainings, const std::atomic<bool>& stop,
      const std::function<void(const SuiteTraining&, const TrainedPolicy&)>& sink) override;

 private:
  // Has each index below `count` computed on some rank, on this one by `compute`. Other ranks get a
  // request, of a kind that both sides know.
  struct Tasks {
    int kind = 0;
    std::vector<std::string> requests{};
    std::function<std::string(std::size_t)> compute{};
    std::function<void(std::size_t, const std::string&)> sink{};
    // Receives the reason why the machine of a rank could not run a task; if empty, that ends the
    // run.
    std::function<void(std::size_t, const std::string&)> fault{};
  };

  void run(const Tasks& tasks, const std::atomic<bool>& stop);

  Communicator* ranks_;
  int threads_;
  std::vector<std::size_t> free_;  // idle threads of each rank
};

/// All that a root may ask for.
struct SuiteWork {
  const std::vector<Cell>& cells;
  const std::vector<SuiteTraining>& trainings;
  const ProblemSet& problems;
};

/// The other side: computes what the root asks for, on `threads` threads, until it is dismissed.
void work_for_root(Communicator& ranks, int threads, const SuiteWork& work);

}  // namespace emplace::bench
