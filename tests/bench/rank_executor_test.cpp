#include "bench/small_suite.hpp"
#include "support/temporary_folder.hpp"
#include "support/thread_ranks.hpp"

#include <emplace/base/text_file.hpp>
#include <emplace/bench/rank_executor.hpp>
#include <emplace/bench/result_store.hpp>
#include <emplace/bench/suite_run.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <map>
#include <stdexcept>
#include <string>

namespace emplace::bench::rank_executor_test {
namespace {

// With cells whose agent throws.
Suite suite_with_failures() {
  Suite suite = small_suite();
  suite.agents.insert(suite.agents.begin() + 1, {{"heft"}, {"exec:false"}});
  suite.repetitions = 3;
  return suite;
}

// The files of a run, without what a clock measured.
std::map<std::string, std::string> left_in(const std::string& folder) {
  std::map<std::string, std::string> left = lines_of(folder);
  const Suite suite = read_store(folder).manifest.suite;
  for (const SuiteTraining& training : trainings_of(suite, 5)) {
    left.emplace(training.file_name(),
                 read_text_file(folder + "/policies/" + training.file_name()));
  }
  return left;
}

void run_suite(const std::string& folder, Executor& executor) {
  const std::atomic<bool> go{false};
  SuiteRun run(suite_with_failures(), 5);
  run.open(folder, {"test"}, false);
  run.train(run.untrained(), executor, go, [](const SuiteTraining&) {});
  run.run(executor, go, [](const CellResult&) {});
}

TEST(RankExecutor, LeavesWhatThreadsLeave) {
  const TemporaryFolder folder;
  ThreadExecutor threads(2);
  run_suite(folder.path("threads"), threads);
  const auto expected = left_in(folder.path("threads"));
  ASSERT_EQ(expected.size(), 2U * 10 + 3) << "results and policies";
  for (const std::size_t size : {1, 2, 3}) {
    const std::string path = folder.path(std::to_string(size));
    ThreadRanks(size).run([&](Communicator& rank) {
      if (rank.is_root()) {
        RankExecutor executor(rank, 1);
        run_suite(path, executor);
      } else {
        SuiteRun(suite_with_failures(), 5).work_for_root(rank, 2);
      }
    });
    EXPECT_TRUE(left_in(path) == expected) << size << " ranks";
  }
}

TEST(RankExecutor, EndsAtAnErrorOfTheSink) {
  std::size_t results = 0;
  ThreadRanks(2).run([&](Communicator& rank) {
    const SuiteRun run(suite_with_failures(), 5);
    if (!rank.is_root()) {
      run.work_for_root(rank, 1);
      return;
    }
    const std::vector<Cell> cells = {run.cells().front(), run.cells()[1], run.cells()[2]};
    const ProblemSet problems(cells);
    const std::atomic<bool> go{false};
    RankExecutor executor(rank, 1);
    EXPECT_THROW(executor.run_cells(cells, problems, {}, go,
                                    [&](const CellResult&) {
                                      ++results;
                                      throw std::runtime_error("disk full");
                                    }),
                 std::runtime_error);
  });
  EXPECT_EQ(results, 1U);
}

TEST(RankExecutor, StopsBetweenCells) {
  std::size_t results = 0;
  ThreadRanks(3).run([&](Communicator& rank) {
    const SuiteRun run(suite_with_failures(), 5);
    if (!rank.is_root()) {
      run.work_for_root(rank, 1);
      return;
    }
    const ProblemSet problems(run.cells());
    std::atomic<bool> stop{false};
    std::vector<Cell> cells;
    for (const Cell& cell : run.cells()) {
      if (cell.policy.empty()) {
        cells.push_back(cell);
      }
    }
    RankExecutor executor(rank, 1);
    executor.run_cells(cells, problems, {}, stop, [&](const CellResult&) {
      ++results;
      stop = true;
    });
  });
  EXPECT_GE(results, 1U);
  EXPECT_LT(results, 9U) << "what had arrived at once may still be handed over";
}

}  // namespace
}  // namespace emplace::bench::rank_executor_test
