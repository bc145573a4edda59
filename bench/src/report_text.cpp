// The report as aligned text and as Markdown: the same tables, laid out twice.

#include <emplace/bench/report.hpp>
#include <emplace/bench/text_table.hpp>

#include <fmt/format.h>

namespace emplace::bench {
namespace {

using Align = TextTable::Align;

std::string range_of(const ReportRow& row) {
  if (row.least_us == row.largest_us) {
    return "";
  }
  return fmt::format("{:.1f} .. {:.1f}", row.least_us / 1e3, row.largest_us / 1e3);
}

std::string note_of(const ReportRow& row) {
  if (row.failed == row.repetitions) {
    return "failed";
  }
  if (row.out_of_memory == row.repetitions) {
    return "out of memory";
  }
  std::string note;
  if (row.out_of_memory > 0) {
    note += fmt::format("{} of {} out of memory", row.out_of_memory, row.repetitions);
  }
  if (row.failed > 0) {
    note += fmt::format("{}{} of {} failed", note.empty() ? "" : ", ", row.failed, row.repetitions);
  }
  return note;
}

TextTable layout(const ReportTable& table) {
  TextTable text({{"", Align::kLeft},
                  {"agent", Align::kLeft},
                  {"step [ms]", Align::kRight},
                  {"least .. largest", Align::kRight},
                  {"speed-up", Align::kRight},
                  {"gap [%]", Align::kRight},
                  {"peak [GB]", Align::kRight},
                  {"simulations", Align::kRight},
                  {"search [s]", Align::kRight},
                  {"note", Align::kLeft}});
  for (const ReportRow& row : table.rows) {
    const bool best = row.ok() && row.step_time_us == table.rows.front().step_time_us;
    const std::string blank = "-";
    text.add_row(
        {best ? "*" : "", row.agent,
         row.ok() ? fmt::format("{:.1f}", row.step_time_us / 1e3) : blank, range_of(row),
         row.speedup > 0 ? fmt::format("{:.2f}", row.speedup) : blank,
         row.ok() ? fmt::format("{:.1f}", row.gap * 100) : blank,
         row.failed < row.repetitions
             ? fmt::format("{:.2f}", static_cast<double>(row.peak_bytes) / 1e9)
             : blank,
         fmt::format("{:.0f}", row.evaluations), fmt::format("{:.2f}", row.wall_s), note_of(row)},
        best);
  }
  return text;
}

std::string title_of(const ReportTable& table) {
  return without_control_characters(fmt::format("{} on {}", table.graph, table.cluster));
}

std::string progress_of(const Report& report) {
  std::string text = fmt::format("{} of {} cells, seed {}", report.cells_finished,
                                 report.cells_total, report.root_seed);
  if (report.cells_failed > 0) {
    text += fmt::format(", {} failed", report.cells_failed);
  }
  return text;
}

// What the columns mean, once for all tables.
constexpr std::string_view kLegend =
    "step: simulated time of one step, median over repetitions; speed-up: over single-gpu; gap: "
    "above "
    "the lower bound;\npeak: fullest device; simulations and search: what the agent used, median. "
    "* marks the fastest.\n";

std::string failures_of(const ReportTable& table) {
  std::string text;
  for (const ReportRow& row : table.rows) {
    if (row.failed > 0) {
      text += fmt::format("  {} failed: {}\n", row.agent, without_control_characters(row.message));
    }
  }
  return text;
}

}  // namespace

std::string write_terminal(const Report& report, bool color) {
  std::string text = fmt::format("{}: {}\n", report.suite, progress_of(report));
  for (const ReportTable& table : report.tables) {
    text += fmt::format("\n{}, no placement is faster than {:.1f} ms\n", title_of(table),
                        table.bound_us / 1e3);
    text += layout(table).to_terminal(color) + failures_of(table);
  }
  if (!report.tables.empty()) {
    text += fmt::format("\n{}", kLegend);
  }
  return text;
}

std::string write_markdown(const Report& report) {
  std::string text = fmt::format("# {}\n\n{}\n", report.suite, progress_of(report));
  for (const ReportTable& table : report.tables) {
    text += fmt::format("\n## {}\n\nNo placement is faster than {:.1f} ms.\n\n", title_of(table),
                        table.bound_us / 1e3);
    text += layout(table).to_markdown();
    if (const std::string failures = failures_of(table); !failures.empty()) {
      text += "\n```\n" + failures + "```\n";
    }
  }
  if (!report.tables.empty()) {
    text += fmt::format("\n{}", kLegend);
  }
  return text;
}

}  // namespace emplace::bench
