#include "bench/small_suite.hpp"
#include "support/errors.hpp"
#include "support/temporary_folder.hpp"

#include <emplace/base/text_file.hpp>
#include <emplace/bench/merge_stores.hpp>
#include <emplace/bench/result_store.hpp>
#include <emplace/bench/suite_run.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace emplace::bench::merge_stores_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint64_t kSeed = 5;

void run_shard(const std::string& folder, Shard shard, bool resume = false) {
  const std::atomic<bool> go{false};
  SuiteRun run(small_suite(), kSeed, shard);
  run.open(folder, {"test"}, resume);
  ThreadExecutor executor(1);
  run.train(run.untrained(), executor, go, [](const SuiteTraining&) {});
  run.run(executor, go, [](const CellResult&) {});
}

std::map<std::string, std::string> policies_of(const std::string& folder) {
  std::map<std::string, std::string> policies;
  for (const auto& entry : std::filesystem::directory_iterator(folder + "/policies")) {
    policies[entry.path().filename().string()] = read_text_file(entry.path().string());
  }
  return policies;
}

class MergeStores : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return temporary_.path(name); }

  void expect_refused(const std::vector<std::string>& folders, ErrorCode code,
                      const std::string& why) const {
    EXPECT_THAT(test::error_of(code, [&] { merge_stores(folders, path("refused")); }),
                HasSubstr(why));
    EXPECT_FALSE(std::filesystem::exists(path("refused")));
  }

  const TemporaryFolder temporary_;
};

TEST_F(MergeStores, GivesWhatOneRunGives) {
  run_shard(path("whole"), {});
  for (std::int64_t i = 1; i <= 3; ++i) {
    run_shard(path(std::to_string(i)), {.index = i, .count = 3});
  }
  const Merge merge = merge_stores({path("3"), path("1"), path("2")}, path("merged"));
  EXPECT_EQ(merge.num_cells, 8);
  EXPECT_EQ(merge.num_duplicates, 0);
  EXPECT_EQ(merge.num_policies, 2);
  EXPECT_THAT(merge.missing, IsEmpty());
  EXPECT_THAT(merge.absent, IsEmpty());
  EXPECT_EQ(lines_of(path("merged")), lines_of(path("whole")));
  EXPECT_EQ(policies_of(path("merged")), policies_of(path("whole")));
  const Manifest manifest = read_store(path("merged")).manifest;
  EXPECT_TRUE(manifest.shard.is_whole());
  EXPECT_EQ(difference(manifest, read_store(path("whole")).manifest), std::nullopt);
  EXPECT_EQ(manifest.starts.size(), 3U);
}

TEST_F(MergeStores, RefusesDamagedPoliciesAndCurves) {
  run_shard(path("whole"), {});
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(path("whole") + "/policies")) {
    const std::string good = read_text_file(entry.path());
    std::string damaged = good;
    damaged[good.size() / 2] = static_cast<char>(damaged[good.size() / 2] ^ 1);
    write_text_file(entry.path(), damaged);
    expect_refused({path("whole")}, ErrorCode::kFormat, "the checksum does not match");
    write_text_file(entry.path(), good);
    ++files;
  }
  EXPECT_EQ(files, 4);
}

TEST_F(MergeStores, NamesPoliciesThatAreGone) {
  run_shard(path("whole"), {});
  std::filesystem::remove_all(path("whole") + "/policies");
  const Merge merge = merge_stores({path("whole")}, path("merged"));
  EXPECT_EQ(merge.num_policies, 0);
  EXPECT_EQ(merge.missing_policies.size(), 2U);
}

TEST_F(MergeStores, OfAPartIsFinishedByARun) {
  run_shard(path("whole"), {});
  run_shard(path("2"), {.index = 2, .count = 3});
  const Merge merge = merge_stores({path("2")}, path("merged"));
  EXPECT_THAT(merge.absent,
              testing::ElementsAre(Shard{.index = 1, .count = 3}, Shard{.index = 3, .count = 3}));
  EXPECT_EQ(merge.num_cells + static_cast<std::int64_t>(merge.missing.size()), 8);
  EXPECT_GT(merge.missing.size(), 0U);
  run_shard(path("merged"), {}, true);
  EXPECT_EQ(lines_of(path("merged")), lines_of(path("whole")));
  EXPECT_EQ(policies_of(path("merged")), policies_of(path("whole")));
}

TEST_F(MergeStores, CountsWhatSeveralHave) {
  run_shard(path("whole"), {});
  run_shard(path("1"), {.index = 1, .count = 2});
  const Merge merge = merge_stores({path("whole"), path("1"), path("whole")}, path("merged"));
  EXPECT_EQ(merge.num_cells, 8);
  EXPECT_EQ(merge.num_duplicates,
            8 + static_cast<std::int64_t>(read_store(path("1")).results.size()));
  EXPECT_THAT(merge.absent, IsEmpty()) << "one store is of the whole suite";
}

TEST_F(MergeStores, NamesWhatDiffers) {
  run_shard(path("a"), {});
  std::filesystem::copy(path("a"), path("b"), std::filesystem::copy_options::recursive);
  std::vector<CellResult> results = read_store(path("b")).results;
  std::filesystem::remove(path("b") + "/cells.jsonl");
  results[1].step_time_us *= 2;
  results[2].wall_s *= 2;  // may differ
  {
    ResultStore store = ResultStore::open(path("b"), read_store(path("a")).manifest, true);
    for (const CellResult& result : results) {
      store.append(result);
    }
  }
  expect_refused({path("a"), path("b")}, ErrorCode::kFormat, results[1].cell.id());
  expect_refused({path("a"), path("b")}, ErrorCode::kFormat, path("b"));

  std::filesystem::copy(path("a"), path("c"), std::filesystem::copy_options::recursive);
  const std::string name = policies_of(path("a")).rbegin()->first;
  write_text_file(path("c") + "/policies/" + name,
                  read_text_file(path("c") + "/policies/" + name) + "\n");
  expect_refused({path("a"), path("c")}, ErrorCode::kFormat, name);
}

TEST_F(MergeStores, RefusesWhatIsNotOfOneRun) {
  run_shard(path("a"), {.index = 1, .count = 2});
  Manifest manifest = read_store(path("a")).manifest;
  const auto other = [&](const std::string& name, const Manifest& changed) {
    ResultStore::open(path(name), changed, false);
    return path(name);
  };
  Manifest seed = manifest;
  seed.root_seed = 6;
  expect_refused({path("a"), other("seed", seed)}, ErrorCode::kFormat, "it was run with seed 6");
  Manifest suite = manifest;
  suite.suite.name = "large";
  expect_refused({path("a"), other("suite", suite)}, ErrorCode::kFormat, "its suite 'large'");
  Manifest problem = manifest;
  problem.problems[1].hash = "0000000000000000";
  expect_refused({path("a"), other("problem", problem)}, ErrorCode::kFormat, "has changed since");
  expect_refused({path("a"), path("nothing")}, ErrorCode::kIo, "no results here");
}

TEST_F(MergeStores, NeverWritesOverAStore) {
  run_shard(path("a"), {.index = 1, .count = 4});
  const std::string before = read_text_file(path("a") + "/manifest.json");
  EXPECT_THROW(merge_stores({path("a")}, path("a")), Error);
  EXPECT_EQ(read_text_file(path("a") + "/manifest.json"), before);
}

TEST_F(MergeStores, AShardIsResumedAsThatShard) {
  run_shard(path("a"), {.index = 1, .count = 2});
  run_shard(path("a"), {.index = 1, .count = 2}, true);
  for (const Shard shard :
       {Shard{.index = 2, .count = 2}, Shard{.index = 1, .count = 3}, Shard{}}) {
    SuiteRun run(small_suite(), kSeed, shard);
    EXPECT_THAT(test::error_of(ErrorCode::kUsage, [&] { run.open(path("a"), {"test"}, true); }),
                HasSubstr("it is of shard 1/2, not of "))
        << shard.text();
  }
}

}  // namespace
}  // namespace emplace::bench::merge_stores_test
