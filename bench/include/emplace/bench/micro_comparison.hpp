#pragma once

// Compares two files of Google Benchmark (--benchmark_out=FILE --benchmark_repetitions=N), such as
// those of `emplace_micro` before and after a change. The repetitions of one benchmark in A and B
// are independent samples, as for Google Benchmark's own compare.py:
//
//     ratio = time of B / time of A, with its interval and U test (two_samples.hpp)
//
// The time compared is processor time, or real time for benchmarks that are timed by it (their
// names end in "/real_time" or "/manual_time"). Tests are corrected over all benchmarks
// (significance.hpp).
//
// Files of two machines can be compared through a benchmark of both, `yardstick`: all times are
// then divided by its median in the same file, which is taken as exact.

#include <emplace/bench/run_comparison.hpp>
#include <emplace/bench/significance.hpp>
#include <emplace/bench/two_samples.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace emplace::bench {

/// The repetitions of one benchmark.
struct MicroBenchmark {
  std::string name{};
  std::vector<double> times_ns{};  ///< of one iteration, by repetition
  std::int64_t failed = 0;         ///< repetitions that ended with an error
};

/// A file of Google Benchmark.
struct MicroRun {
  std::vector<std::pair<std::string, std::string>> machine{};  ///< facts of it and of the build
  std::vector<MicroBenchmark> benchmarks{};                    ///< in the order of the file
};

/// Reads a file of Google Benchmark in JSON; `source` names it in errors. Throws kFormat, also if
/// it has only aggregates and no times.
MicroRun read_micro_run(std::string_view text, const std::string& source);

/// Compares a benchmark of two files.
struct MicroRow {
  std::string name{};
  std::int64_t repetitions_a = 0;
  std::int64_t repetitions_b = 0;
  double a = 0;  ///< median: ns, or as a multiple of `yardstick`
  double b = 0;
  SampleRatio ratio{};
  Significance significance{};
};

/// The comparison of two files.
struct MicroComparison {
  double threshold = 0;
  std::string yardstick{};                     ///< empty: none
  std::vector<InputDifference> differences{};  ///< of machines and builds
  std::vector<std::string> only_a{};           ///< benchmarks for which only A has times
  std::vector<std::string> only_b{};
  std::vector<MicroRow> rows{};  ///< in the order of A

  /// Returns how many benchmarks have this verdict.
  std::int64_t count(Verdict verdict) const;
};

/// Compares two files, in multiples of the benchmark `yardstick` unless that is empty. Throws
/// kUnknownName if it is missing in a file, and kFormat if they have no benchmark in common.
MicroComparison compare_micro(const MicroRun& a, const MicroRun& b, double threshold,
                              const std::string& yardstick = {});

/// Returns the comparison for a terminal; `color` marks what is slower or faster.
std::string write_terminal(const MicroComparison& comparison, bool color);

/// Returns the same as Markdown.
std::string write_markdown(const MicroComparison& comparison);

/// Returns the comparison as one JSON object with schema_version.
std::string write_json(const MicroComparison& comparison);

}  // namespace emplace::bench
