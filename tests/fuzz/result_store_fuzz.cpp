// A folder of results: its manifest, on one line, and the lines of its cells. If they are those of
// a run, it is reported in all forms, exported, and compared with itself.

#include "fuzz_target.hpp"

#include <emplace/base/check.hpp>
#include <emplace/bench/report.hpp>
#include <emplace/bench/report_page.hpp>
#include <emplace/bench/result_store.hpp>
#include <emplace/bench/result_tables.hpp>
#include <emplace/bench/run_comparison.hpp>

#include <support/temporary_folder.hpp>

#include <fstream>
#include <string_view>

void emplace::fuzz::try_input(std::string_view input) {
  static const TemporaryFolder folder;
  const std::size_t line = input.find('\n');
  if (line == std::string_view::npos) {
    return;
  }
  std::ofstream(folder.path("manifest.json"), std::ios::binary) << input.substr(0, line);
  std::ofstream(folder.path("cells.jsonl"), std::ios::binary) << input.substr(line + 1);
  const bench::StoredRun run = bench::read_store(folder.path());
  const bench::Report report = bench::make_report(run);
  bench::write_terminal(report, true);
  bench::write_markdown(report);
  bench::write_json(report);
  bench::write_latex(report);
  bench::write_csv(report);
  bench::write_html(report, run, {});
  for (const bench::ResultTable& table : bench::result_tables()) {
    bench::write_csv(table, run);
  }
  const bench::RunComparison comparison = bench::compare_runs(run, run, 0.02);
  EMPLACE_CHECK(comparison.count(bench::Verdict::kSlower) == 0, "it is slower than itself");
  bench::write_terminal(comparison, false);
}
