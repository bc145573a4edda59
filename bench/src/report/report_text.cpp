// The report as aligned text and as Markdown: the same tables, laid out twice.

#include "comparison_text.hpp"
#include "report_columns.hpp"
#include "suite/units.hpp"

#include <emplace/base/counted.hpp>
#include <emplace/base/escape.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace emplace::bench {
namespace {

template <class Action>
void for_each_published(const Report& report, const Action& action) {
  for (const ReportTable& table : report.tables) {
    for (const ReportRow& row : table.rows) {
      if (row.published) {
        action(table, row);
      }
    }
  }
}

// Published figures are compared with these: agents, and "" for the fastest baseline.
std::vector<std::string> published_references(const Report& report) {
  std::vector<std::string> references;
  for_each_published(report, [&](const ReportTable&, const ReportRow& row) {
    for (const PublishedRatio& ratio : row.published_ratios) {
      if (std::ranges::find(references, ratio.reference) == references.end()) {
        references.push_back(ratio.reference);
      }
    }
  });
  return references;
}

std::string step_in_seconds(const ReportTable& /*table*/, const ReportRow& row) {
  return row.failed == row.repetitions ? "failed"
         : row.ok()                    ? fmt::format("{:.2f}", row.step_time_us / kUsPerS)
                                       : "out of memory";
}

// The step times of which there are published figures, and their ratios to those of references.
std::vector<ReportColumn> published_step_columns(const Report& report,
                                                 const std::vector<ReportColumn>& columns) {
  std::vector<ReportColumn> picked = pick(columns, {"graph", "cluster", "agent"});
  picked.push_back({.title = "step", .unit = "s", .text = step_in_seconds});
  picked.push_back(pick(columns, {"published_step_time_s"}).front());
  for (const std::string& reference : published_references(report)) {
    for (const auto share : {&PublishedRatio::ours, &PublishedRatio::published}) {
      const bool ours = share == &PublishedRatio::ours;
      picked.push_back(
          {.title = ours ? "/ " + (reference.empty() ? "baseline" : reference) : "published",
           .importance = 1,
           .text = [reference, share](const ReportTable&, const ReportRow& row) {
             const auto ratio =
                 std::ranges::find(row.published_ratios, reference, &PublishedRatio::reference);
             return ratio != row.published_ratios.end() && (*ratio).*share
                        ? fmt::format("{:.2f}", *((*ratio).*share))
                        : kNone;
           }});
    }
  }
  return picked;
}

std::string progress_of(const Report& report) {
  std::string text = fmt::format("{} of {}, seed {}", report.cells_finished,
                                 counted(report.cells_total, "cell"), report.root_seed);
  if (!report.shard.is_whole()) {
    text += fmt::format(", shard {} of a suite of {}", report.shard.text(),
                        counted(report.cells_suite, "cell"));
  }
  if (report.cells_failed > 0) {
    text += fmt::format(", {} failed", report.cells_failed);
  }
  return text;
}

template <class AnyColumn>
TextTable table_of(const std::vector<AnyColumn>& columns) {
  std::vector<TextTable::Column> heads;
  for (const AnyColumn& column : columns) {
    heads.push_back(
        {column.heading(),
         column.decimals == kTextColumn ? TextTable::Align::kLeft : TextTable::Align::kRight,
         column.importance});
  }
  return TextTable(std::move(heads));
}

template <class AnyColumn, class Table, class Row>
std::vector<std::string> cells_of(const std::vector<AnyColumn>& columns, const Table& table,
                                  const Row& row) {
  std::vector<std::string> cells;
  for (const AnyColumn& column : columns) {
    cells.push_back(column.text_of(table, row));
  }
  return cells;
}

// Writes a report in one form, and collects what the columns that it shows mean.
class ReportText {
 public:
  ReportText(const Report& report, const TableForm& form)
      : report_(report), form_(form), columns_(report_columns(report)) {}

  std::string write() {
    text_ = fmt::format("{}{}{}{}\n", form_.markdown ? "# " : "", escaped(report_.suite, form_),
                        form_.markdown ? "\n\n" : ": ", progress_of(report_));
    for (const FamilyTable& table : report_.families) {
      add(table);
    }
    bool has_graphs = false;
    for (const ReportTable& table : report_.tables) {
      // At a terminal, graphs of families are too many.
      if (form_.markdown || table.family.empty()) {
        has_graphs = true;
        add(table);
      }
      add_failures(table);
    }
    if (report_.published && has_graphs) {
      add(*report_.published);
    }
    text_ += legend_.empty() ? "" : "\n";
    for (const std::string& line : legend_) {
      text_ += (form_.markdown ? "- " : "  ") + escaped(line, form_) + '\n';
    }
    return text_;
  }

 private:
  void add(const ReportTable& table) {
    add_table(fmt::format("{} on {}{}, lower bound {:.1f} ms{}", table.graph, table.cluster,
                          table.groups > 0 ? ", " + counted(table.groups, "group") : "",
                          table.bound_us / kUsPerMs,
                          table.best_known_us ? fmt::format(", best known {:.1f} ms",
                                                            *table.best_known_us / kUsPerMs)
                                              : ""),
              pick(columns_,
                   {"mark", "agent", "step_time_us", "interval_us", "range_us", "speedup", "gap",
                    "above_best_known", "peak_bytes", "evaluations", "evaluations_to_near_best",
                    "episodes_to_near_best", "gain", "sampling_speedup", "evaluations_to_baseline",
                    "speedup_to_baseline", "wall_s", "note"}),
              table);
  }

  void add(const FamilyTable& table) {
    const bool all = table.family.empty();
    add_table(fmt::format("{} on {}, {}", all ? "all graphs" : table.family, table.cluster,
                          counted(table.graphs, all ? "graph" : "test graph")),
              family_columns(report_, table), table);
    std::vector<std::string> collapses;  // of agents that learned no more than single-gpu knows
    for (const FamilyRow& row : table.rows) {
      if (row.on_one_device > 0) {
        collapses.push_back(
            fmt::format("{} put all groups on one device, as single-gpu does: {} of {}", row.agent,
                        row.on_one_device, counted(table.graphs, "graph")));
      }
    }
    add_lines(collapses);
  }

  void add_failures(const ReportTable& table) {
    std::vector<std::string> failures;
    for (const ReportRow& row : table.rows) {
      if (row.failed > 0) {
        failures.push_back(fmt::format("{} failed: {}", row.agent, row.message));
      }
    }
    add_lines(failures);
  }

  void add(const Published& published) {
    add_title(fmt::format("Compared with {}{}", published.source,
                          published.recalled ? " (from memory, not checked against a copy)" : ""));
    add_published(published_step_columns(report_, columns_), [](const ReportRow&) { return true; });
    const auto is_counted = [](const ReportRow& row) {
      return row.published->evaluations.has_value();
    };
    bool any_counted = false;
    for_each_published(report_, [&](const ReportTable&, const ReportRow& row) {
      any_counted = any_counted || is_counted(row);
    });
    if (any_counted) {
      text_ += '\n';
      add_published(
          pick(columns_, {"graph", "cluster", "agent", "evaluations_to_near_best",
                          "evaluations_to_baseline", "published_evaluations", "sampling_speedup",
                          "speedup_to_baseline", "published_sampling_speedup"}),
          is_counted);
    }
    if (!published.comment.empty()) {
      text_ += (form_.markdown ? "\n" : "") + escaped(published.comment, form_) + '\n';
    }
  }

  // The rows with published figures that `has` accepts.
  template <class Predicate>
  void add_published(const std::vector<ReportColumn>& columns, const Predicate& has) {
    TextTable text = table_of(columns);
    for_each_published(report_, [&](const ReportTable& table, const ReportRow& row) {
      if (has(row)) {
        text.add_row(cells_of(columns, table, row));
      }
    });
    add_laid_out(columns, text);
  }

  // A table without the columns of which no row has anything.
  template <class AnyColumn, class Table>
  void add_table(const std::string& title, std::vector<AnyColumn> columns, const Table& table) {
    columns = with_content(std::move(columns), table);
    TextTable text = table_of(columns);
    for (const auto& row : table.rows) {
      text.add_row(cells_of(columns, table, row), is_best(table, row));
    }
    add_title(title);
    add_laid_out(columns, text);
  }

  template <class AnyColumn>
  void add_laid_out(const std::vector<AnyColumn>& columns, const TextTable& table) {
    text_ += written(table, form_);
    for (const std::size_t at : table.columns_within(form_.width)) {
      std::string line = columns[at].legend();
      if (!line.empty() && std::ranges::find(legend_, line) == legend_.end()) {
        legend_.push_back(std::move(line));
      }
    }
  }

  void add_title(const std::string& title) {
    text_ += fmt::format("\n{}{}\n{}", form_.markdown ? "## " : "", escaped(title, form_),
                         form_.markdown ? "\n" : "");
  }

  void add_lines(const std::vector<std::string>& lines) {
    const std::string_view fence = form_.markdown && !lines.empty() ? "```\n" : "";
    text_.append(fence.empty() ? "" : "\n").append(fence);
    for (const std::string& line : lines) {
      text_ += fmt::format("  {}\n", escape_terminal(line));
    }
    text_ += fence;
  }

  const Report& report_;
  const TableForm form_;
  const std::vector<ReportColumn> columns_;
  std::string text_;
  std::vector<std::string> legend_;
};

}  // namespace

std::string write_terminal(const Report& report, bool color, std::size_t width) {
  return ReportText(report, {.color = color, .width = width}).write();
}

std::string write_markdown(const Report& report) {
  return ReportText(report, {.markdown = true}).write();
}

}  // namespace emplace::bench
