#include "bench/small_suite.hpp"
#include "support/temporary_folder.hpp"

#include <emplace/base/error.hpp>
#include <emplace/base/text_file.hpp>
#include <emplace/bench/suite_run.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace emplace::bench::suite_run_test {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::uint64_t kSeed = 5;

// Opens a run, trains what it lacks and runs cells until `most` are done; returns their ids.
std::vector<std::string> run_some(const std::string& folder, bool resume, int threads,
                                  std::size_t most) {
  std::atomic<bool> stop{false};
  SuiteRun run(small_suite(), kSeed);
  run.open(folder, {"test"}, resume);
  ThreadExecutor executor(threads);
  run.train(run.untrained(), executor, stop, [](const SuiteTraining&) {});
  std::vector<std::string> done;
  run.run(executor, stop, [&](const CellResult& result) {
    EXPECT_EQ(result.status, CellStatus::kOk) << result.message;
    done.push_back(result.cell.id());
    stop = done.size() >= most;
  });
  return done;
}

TEST(SuiteRun, GoesOnWhereItWasStopped) {
  const TemporaryFolder folder;
  const std::string in_parts = folder.path("in-parts");
  std::set<std::string> ids;
  std::size_t sittings = 0;
  for (; ids.size() < 8; ++sittings) {
    ASSERT_LT(sittings, 8U);
    for (const std::string& id : run_some(in_parts, sittings > 0, 1, 3)) {
      EXPECT_TRUE(ids.insert(id).second) << id << " ran twice";
    }
  }
  EXPECT_GT(sittings, 1U);
  EXPECT_THAT(run_some(folder.path("at-once"), false, 2, 8), SizeIs(8));

  SuiteRun parts(small_suite(), kSeed);
  parts.open(in_parts, {"test"}, true);
  EXPECT_THAT(parts.remaining(), IsEmpty());
  EXPECT_THAT(parts.trainings(), IsEmpty()) << "no cell is left that needs a policy";
  EXPECT_EQ(parts.manifest().starts.size(), sittings + 1);
  // The same policies, whether in one sitting or in many.
  for (const auto& entry : std::filesystem::directory_iterator(in_parts + "/policies")) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(".curve.json")) {
      EXPECT_EQ(read_text_file(entry.path().string()),
                read_text_file(folder.path("at-once/policies/" + name)));
    }
  }
}

TEST(SuiteRun, TrainsWhatTheFolderLacks) {
  const TemporaryFolder folder;
  const std::atomic<bool> go{false};
  SuiteRun run(small_suite(), kSeed);
  EXPECT_THAT(run.cells(), SizeIs(8));
  run.open(folder.path("run"), {"test"}, false);
  EXPECT_THAT(run.remaining(), SizeIs(8));
  const std::vector<SuiteTraining> untrained = run.untrained();
  ASSERT_THAT(untrained, SizeIs(2));
  std::vector<std::string> trained;
  ThreadExecutor executor(1);
  run.train({untrained[0]}, executor, go,
            [&](const SuiteTraining& training) { trained.push_back(training.file_name()); });
  EXPECT_THAT(trained, testing::ElementsAre(untrained[0].file_name()));
  ASSERT_THAT(run.untrained(), SizeIs(1));
  EXPECT_EQ(run.untrained()[0].file_name(), untrained[1].file_name());
}

TEST(SuiteRun, RefusesAFolderOfResultsUnlessItIsResumed) {
  const TemporaryFolder folder;
  const std::string path = folder.path("run");
  run_some(path, false, 1, 1);
  SuiteRun again(small_suite(), kSeed);
  EXPECT_THROW(again.open(path, {"test"}, false), Error);
  SuiteRun other_seed(small_suite(), kSeed + 1);
  EXPECT_THROW(other_seed.open(path, {"test"}, true), Error);
}

}  // namespace
}  // namespace emplace::bench::suite_run_test
