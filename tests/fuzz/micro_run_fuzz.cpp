// A file of Google Benchmark, which is compared with itself if it is one.

#include "fuzz_target.hpp"

#include <emplace/bench/micro_comparison.hpp>
#include <emplace/graphs/check.hpp>

#include <string_view>

void emplace::fuzz::try_input(std::string_view text) {
  const bench::MicroRun run = bench::read_micro_run(text, "fuzz");
  const bench::MicroComparison comparison = bench::compare_micro(run, run, 0.02, "");
  EMPLACE_CHECK(comparison.count(bench::Verdict::kSlower) == 0, "it is slower than itself");
  bench::write_terminal(comparison, false);
  bench::write_json(comparison);
}
