// The report as LaTeX, with the rules of booktabs: first the step times of all agents, side by
// side for a few graphs and clusters each, then a table of details for each of these, then the
// comparisons over graphs. The best step times are bold. A table that is wider than the text is
// made smaller.

#include "report_columns.hpp"

#include <emplace/base/counted.hpp>
#include <emplace/base/escape.hpp>
#include <emplace/bench/median_interval.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <sstream>
#include <string>
#include <vector>

namespace emplace::bench {
namespace {

// Medians with intervals of so many problems fit side by side on a page of one column.
constexpr std::size_t kProblemsAbreast = 3;

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

// Four digits, in a unit that is the same in all tables: seconds if all problems take that long.
struct Unit {
  std::string_view name;
  double us;
  int decimals;
};

// 0 where no placement fits.
double least_us_of(const ReportTable& table) {
  return !table.rows.empty() && table.rows.front().ok() ? table.rows.front().step_time_us : 0;
}

Unit unit_of(const ReportTable& table, const Report& report) {
  constexpr double kSecond = 1e6;
  constexpr double kMillisecond = 1e3;
  if (std::ranges::all_of(
          report.tables, [](double us) { return us == 0 || us >= kSecond; }, least_us_of)) {
    return {"s", kSecond, 3};
  }
  const double least_us = least_us_of(table);
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

std::string step_of(const ReportRow& row, const ReportTable& table, const Unit& unit) {
  if (row.failed == row.repetitions) {
    return "failed";
  }
  // Some repetitions may have overflowed where others did not.
  const std::string mark = row.out_of_memory > 0 ? "$^\\dagger$" : "";
  return row.ok() ? bold_if(is_best(table, row), time_of(row.step_time_us, unit)) + mark : "OOM";
}

// Returns what tables show of a row, with signs as long as those of formulas.
template <class AnyColumn>
std::string latex_text(const AnyColumn& column, const typename AnyColumn::Table& table,
                       const typename AnyColumn::Row& row) {
  const std::string text = column.text_of(table, row);
  if (column.decimals == kTextColumn) {
    return escape_latex(text);
  }
  if (text == kNone) {
    return "--";
  }
  std::string latex;
  std::istringstream words(text);
  for (std::string part; std::getline(words, part, ' ');) {
    latex += (latex.empty() ? "" : " ") +
             (part[0] == '+' || part[0] == '-' ? "$" + part + "$" : escape_latex(part));
  }
  return latex;
}

// Returns columns as a table; the caption begins with `title` and has what
// they mean. `cell_of` returns the text of a column and row.
template <class AnyColumn, class Cell>
std::string write_columns(const std::vector<AnyColumn>& columns,
                          const typename AnyColumn::Table& table, const std::string& title,
                          const std::string& label, const Cell& cell_of) {
  std::string alignment;
  std::vector<std::string> heads;
  std::vector<std::string> meanings;
  for (const AnyColumn& column : columns) {
    alignment += column.decimals == kTextColumn ? 'l' : 'r';
    heads.push_back(escape_latex(column.heading()));
    if (std::string meaning = column.legend(); !meaning.empty()) {
      meanings.push_back(escape_latex(meaning));
    }
  }
  std::string rows;
  for (const auto& row : table.rows) {
    std::vector<std::string> cells;
    cells.reserve(columns.size());
    for (const AnyColumn& column : columns) {
      cells.push_back(cell_of(column, row));
    }
    rows += join(cells);
  }
  return write_table(fmt::format("{}. {}.", title, fmt::join(meanings, "; ")), label, alignment,
                     join(heads), rows);
}

// --- The step times of all agents

std::string write_overview(const Report& report, std::span<const ReportTable* const> tables,
                           std::size_t part) {
  std::vector<std::string> graphs = {""};
  std::vector<std::string> clusters = {"agent"};
  std::string alignment = "l";
  const bool with_intervals =
      std::ranges::any_of(tables, [](const ReportTable* table) { return any_interval(*table); });
  const std::string_view heading =
      with_intervals ? "\\multicolumn{{2}}{{c}}{{{}}}" : "\\multicolumn{{1}}{{c}}{{{}}}";
  for (const ReportTable* const table : tables) {
    graphs.push_back(fmt::format(fmt::runtime(heading), escape_latex(table->graph)));
    clusters.push_back(fmt::format(
        fmt::runtime(heading),
        fmt::format("{} [{}]", escape_latex(table->cluster), unit_of(*table, report).name)));
    alignment += with_intervals ? "rl" : "r";
  }
  std::string rows;
  for (const std::string& agent : report.agents) {
    std::vector<std::string> cells = {escape_latex(agent)};
    for (const ReportTable* const table : tables) {
      const auto row = std::ranges::find(table->rows, agent, &ReportRow::agent);
      const bool found = row != table->rows.end();
      const Unit unit = unit_of(*table, report);
      cells.push_back(found ? step_of(*row, *table, unit) : "--");
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
  const Unit unit = unit_of(table, report);
  std::vector<ReportColumn> columns = with_content(
      pick(report_columns(report),
           {"agent", "step_time_us", "interval_us", "speedup", "gap", "evaluations_to_near_best",
            "gain", "evaluations_to_baseline", "published_step_time_s"}),
      table);
  const auto step = std::ranges::find(columns, "step_time_us", &ReportColumn::id);
  if (step != columns.end()) {
    step->unit = unit.name;
  }
  std::string title =
      fmt::format("{} on {}, lower bound {} {}", escape_latex(table.graph),
                  escape_latex(table.cluster), time_of(table.bound_us, unit), unit.name);
  if (report.published && columns.back().id == "published_step_time_s") {
    title += fmt::format(", published figures of {}{}", escape_latex(report.published->source),
                         report.published->recalled ? ", not checked against a copy" : "");
  }
  return write_columns(columns, table, title,
                       label_of(fmt::format("{}:{}:{}", report.suite, table.graph, table.cluster)),
                       [&](const ReportColumn& column, const ReportRow& row) {
                         return column.id == "step_time_us"  ? step_of(row, table, unit)
                                : column.id == "interval_us" ? interval_of(row, unit)
                                                             : latex_text(column, table, row);
                       });
}

// --- Comparisons over graphs

std::string write_family(const FamilyTable& table, const Report& report) {
  const std::string family = table.family.empty() ? "all" : table.family;
  return write_columns(
      with_content(pick(family_columns(report, table),
                        {"agent", "graphs", "over_best", "over_best_on_common", "over_reference",
                         "interval", "faster", "slower", "corrected_p"}),
                   table),
      table,
      fmt::format("{} on {}, {}", table.family.empty() ? "All graphs" : escape_latex(family),
                  escape_latex(table.cluster), counted(table.graphs, "graph")),
      label_of(fmt::format("{}:{}:{}", report.suite, family, table.cluster)),
      [&](const FamilyColumn& column, const FamilyRow& row) {
        return bold_if(column.id == "over_best" && is_best(table, row),
                       latex_text(column, table, row));
      });
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
