#include "support/temporary_folder.hpp"
#include "support/thread_ranks.hpp"

#include <emplace/bench/rank_executor.hpp>
#include <emplace/bench/result_store.hpp>
#include <emplace/bench/suite_run.hpp>
#include <emplace/graphs/text_file.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <map>
#include <stdexcept>
#include <string>

namespace emplace::bench::rank_executor_test {
namespace {

// Cells with and without a policy, and one whose agent throws.
// In a function, because specs ask the registry of agents.
Suite small_suite() {
  return {.name = "small",
          .graphs = {{.graph = "cifar10:split=test,member=0", .groups = 10, .family = "cells"},
                     {.graph = "cifar10:split=test,member=1", .groups = 10, .family = "cells"}},
          .families = {{.name = "cells", .train = {"cifar10:member=0"}, .groups = 10}},
          .clusters = {"p2-8xlarge-2"},
          .policies = {{.name = "net", .agent = "placeto:preset=released,rounds=1", .episodes = 2}},
          .agents = {{"random"},
                     {"heft"},
                     {"exec:false"},
                     {.agent = "placeto:preset=released,rounds=1", .policy = "net"}},
          .repetitions = 3,
          .max_evaluations = 22};
}

// The files of a run, without what a clock measured.
std::map<std::string, std::string> left_in(const std::string& folder) {
  std::map<std::string, std::string> left;
  for (CellResult& result : read_store(folder).results) {
    result.wall_s = 0;
    for (Improvement& improvement : result.history) {
      improvement.seconds = 0;
    }
    left.emplace(result.cell.id(), write_cell_result(result));
  }
  const Suite suite = read_store(folder).manifest.suite;
  for (const SuiteTraining& training : trainings_of(suite, 5)) {
    left.emplace(training.file_name(),
                 read_text_file(folder + "/policies/" + training.file_name()));
  }
  return left;
}

void run_suite(const std::string& folder, Executor& executor) {
  const std::atomic<bool> go{false};
  SuiteRun run(small_suite(), 5);
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
        SuiteRun(small_suite(), 5).work_for_root(rank, 2);
      }
    });
    EXPECT_TRUE(left_in(path) == expected) << size << " ranks";
  }
}

TEST(RankExecutor, EndsAtAnErrorOfTheSink) {
  std::size_t results = 0;
  ThreadRanks(2).run([&](Communicator& rank) {
    const SuiteRun run(small_suite(), 5);
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
    const SuiteRun run(small_suite(), 5);
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
