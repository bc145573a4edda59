#include <emplace/bench/manifest.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace emplace::bench::manifest_test {
namespace {

using ::testing::MatchesRegex;

TEST(Manifest, SurvivesARoundTrip) {
  const Manifest manifest{.suite = {.name = "s",
                                    .summary = "one line",
                                    .graphs = {{"g"}},
                                    .clusters = {"c"},
                                    .agents = {{"a:x=1"}},
                                    .repetitions = 2,
                                    .max_evaluations = 3,
                                    .groups = 4},
                          .root_seed = 9007199254740991,
                          .num_cells = 2,
                          .problems = {{"g", "c", "0123456789abcdef", "fedcba9876543210"}},
                          .starts = {start_now({"emplace", "run", "a b"})}};
  const Manifest again = read_manifest(write_manifest(manifest), "manifest.json");
  EXPECT_EQ(again.suite, manifest.suite);
  EXPECT_EQ(again.root_seed, manifest.root_seed);
  EXPECT_EQ(again.num_cells, manifest.num_cells);
  EXPECT_EQ(again.problems, manifest.problems);
  ASSERT_EQ(again.starts.size(), 1U);
  EXPECT_EQ(again.starts[0].arguments, manifest.starts[0].arguments);
  EXPECT_EQ(again.starts[0].time, manifest.starts[0].time);
  EXPECT_EQ(again.starts[0].build, manifest.starts[0].build);
  EXPECT_EQ(again.starts[0].machine.cpu, manifest.starts[0].machine.cpu);
  EXPECT_EQ(again.starts[0].machine.memory_bytes, manifest.starts[0].machine.memory_bytes);
}

TEST(Manifest, KnowsProgramMachineAndTime) {
  const Start start = start_now({});
  EXPECT_THAT(start.build.version, MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
  EXPECT_THAT(start.build.git_revision, MatchesRegex("unknown|[0-9a-f]+(-dirty)?"));
  EXPECT_THAT(start.time, MatchesRegex("20..-..-..T..:..:..Z"));
  EXPECT_GE(start.machine.cores, 1);
  EXPECT_GT(start.machine.memory_bytes, 0);
}

}  // namespace
}  // namespace emplace::bench::manifest_test
