#pragma once

// One run of a suite in a folder of results, for programs that run suites: which cells are left,
// the policies that they need, and the cells themselves. Existing results are kept, so a stopped
// run continues where it was.

#include <emplace/bench/cell.hpp>
#include <emplace/bench/executor.hpp>
#include <emplace/bench/problem_set.hpp>
#include <emplace/bench/result_store.hpp>
#include <emplace/bench/shard.hpp>
#include <emplace/bench/suite.hpp>
#include <emplace/bench/suite_policies.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace emplace::bench {

class Communicator;

/// Returns the file in which a run in `folder` keeps the policy of a training.
std::string policy_path(const std::string& folder, const SuiteTraining& training);

/// Runs a suite; see the head of this file. Used by one thread.
class SuiteRun {
 public:
  /// Loads the graphs and clusters of `suite`; only `shard` of it is run. Throws as cells_of(),
  /// ProblemSet and hash_trained() do.
  SuiteRun(const Suite& suite, std::uint64_t root_seed, Shard shard = {});

  /// Opens the store in `folder`; `arguments` are those of the program, `libraries` those that
  /// results depend on in addition to what start_now() records. Throws as ResultStore::open() does.
  void open(const std::string& folder, const std::vector<std::string>& arguments, bool resume,
            const Libraries& libraries = {});

  /// Returns all cells of the shard.
  const std::vector<Cell>& cells() const { return cells_; }

  /// Returns the cells without a result when the store was opened. Requires: open() was called.
  const std::vector<Cell>& remaining() const { return remaining_; }

  /// Returns the work of each of remaining() (suite_costs.hpp). Requires: as remaining().
  std::vector<double> work() const;

  /// Returns the manifest of the store, the present start last. Requires: as remaining().
  const Manifest& manifest() const { return store_->manifest(); }

  /// Returns the trainings whose policies the remaining cells need. Requires: as remaining().
  const std::vector<SuiteTraining>& trainings() const { return trainings_; }

  /// Returns those of trainings() whose policies are not in the folder. Requires: as remaining().
  std::vector<SuiteTraining> untrained() const;

  /// Trains these policies, stores each and passes it to `sink`, one at a time but from any thread.
  /// `stop` and errors are as of Executor::train_policies().
  void train(const std::vector<SuiteTraining>& trainings, Executor& executor,
             const std::atomic<bool>& stop, const std::function<void(const SuiteTraining&)>& sink);

  /// Runs the remaining cells with the policies in the folder, stores each result and passes it to
  /// `sink`, one at a time but from any thread. `stop` is as of Executor::run_cells(). Throws kIo
  /// or kFormat for a policy file that is not valid. Returns the cells that the machine could not
  /// run, which have no result. Requires: untrained() is empty, or `stop` is true: then it does
  /// nothing.
  std::vector<CellFault> run(Executor& executor, const std::atomic<bool>& stop,
                             const std::function<void(const CellResult&)>& sink);

  /// Returns a hash of all that affects results: program, suite, seed and problems. Requires:
  /// open() was not called.
  std::string fingerprint() const;

  /// Computes cells and trainings of this run for the root of a job, on this rank, until the root
  /// has no more; see work_for_root(). Requires: open() was not called.
  void work_for_root(Communicator& ranks, int threads) const;

 private:
  void load_all();
  void load_shard();
  Policies read_policies() const;

  Suite suite_;
  std::uint64_t root_seed_;
  Shard shard_;
  std::int64_t num_suite_cells_ = 0;
  std::vector<Cell> cells_;
  std::vector<SuiteTraining> trainings_;
  ProblemSet problems_;
  std::vector<ProblemHash> hashes_;
  std::string folder_;
  std::unique_ptr<ResultStore> store_;
  std::vector<Cell> remaining_;
};

}  // namespace emplace::bench
