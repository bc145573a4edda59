// A comparison of runs as aligned text and as Markdown: the same tables, laid out twice.

#include "comparison_text.hpp"

#include <emplace/base/counted.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace emplace::bench {
namespace {

using Align = TextTable::Align;

const std::string kDash = "-";

// Graphs that are named in a row; the others are counted.
constexpr std::size_t kNamedGraphs = 3;

std::string p_text(const std::optional<Significance>& significance) {
  return significance ? fmt::format("{:.2g}", significance->p) : kDash;
}

std::string named(const std::vector<std::string>& graphs) {
  std::string text;
  for (std::size_t i = 0; i < std::min(graphs.size(), kNamedGraphs); ++i) {
    text += (i > 0 ? ", " : "") + graphs[i];
  }
  return graphs.size() > kNamedGraphs
             ? fmt::format("{} and {} more", text, graphs.size() - kNamedGraphs)
             : text;
}

TextTable layout(const std::vector<MissingResults>& missing) {
  TextTable table({{"only in"}, {"agent"}, {"cluster"}, {"graphs", Align::kLeft, 1}});
  for (const MissingResults& each : missing) {
    table.add_row({each.in_a ? "A" : "B", each.agent, each.cluster, named(each.graphs)});
  }
  return table;
}

TextTable layout(const std::vector<AgentComparison>& agents) {
  TextTable table({{"agent"},
                   {"cluster"},
                   {"graphs", Align::kRight, 1},
                   {"only A fits", Align::kRight, 5},
                   {"only B fits", Align::kRight, 5},
                   {"B / A", Align::kRight},
                   {"95 % interval", Align::kRight, 2},
                   {"faster", Align::kRight, 4},
                   {"slower", Align::kRight, 4},
                   {"p", Align::kRight, 3},
                   {"verdict", Align::kLeft, 1}});
  for (const AgentComparison& row : agents) {
    std::vector<std::string> cells = {row.agent, row.cluster,
                                      fmt::format("{}", row.pairs ? row.pairs->pairs : 0),
                                      fmt::format("{}", row.only_a), fmt::format("{}", row.only_b)};
    if (row.pairs) {
      cells.push_back(ratio_text(row.pairs->ratio));
      cells.push_back(interval_text(*row.pairs));
      cells.push_back(fmt::format("{}", row.pairs->less));
      cells.push_back(fmt::format("{}", row.pairs->greater));
    }
    cells.resize(9, kDash);
    cells.push_back(p_text(row.significance));
    cells.emplace_back(to_string(row.verdict));
    table.add_row(std::move(cells), row.verdict != Verdict::kUnsure);
  }
  return table;
}

std::string step_text(const ComparedResult& result) {
  return result.step_time_us        ? fmt::format("{:.2f}", *result.step_time_us / 1e3)
         : result.out_of_memory > 0 ? "out of memory"
                                    : "failed";
}

std::string count_text(const ComparedResult& result) {
  const double evaluations = result.evaluations_to_near_best.value_or(0);
  return evaluations > 0 ? fmt::format("{:.0f}", evaluations) : kDash;
}

// "A: 2 of 5 out of memory"
void add_losses(std::string& note, std::string_view run, const ComparedResult& result) {
  const auto add = [&](std::int64_t count, std::string_view what) {
    if (count > 0 && result.step_time_us) {
      note += fmt::format("{}{}: {} of {} {}", note.empty() ? "" : ", ", run, count,
                          result.repetitions, what);
    }
  };
  add(result.out_of_memory, "out of memory");
  add(result.failed, "failed");
}

std::string note_of(const GraphComparison& row) {
  std::string note(to_string(row.verdict));
  if (!row.same_costs) {
    note += "costs differ";
  }
  add_losses(note, "A", row.a);
  add_losses(note, "B", row.b);
  return note;
}

TextTable layout(const std::vector<GraphComparison>& graphs) {
  TextTable table({{"graph"},
                   {"cluster"},
                   {"agent"},
                   {"A [ms]", Align::kRight},
                   {"B [ms]", Align::kRight},
                   {"repetitions", Align::kRight, 5},
                   {"B / A", Align::kRight},
                   {"95 % interval", Align::kRight, 2},
                   {"p", Align::kRight, 3},
                   {"A to within 2 %", Align::kRight, 6},
                   {"B to within 2 %", Align::kRight, 6},
                   {"verdict", Align::kLeft, 1}});
  for (const GraphComparison& row : graphs) {
    if (row.identical) {
      continue;
    }
    table.add_row({row.graph, row.cluster, row.agent, step_text(row.a), step_text(row.b),
                   fmt::format("{}, {}", row.a.repetitions, row.b.repetitions),
                   row.ratio ? ratio_text(row.ratio->ratio) : kDash,
                   row.exact   ? "exact"
                   : row.ratio ? interval_text(row.ratio->interval)
                               : kDash,
                   p_text(row.significance), count_text(row.a), count_text(row.b), note_of(row)},
                  row.verdict != Verdict::kUnsure);
  }
  return table;
}

std::string title_of(std::string_view name, const ComparedRun& run, const TableForm& form) {
  return fmt::format("{}: {}, {} of {}", name, escaped(run.suite, form), run.cells_finished,
                     counted(run.cells_total, "cell"));
}

constexpr std::string_view kLegendOfAgents =
    "\nOver graphs: B / A: geometric mean of the ratios of median step times, over the graphs on "
    "which both runs have one, with the interval of Student's paired t on logarithms, of two "
    "graphs with both ratios; only A fits, only B fits: graphs on which the other is out of memory "
    "or failed; faster, slower: graphs on which B is; p: Wilcoxon's signed-rank test, two-sided, "
    "with Holm's correction over all agents and clusters.\n";
constexpr std::string_view kLegendOfGraphs =
    "By graph: A, B: median step time over repetitions; B / A: median of the ratios of all "
    "repetitions of B and A (Hodges and Lehmann), with the interval of that estimate, which needs "
    "enough repetitions, such as four of each, or exact for deterministic agents; p: U test, "
    "two-sided, in which a repetition without a placement that fits is the slowest, with Holm's "
    "correction over all rows; to within 2 %: evaluations until the agent had a placement at most "
    "2 % slower than its own best.\n";
constexpr std::string_view kLegendOfVerdicts =
    "Verdict: differences beyond the threshold, significant at the 5 % level after Holm's "
    "correction.\n";

std::string write(const RunComparison& comparison, const TableForm& form) {
  const std::string_view end = form.markdown ? "\n\n" : "\n";
  std::string text = fmt::format("{}{}{}{}", title_of("A", comparison.a, form), end,
                                 title_of("B", comparison.b, form), end);
  text += verdicts_text(comparison.count(Verdict::kSlower), comparison.count(Verdict::kFaster),
                        comparison.threshold);
  text += differences_text(comparison.differences, form);
  if (!comparison.missing.empty()) {
    text += titled("Missing", layout(comparison.missing), form);
  }
  text += titled("Over graphs", layout(comparison.agents), form);
  const auto identical = std::ranges::count(comparison.graphs, true, &GraphComparison::identical);
  const auto total = static_cast<std::int64_t>(comparison.graphs.size());
  if (identical < total) {
    text += titled("By graph", layout(comparison.graphs), form);
  }
  text += fmt::format("\n{} of {} results by graph are the same in A and B, to the last bit{}.\n",
                      identical, total, identical > 0 ? ", and not listed" : "");
  text += kLegendOfAgents;
  text += identical < total ? kLegendOfGraphs : "";
  return text.append(kLegendOfVerdicts);
}

}  // namespace

std::string write_terminal(const RunComparison& comparison, bool color, std::size_t width) {
  return write(comparison, {.color = color, .width = width});
}

std::string write_markdown(const RunComparison& comparison) {
  return "# Comparison of A and B\n\n" + write(comparison, {.markdown = true});
}

}  // namespace emplace::bench
