#include <emplace/bench/micro_comparison.hpp>
#include <emplace/graphs/error.hpp>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace emplace::bench::micro_comparison_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A file as Google Benchmark 1.7 writes it.
std::string file_of(const std::string& host, const std::string& entries) {
  return fmt::format(
      R"({{"context": {{"date": "2026-11-23", "host_name": "{}", "num_cpus": 2, "caches": []}},
           "benchmarks": [{}]}})",
      host, entries);
}

std::string entry_of(const std::string& name, double time, const std::string& unit = "us") {
  return fmt::format(
      R"({{"name": "{0}", "run_name": "{0}", "run_type": "iteration", "iterations": 10,
           "real_time": 1e3, "cpu_time": {1}, "time_unit": "{2}", "counter": 4.5}})",
      name, time, unit);
}

std::string repeated(const std::string& name, double time) {
  std::string entries;
  for (int repetition = 0; repetition < 5; ++repetition) {
    entries += (repetition > 0 ? ", " : "") + entry_of(name, time + 0.01 * repetition);
  }
  return entries;
}

MicroRun read(const std::string& text) { return read_micro_run(text, "file.json"); }

void expect_refused(const std::string& text, const std::string& message) {
  try {
    read(text);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kFormat);
    EXPECT_THAT(error.what(), HasSubstr(message));
  }
}

// Beyond these a ratio would be no number, or none that means anything.
TEST(MicroRun, RefusesTimesThatNoBenchmarkTakes) {
  expect_refused(file_of("h", entry_of("one", 1e-320, "s")), "expected a number from 1e-15 to");
  expect_refused(file_of("h", entry_of("one", 1e300, "s")), "expected a number from 1e-15 to");
  EXPECT_EQ(read(file_of("h", entry_of("one", 1e15, "s"))).benchmarks[0].times_ns.front(), 1e24);
}

TEST(MicroRun, ReadsProcessorTimesOfRepetitions) {
  const MicroRun run = read(file_of(
      "h", entry_of("one", 2) + "," + entry_of("one", 3, "ms") + "," + entry_of("two", 5, "s") +
               R"(, {"name": "one_median", "run_name": "one", "run_type": "aggregate",
                     "aggregate_name": "median", "cpu_time": 9, "time_unit": "us"})"));
  ASSERT_EQ(run.benchmarks.size(), 2U);
  EXPECT_THAT(run.benchmarks[0].times_ns, ElementsAre(2e3, 3e6));
  EXPECT_THAT(run.benchmarks[1].times_ns, ElementsAre(5e9));
}

TEST(MicroRun, TakesRealTimeWhereTheBenchmarkDoes) {
  const MicroRun run = read(file_of("h", entry_of("threads:2/real_time", 2)));
  EXPECT_THAT(run.benchmarks[0].times_ns, ElementsAre(1e6));
}

TEST(MicroRun, LeavesOutRepetitionsThatFailed) {
  const MicroRun run =
      read(file_of("h", entry_of("one", 2) +
                            R"(, {"name": "one", "run_type": "iteration", "error_occurred": true,
                     "error_message": "no"})"));
  EXPECT_THAT(run.benchmarks[0].times_ns, ElementsAre(2e3));
  EXPECT_EQ(run.benchmarks[0].failed, 1);
}

TEST(MicroRun, RefusesWhatIsNoFileOfBenchmarks) {
  expect_refused("{", "file.json");
  expect_refused(R"({"benchmarks": []})", "context");
  expect_refused(file_of("h", ""), "file.json: /benchmarks: expected times of repetitions");
  expect_refused(file_of("h", R"({"name": "m", "run_type": "aggregate"})"), "aggregates alone");
  expect_refused(file_of("h", entry_of("one", 0)),
                 "/benchmarks/0/cpu_time: expected a number from 1e-15 to");
  expect_refused(file_of("h", entry_of("one", 1, "days")), "/benchmarks/0/time_unit");
}

TEST(MicroComparison, TellsWhatBecameSlower) {
  const MicroRun a = read(file_of("h", repeated("one", 2) + "," + repeated("two", 5)));
  const MicroRun b = read(file_of("h", repeated("one", 3) + "," + repeated("two", 5)));
  const MicroComparison comparison = compare_micro(a, b, 0.02);
  ASSERT_EQ(comparison.rows.size(), 2U);
  EXPECT_NEAR(comparison.rows[0].ratio.ratio, 3.02 / 2.02, 0.01);
  EXPECT_DOUBLE_EQ(comparison.rows[0].significance.p, 2 * 2.0 / 252);  // two benchmarks
  EXPECT_EQ(comparison.rows[0].significance.verdict(), Verdict::kSlower);
  EXPECT_EQ(comparison.rows[1].significance.verdict(), Verdict::kUnsure);
  EXPECT_EQ(comparison.count(Verdict::kSlower), 1);
  EXPECT_EQ(compare_micro(b, a, 0.02).count(Verdict::kFaster), 1);
  EXPECT_EQ(compare_micro(a, b, 0.6).count(Verdict::kSlower), 0);
  EXPECT_TRUE(comparison.differences.empty());
  const auto json = nlohmann::json::parse(write_json(comparison));
  EXPECT_EQ(json["benchmarks"][0]["verdict"], "slower");
  EXPECT_THAT(write_terminal(comparison, false), HasSubstr("slower by more than 2 % in 1"));
}

// On a machine that is twice as slow, nothing changed in multiples of the yardstick.
TEST(MicroComparison, WithAYardstickComparesMachines) {
  const MicroRun a = read(file_of("h", repeated("one", 2) + "," + repeated("stick", 4)));
  std::string entries;
  for (const double time : {2.0, 2.01, 2.02, 2.03, 2.04}) {
    entries += entry_of("one", 2 * time) + "," + entry_of("stick", 2 * (time + 2)) + ",";
  }
  entries.pop_back();
  const MicroRun b = read(file_of("other", entries));
  EXPECT_EQ(compare_micro(a, b, 0.02).count(Verdict::kSlower), 2);
  const MicroComparison relative = compare_micro(a, b, 0.02, "stick");
  ASSERT_EQ(relative.rows.size(), 1U);
  EXPECT_EQ(relative.count(Verdict::kUnsure), 1);
  EXPECT_NEAR(relative.rows[0].ratio.ratio, 1, 1e-12);
  EXPECT_NEAR(relative.rows[0].a, 2.02 / 4.02, 1e-12);
  ASSERT_EQ(relative.differences.size(), 1U);
  EXPECT_EQ(relative.differences[0].what, "machine");
  EXPECT_THROW(compare_micro(a, b, 0.02, "stik"), Error);
}

TEST(MicroComparison, TellsWhatIsMissing) {
  const MicroRun a = read(file_of("h", entry_of("one", 2) + "," + entry_of("two", 5)));
  const MicroRun b = read(file_of("h", entry_of("two", 5) + "," + entry_of("three", 5)));
  const MicroComparison comparison = compare_micro(a, b, 0.02);
  EXPECT_THAT(comparison.only_a, ElementsAre("one"));
  EXPECT_THAT(comparison.only_b, ElementsAre("three"));
  EXPECT_THAT(write_markdown(comparison), HasSubstr("| A | one |"));
  EXPECT_THROW(compare_micro(a, read(file_of("h", entry_of("x", 1))), 0.02), Error);
}

}  // namespace
}  // namespace emplace::bench::micro_comparison_test
