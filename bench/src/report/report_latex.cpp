// The report as LaTeX, with the rules of booktabs: first the step times of all agents, side by
// side for a few graphs and clusters each, then a table of details for each of these, then the
// comparisons over graphs. The best step times are bold. A table that is wider than the text is
// made smaller.

#include <emplace/bench/median_interval.hpp>
#include <emplace/bench/report.hpp>
#include <emplace/graphs/counted.hpp>
#include <emplace/graphs/escape.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>

namespace emplace::bench {
namespace {

// Medians with intervals of so many problems fit side by side on a page of one column.
constexpr std::size_t kProblemsAbreast = 3;

constexpr std::string_view kLatexBlank = "--";

// Labels have no need to be read, only to be typed.
std::string label_of(std::string_view text) {
  std::string label(text);
  std::ranges::replace_if(
      label, [](char c) { return !((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == ':'); },
      '-');
  return label;
}

std::string bold_if(bool best, const std::string& text) {
  return best ? "\\textbf{\\boldmath " + text + "}" : text;
}

std::string join(std::span<const std::string> cells) {
  return fmt::format("{} \\\\\n", fmt::join(cells, " & "));
}

// `alignment` is that of the columns, `head` and `rows` are lines of the table.
std::string write_table(const std::string& caption, const std::string& label,
                        const std::string& alignment, const std::string& head,
                        const std::string& rows) {
  return fmt::format(
      "\\begin{{table}}[htbp]\n\\centering\\footnotesize\\setlength{{\\tabcolsep}}{{4pt}}"
      "\\setlength{{\\belowcaptionskip}}{{6pt}}\n\\caption{{{}}}\n\\label{{tab:{}}}\n"
      "\\resizebox{{\\ifdim\\width>\\linewidth\\linewidth\\else\\width\\fi}}{{!}}{{%\n"
      "\\begin{{tabular}}{{{}}}\n\\toprule\n{}\\midrule\n{}\\bottomrule\n\\end{{tabular}}}}\n"
      "\\end{{table}}\n\n",
      caption, label, alignment, head, rows);
}

// Four digits, in a unit that is the same for all of a problem.
struct Unit {
  std::string_view name;
  double us;
  int decimals;
};

Unit unit_of(const ReportTable& table) {
  constexpr double kSecond = 1e6;
  constexpr double kMillisecond = 1e3;
  const double least_us = table.rows.empty() ? 0 : table.rows.front().step_time_us;
  if (least_us >= kSecond) {
    return {"s", kSecond, 3};
  }
  return {"ms", kMillisecond,
          least_us >= 100 * kMillisecond  ? 1
          : least_us >= 10 * kMillisecond ? 2
                                          : 3};
}

std::string time_of(double time_us, const Unit& unit) {
  return fmt::format("{:.{}f}", time_us / unit.us, unit.decimals);
}

std::string interval_of(const ReportRow& row, const Unit& unit) {
  return row.interval_us && row.interval_us->first < row.interval_us->second
             ? fmt::format("[{}, {}]", time_of(row.interval_us->first, unit),
                           time_of(row.interval_us->second, unit))
             : "";
}

bool is_best(const ReportRow& row, const ReportTable& table) {
  return row.ok() && row.step_time_us == table.rows.front().step_time_us;
}

std::string step_of(const ReportRow& row, const ReportTable& table, const Unit& unit) {
  if (row.failed == row.repetitions) {
    return "failed";
  }
  // Some repetitions may have overflowed where others did not.
  const std::string mark = row.out_of_memory > 0 ? "$^\\dagger$" : "";
  return row.ok() ? bold_if(is_best(row, table), time_of(row.step_time_us, unit)) + mark : "OOM";
}

std::string latex_count(const std::optional<double>& value) {
  const double count = value.value_or(0);
  return count > 0 ? fmt::format("{:.0f}", count) : std::string(kLatexBlank);
}

std::string latex_percent(const std::optional<double>& share) {
  return share ? fmt::format("{:.1f}", *share * 100) : std::string(kLatexBlank);
}

std::string latex_percent_more(double ratio) { return fmt::format("${:+.1f}$", (ratio - 1) * 100); }

// --- The step times of all agents

std::string write_overview(const Report& report, std::span<const ReportTable* const> tables,
                           std::size_t part) {
  std::vector<std::string> graphs = {""};
  std::vector<std::string> clusters = {"agent"};
  std::string alignment = "l";
  const bool with_intervals = any_interval(report);
  const std::string_view heading =
      with_intervals ? "\\multicolumn{{2}}{{c}}{{{}}}" : "\\multicolumn{{1}}{{c}}{{{}}}";
  for (const ReportTable* const table : tables) {
    graphs.push_back(fmt::format(fmt::runtime(heading), escape_latex(table->graph)));
    clusters.push_back(
        fmt::format(fmt::runtime(heading),
                    fmt::format("{} [{}]", escape_latex(table->cluster), unit_of(*table).name)));
    alignment += with_intervals ? "rl" : "r";
  }
  std::string rows;
  for (const std::string& agent : report.agents) {
    std::vector<std::string> cells = {escape_latex(agent)};
    for (const ReportTable* const table : tables) {
      const auto row = std::ranges::find(table->rows, agent, &ReportRow::agent);
      const bool found = row != table->rows.end();
      const Unit unit = unit_of(*table);
      cells.push_back(found ? step_of(*row, *table, unit) : std::string(kLatexBlank));
      if (with_intervals) {
        cells.push_back(found ? "{\\scriptsize " + interval_of(*row, unit) + "}" : "");
      }
    }
    rows += join(cells);
  }
  return write_table(
      fmt::format("Step times of the suite {}: medians over repetitions{}. Bold: the fastest. OOM: "
                  "out of memory; $^\\dagger$: some repetitions were.",
                  escape_latex(report.suite),
                  with_intervals ? fmt::format(", with intervals of at least {:.0f}\\,\\% coverage "
                                               "where there are five or more",
                                               kMedianCoverage * 100)
                                 : ""),
      label_of(fmt::format("{}:{}", report.suite, part)), alignment, join(graphs) + join(clusters),
      rows);
}

std::string write_overviews(const Report& report) {
  std::vector<const ReportTable*> tables;
  for (const ReportTable& table : report.tables) {
    if (table.family.empty()) {
      tables.push_back(&table);
    }
  }
  std::string text;
  for (std::size_t first = 0; first < tables.size(); first += kProblemsAbreast) {
    const std::size_t count = std::min(kProblemsAbreast, tables.size() - first);
    text += write_overview(report, std::span(tables).subspan(first, count),
                           first / kProblemsAbreast + 1);
  }
  return text;
}

// --- The details of one problem

std::string write_details(const ReportTable& table, const Report& report) {
  const Unit unit = unit_of(table);
  const bool with_baseline = !report.baselines.empty();
  const bool with_published = std::ranges::any_of(
      table.rows, [](const ReportRow& row) { return row.published.has_value(); });
  const bool with_intervals = any_interval(report);
  std::vector<std::string> head = {"agent", fmt::format("step [{}]", unit.name)};
  std::string alignment = "lr";
  if (with_intervals) {
    head.emplace_back("interval");
    alignment += 'l';
  }
  head.insert(head.end(), {"speed-up", "gap [\\%]", "to 2\\,\\%"});
  alignment += "rrr";
  if (with_baseline) {
    head.insert(head.end(), {"gain [\\%]", "to baseline"});
    alignment += "rr";
  }
  if (with_published) {
    head.emplace_back("published [s]");
    alignment += 'r';
  }
  std::string rows;
  for (const ReportRow& row : table.rows) {
    std::vector<std::string> cells = {escape_latex(row.agent), step_of(row, table, unit)};
    if (with_intervals) {
      cells.push_back(interval_of(row, unit));
    }
    cells.push_back(row.speedup > 0 ? fmt::format("{:.2f}", row.speedup)
                                    : std::string(kLatexBlank));
    cells.push_back(row.ok() ? latex_percent(row.gap) : std::string(kLatexBlank));
    cells.push_back(latex_count(row.evaluations_to_near_best));
    if (with_baseline) {
      cells.push_back(latex_percent(row.against_baseline.gain));
      cells.push_back(latex_count(row.against_baseline.evaluations_to_baseline));
    }
    if (with_published) {
      cells.push_back(!row.published ? ""
                      : row.published->step_time_s
                          ? fmt::format("{:.2f}", *row.published->step_time_s)
                          : "OOM");
    }
    rows += join(cells);
  }
  std::string caption = fmt::format(
      "{} on {}. Speed-up: over one GPU; gap: above the lower bound of {} {}; to 2\\,\\%: "
      "evaluations until at most 2\\,\\% slower than the agent's own best",
      escape_latex(table.graph), escape_latex(table.cluster), time_of(table.bound_us, unit),
      unit.name);
  if (with_baseline) {
    caption += fmt::format(
        "; gain and to baseline: how much shorter than the fastest of {}, and "
        "evaluations until as fast as it",
        escape_latex(fmt::format("{}", fmt::join(report.baselines, ", "))));
  }
  if (report.published && with_published) {
    caption += "; published: " + escape_latex(report.published->source) +
               (report.published->recalled ? ", not checked against a copy" : "");
  }
  return write_table(caption + ".",
                     label_of(fmt::format("{}:{}:{}", report.suite, table.graph, table.cluster)),
                     alignment, join(head), rows);
}

// --- Comparisons over graphs

std::string write_family(const FamilyTable& table, const Report& report) {
  const bool with_common = 0 < table.common_graphs && table.common_graphs < table.graphs;
  std::vector<std::string> head = {"agent", "graphs", "over best [\\%]"};
  std::string alignment = "lrr";
  if (with_common) {
    head.push_back(fmt::format("on {} common", table.common_graphs));
    alignment += 'r';
  }
  if (table.is_compared()) {
    head.insert(head.end(), {"over ref.\\ [\\%]", "95\\,\\% interval", "faster/slower", "$p$"});
    alignment += "rrrr";
  }
  std::string rows;
  const std::optional<FamilyMeans>& best = table.rows.front().all;
  for (const FamilyRow& row : table.rows) {
    std::vector<std::string> cells = {escape_latex(row.agent), fmt::format("{}", row.graphs),
                                      row.all
                                          ? bold_if(best && row.all->over_best == best->over_best,
                                                    latex_percent_more(row.all->over_best))
                                          : std::string(kLatexBlank)};
    if (with_common) {
      cells.push_back(row.common ? latex_percent_more(row.common->over_best)
                                 : std::string(kLatexBlank));
    }
    if (const auto& pairs = row.against_reference) {
      cells.push_back(latex_percent_more(pairs->ratio));
      cells.push_back(pairs->interval
                          ? fmt::format("[{}, {}]", latex_percent_more(pairs->interval->first),
                                        latex_percent_more(pairs->interval->second))
                          : std::string(kLatexBlank));
      cells.push_back(fmt::format("{}/{}", pairs->less, pairs->greater));
      cells.push_back(row.corrected_p < 0.001 ? "$<$0.001"
                                              : fmt::format("{:.3f}", row.corrected_p));
    }
    cells.resize(head.size(), std::string(kLatexBlank));
    rows += join(cells);
  }
  const std::string family = table.family.empty() ? "All graphs" : escape_latex(table.family);
  std::string caption = fmt::format(
      "{} on {}, {}. Over best: geometric mean over graphs of the step time over that of the "
      "fastest agent",
      family, escape_latex(table.cluster), counted(table.graphs, "graph"));
  if (table.is_compared()) {
    caption += fmt::format(
        "; over ref.: the same over {}, in pairs, with Student's interval; $p$ of Wilcoxon's "
        "signed-rank test of these, with Holm's correction",
        escape_latex(table.reference.empty()
                         ? fmt::format("the fastest of {}", fmt::join(report.baselines, ", "))
                         : table.reference));
  }
  return write_table(
      caption + ".",
      label_of(fmt::format("{}:{}:{}", report.suite, table.family.empty() ? "all" : table.family,
                           table.cluster)),
      alignment, join(head), rows);
}

}  // namespace

std::string write_latex(const Report& report) {
  std::string text =
      fmt::format("% Suite {}, seed {}, {} of {}{}. Needs \\usepackage{{booktabs,graphicx}}.\n\n",
                  escape_latex(report.suite), report.root_seed, report.cells_finished,
                  counted(report.cells_total, "cell"),
                  report.shard.is_whole() ? "" : ", shard " + report.shard.text());
  text += write_overviews(report);
  for (const ReportTable& table : report.tables) {
    if (table.family.empty()) {
      text += write_details(table, report);
    }
  }
  for (const FamilyTable& table : report.families) {
    text += write_family(table, report);
  }
  return text;
}

}  // namespace emplace::bench
