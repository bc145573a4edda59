// The report as aligned text and as Markdown: the same tables, laid out twice.

#include <emplace/bench/report.hpp>
#include <emplace/bench/text_table.hpp>
#include <emplace/graphs/counted.hpp>
#include <emplace/graphs/escape.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace emplace::bench {
namespace {

using Align = TextTable::Align;

std::string range_of(double from_us, double to_us) {
  return from_us == to_us ? "" : fmt::format("{:.1f} .. {:.1f}", from_us / 1e3, to_us / 1e3);
}

// Where medians have intervals, these are shown instead of the least and the largest.
std::string range_of(const ReportRow& row, bool with_intervals) {
  if (!with_intervals) {
    return range_of(row.least_us, row.largest_us);
  }
  return row.interval_us ? range_of(row.interval_us->first, row.interval_us->second) : "";
}

// Agents that learn decide on fewer groups than there are.
bool decides_coarsely(const ReportRow& row, const ReportTable& table) {
  return row.failed < row.repetitions && row.decision_groups < table.groups;
}

std::string status_of(const ReportRow& row) {
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
  if (row.on_one_device > 0) {
    note += fmt::format("{}{}all on one device", note.empty() ? "" : ", ",
                        row.on_one_device < row.repetitions
                            ? fmt::format("{} of {} ", row.on_one_device, row.repetitions)
                            : "");
  }
  if (row.new_best) {
    note += note.empty() ? "new best" : ", new best";
  }
  if (row.within_uncertainty()) {
    note += fmt::format("{}within uncertainty: slower in {:.0f} % of draws",
                        note.empty() ? "" : ", ", 100 * row.slower_share.value_or(0));
  }
  return note;
}

std::string note_of(const ReportRow& row, const ReportTable& table) {
  const std::string status = status_of(row);
  return decides_coarsely(row, table) ? fmt::format("{}{}{}", counted(row.decision_groups, "group"),
                                                    status.empty() ? "" : ", ", status)
                                      : status;
}

const std::string kBlank = "-";

// An agent that evaluates nothing has no count.
std::string count_of(const std::optional<double>& value) {
  const double count = value.value_or(0);
  return count > 0 ? fmt::format("{:.0f}", count) : kBlank;
}

std::string count_of(const std::optional<std::int64_t>& value) {
  return value ? fmt::format("{}", *value) : kBlank;
}

// 0.035 is 3.5 %.
std::string percent_of(const std::optional<double>& share) {
  return share ? fmt::format("{:.1f}", *share * 100) : kBlank;
}

std::string factor_of(const std::optional<double>& factor) {
  return factor ? fmt::format("{:.2f}", *factor) : kBlank;
}

template <class Predicate>
bool any_row(const Report& report, Predicate predicate) {
  return std::ranges::any_of(report.tables, [&](const ReportTable& table) {
    return std::ranges::any_of(table.rows, predicate);
  });
}

TextTable layout(const ReportTable& table, const Report& report) {
  const bool with_best_known = table.best_known_us.has_value();
  const bool with_intervals = any_interval(report);
  const bool with_episodes =
      any_row(report, [](const ReportRow& row) { return row.episodes_to_near_best.has_value(); });
  const bool with_baseline = !report.baselines.empty();
  std::vector<TextTable::Column> columns = {
      {"", Align::kLeft},
      {"agent", Align::kLeft},
      {"step [ms]", Align::kRight},
      {with_intervals ? "90 % interval" : "least .. largest", Align::kRight},
      {"speed-up", Align::kRight},
      {"gap [%]", Align::kRight}};
  if (with_best_known) {
    columns.push_back({"above best known [%]", Align::kRight});
  }
  columns.push_back({"peak [GB]", Align::kRight});
  columns.push_back({"evaluations", Align::kRight});
  columns.push_back({"to within 2 %", Align::kRight});
  if (with_episodes) {
    columns.push_back({"episodes", Align::kRight});
  }
  if (with_baseline) {
    columns.push_back({"gain [%]", Align::kRight});
    columns.push_back({"sampling speed-up", Align::kRight});
    columns.push_back({"to baseline", Align::kRight});
    columns.push_back({"speed-up to it", Align::kRight});
  }
  columns.push_back({"search [s]", Align::kRight});
  columns.push_back({"note", Align::kLeft});

  TextTable text(std::move(columns));
  for (const ReportRow& row : table.rows) {
    const bool best = row.ok() && row.step_time_us == table.rows.front().step_time_us;
    std::vector<std::string> cells = {
        best ? "*" : "",
        row.agent,
        row.ok() ? fmt::format("{:.1f}", row.step_time_us / 1e3) : kBlank,
        range_of(row, with_intervals),
        row.speedup > 0 ? fmt::format("{:.2f}", row.speedup) : kBlank,
        row.ok() ? fmt::format("{:.1f}", row.gap * 100) : kBlank};
    if (with_best_known) {
      cells.push_back(percent_of(row.above_best_known));
    }
    cells.push_back(row.failed < row.repetitions
                        ? fmt::format("{:.2f}", static_cast<double>(row.peak_bytes) / 1e9)
                        : kBlank);
    cells.push_back(fmt::format("{:.0f}", row.evaluations));
    cells.push_back(count_of(row.evaluations_to_near_best));
    if (with_episodes) {
      cells.push_back(count_of(row.episodes_to_near_best));
    }
    if (with_baseline) {
      cells.push_back(percent_of(row.against_baseline.gain));
      cells.push_back(factor_of(row.against_baseline.sampling_speedup));
      cells.push_back(count_of(row.against_baseline.evaluations_to_baseline));
      cells.push_back(factor_of(row.against_baseline.speedup_to_baseline));
    }
    cells.push_back(fmt::format("{:.2f}", row.wall_s));
    cells.push_back(note_of(row, table));
    text.add_row(std::move(cells), best);
  }
  return text;
}

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

bool any_published_evaluations(const Report& report) {
  return any_row(report, [](const ReportRow& row) {
    return row.published && row.published->evaluations.has_value();
  });
}

std::string step_of(const std::optional<double>& step_time_s) {
  return step_time_s ? fmt::format("{:.2f}", *step_time_s) : "out of memory";
}

// The step times of which there are published figures, over all graphs and clusters.
TextTable layout_published_steps(const Report& report) {
  std::vector<TextTable::Column> columns = {{"graph", Align::kLeft},
                                            {"cluster", Align::kLeft},
                                            {"agent", Align::kLeft},
                                            {"step [s]", Align::kRight},
                                            {"published", Align::kRight}};
  for (const std::string& reference : published_references(report)) {
    columns.push_back(
        {fmt::format("/ {}", reference.empty() ? "baseline" : reference.c_str()), Align::kRight});
    columns.push_back({"published", Align::kRight});
  }
  TextTable text(std::move(columns));
  for_each_published(report, [&](const ReportTable& table, const ReportRow& row) {
    const std::optional<double> step_time_s =
        row.ok() ? std::optional(row.step_time_us / 1e6) : std::nullopt;
    const bool failed = row.failed == row.repetitions;
    std::vector<std::string> cells = {table.graph, table.cluster, row.agent,
                                      failed ? "failed" : step_of(step_time_s),
                                      step_of(row.published->step_time_s)};
    for (const std::string& reference : published_references(report)) {
      const auto ratio =
          std::ranges::find(row.published_ratios, reference, &PublishedRatio::reference);
      const bool found = ratio != row.published_ratios.end();
      cells.push_back(found ? factor_of(ratio->ours) : kBlank);
      cells.push_back(found ? factor_of(ratio->published) : kBlank);
    }
    text.add_row(std::move(cells));
  });
  return text;
}

// The same of evaluations, of agents that a publication counts them for.
TextTable layout_published_evaluations(const Report& report) {
  TextTable text({{"graph", Align::kLeft},
                  {"cluster", Align::kLeft},
                  {"agent", Align::kLeft},
                  {"to within 2 %", Align::kRight},
                  {"to baseline", Align::kRight},
                  {"published", Align::kRight},
                  {"sampling speed-up", Align::kRight},
                  {"speed-up to baseline", Align::kRight},
                  {"published", Align::kRight}});
  for_each_published(report, [&](const ReportTable& table, const ReportRow& row) {
    if (row.published->evaluations) {
      text.add_row({table.graph, table.cluster, row.agent, count_of(row.evaluations_to_near_best),
                    count_of(row.against_baseline.evaluations_to_baseline),
                    count_of(row.published->evaluations),
                    factor_of(row.against_baseline.sampling_speedup),
                    factor_of(row.against_baseline.speedup_to_baseline),
                    factor_of(row.published_against_baseline.sampling_speedup)});
    }
  });
  return text;
}

// Escapes text for the form of the report: escape_terminal or escape_markdown.
using Escape = std::string (*)(std::string_view);

std::string title_of(const Published& published, Escape escape) {
  return escape(
      fmt::format("Compared with {}{}", published.source,
                  published.recalled ? " (from memory, not checked against a copy)" : ""));
}

std::string title_of(const ReportTable& table, Escape escape) {
  return escape(fmt::format("{} on {}", table.graph, table.cluster));
}

std::string best_known_of(const ReportTable& table, fmt::format_string<double> format) {
  return table.best_known_us ? fmt::format(format, *table.best_known_us / 1e3) : "";
}

// Breaks a paragraph into lines of at most 120 bytes where it has blanks.
std::string filled(std::string_view paragraph) {
  constexpr std::size_t kColumns = 120;
  std::string text;
  while (paragraph.size() > kColumns) {
    std::size_t end = paragraph.rfind(' ', kColumns);
    if (end == std::string_view::npos) {
      end = std::min(paragraph.find(' '), paragraph.size());
    }
    text.append(paragraph.substr(0, end)) += '\n';
    paragraph.remove_prefix(std::min(end + 1, paragraph.size()));
  }
  return text.append(paragraph) + '\n';
}

std::string comment_of(const Published& published, Escape escape) {
  const std::string& comment = published.comment;
  return comment.empty() ? "" : filled(escape(comment));
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

bool any_best_known(const Report& report) {
  return std::ranges::any_of(
      report.tables, [](const ReportTable& table) { return table.best_known_us.has_value(); });
}

// What the columns mean, once for all tables.
std::string legend_of(const Report& report, Escape escape) {
  std::string text =
      "step: simulated time of one training step, median over repetitions; speed-up: over "
      "single-gpu; gap: (step - lower\nbound) / lower bound; peak: memory of the fullest device; "
      "evaluations and search: placements that the agent simulated\nand seconds that it took, "
      "medians; to within 2 %: evaluations until it had a placement at most 2 % slower than its\n"
      "own best";
  if (any_row(report, [](const ReportRow& row) { return row.episodes_to_near_best.has_value(); })) {
    text += ", and in the next column the same in episodes, of agents that learn";
  }
  text += ".";
  if (any_interval(report)) {
    text +=
        "\n90 % interval: of the median, from order statistics of five repetitions or more; those "
        "that ran out of memory or\nfailed are left out.";
  }
  if (std::ranges::any_of(report.tables, [](const ReportTable& table) {
        return std::ranges::any_of(
            table.rows, [&](const ReportRow& row) { return decides_coarsely(row, table); });
      })) {
    text += "\nN groups: the agent decided on N groups, each made of groups of the problem.";
  }
  if (any_row(report, [](const ReportRow& row) { return row.on_one_device > 0; })) {
    text +=
        "\nall on one device: the agent, which learns, put all groups there, as single-gpu does.";
  }
  if (!report.baselines.empty()) {
    text += fmt::format(
        "\ngain: how much shorter the step is than that of the fastest baseline ({});\n"
        "sampling speed-up: the evaluations to within 2 % of that baseline over those of the "
        "agent; to baseline:\nevaluations until a placement was as fast as that baseline in the "
        "end (its "
        "median), - if fewer than half of the\nrepetitions ever had one; speed-up to it: those of "
        "the baseline itself over these.",
        escape(fmt::format("{}", fmt::join(report.baselines, ", "))));
  }
  if (any_best_known(report)) {
    text +=
        "\nabove best known: (step - best known) / best known, of the best placement known "
        "(emplace "
        "list best-known);\nnew best: a repetition was faster than that.";
  }
  return text + " * marks the fastest.\n";
}

std::string failures_of(const ReportTable& table) {
  std::string text;
  for (const ReportRow& row : table.rows) {
    if (row.failed > 0) {
      text += fmt::format("  {} failed: {}\n", escape_terminal(row.agent),
                          escape_terminal(row.message));
    }
  }
  return text;
}

// 1.035 is 3.5 % more.
std::string percent_more(double ratio) { return fmt::format("{:+.1f}", (ratio - 1) * 100); }

std::string interval_of(const PairedComparison& pairs) {
  return pairs.interval
             ? percent_more(pairs.interval->first) + " .. " + percent_more(pairs.interval->second)
             : "-";
}

bool has_common(const FamilyTable& table) {
  return 0 < table.common_graphs && table.common_graphs < table.graphs;
}

TextTable layout(const FamilyTable& table) {
  std::vector<TextTable::Column> columns = {{"agent", Align::kLeft},
                                            {"graphs", Align::kRight},
                                            {"mean [ms]", Align::kRight},
                                            {"over best [%]", Align::kRight}};
  if (has_common(table)) {
    columns.push_back({"on common graphs [%]", Align::kRight});
  }
  if (table.is_compared()) {
    const std::string reference = table.reference.empty() ? "baseline" : table.reference;
    columns.insert(columns.end(), {{fmt::format("over {} [%]", reference), Align::kRight},
                                   {"95 % interval", Align::kRight},
                                   {"faster", Align::kRight},
                                   {"slower", Align::kRight},
                                   {"p", Align::kRight},
                                   {"corrected p", Align::kRight}});
  }
  const std::size_t num_columns = columns.size();
  TextTable text(std::move(columns));
  for (const FamilyRow& row : table.rows) {
    std::vector<std::string> cells = {
        row.agent, fmt::format("{}", row.graphs),
        row.all ? fmt::format("{:.1f}", row.all->mean_us / 1e3) : kBlank,
        row.all ? percent_more(row.all->over_best) : kBlank};
    if (has_common(table)) {
      cells.push_back(row.common ? percent_more(row.common->over_best) : kBlank);
    }
    if (const auto& pairs = row.against_reference) {
      cells.push_back(percent_more(pairs->ratio));
      cells.push_back(interval_of(*pairs));
      cells.push_back(fmt::format("{}", pairs->less));
      cells.push_back(fmt::format("{}", pairs->greater));
      cells.push_back(fmt::format("{:.2g}", pairs->p));
      cells.push_back(fmt::format("{:.2g}", row.corrected_p));
    }
    cells.resize(num_columns, kBlank);
    text.add_row(std::move(cells));
  }
  return text;
}

// Names the agents that learned no more than single-gpu knows.
std::string collapses_of(const FamilyTable& table) {
  std::string text;
  for (const FamilyRow& row : table.rows) {
    if (row.on_one_device > 0) {
      text += fmt::format("  {} put all groups on one device, as single-gpu does: {} of {}\n",
                          escape_terminal(row.agent), row.on_one_device,
                          counted(table.graphs, "graph"));
    }
  }
  return text;
}

std::string name_of(const FamilyTable& table) {
  return table.family.empty() ? "all graphs" : table.family;
}

std::string title_of(const FamilyTable& table, Escape escape) {
  return escape(fmt::format("{} on {}, {}", name_of(table), table.cluster,
                            counted(table.graphs, table.family.empty() ? "graph" : "test graph")));
}

std::string legend_of_families(const Report& report, Escape escape) {
  std::string text =
      "mean: of the step times over graphs, each a median over repetitions; over best: how much "
      "slower than the fastest\nagent on the same graph, geometric mean. Agents without a step "
      "time "
      "on some graphs have neither.\n";
  if (std::ranges::any_of(report.families, has_common)) {
    text +=
        "on common graphs: over best, on the graphs where every agent with any step time has "
        "one:\n";
    for (const FamilyTable& table : report.families) {
      if (has_common(table)) {
        text += escape(fmt::format("  {} on {}: {} of {}", name_of(table), table.cluster,
                                   table.common_graphs, counted(table.graphs, "graph"))) +
                "\n";
      }
    }
  }
  if (std::ranges::none_of(report.families, &FamilyTable::is_compared)) {
    return text;
  }
  return text +
         filled(fmt::format(
             "over {}: the same compared with {}, with the 95 % confidence interval of "
             "Student's paired t on logarithms; faster, slower: number of graphs on which "
             "the agent is; p: Wilcoxon's signed-rank test of these pairs, two-sided; "
             "corrected p: with Holm's correction over the agents of the table.",
             report.baselines.empty() ? "AGENT" : "baseline",
             report.baselines.empty()
                 ? "that agent on the same graph"
                 : fmt::format("the fastest of {}",
                               escape(fmt::format("{}", fmt::join(report.baselines, ", "))))));
}

}  // namespace

std::string write_terminal(const Report& report, bool color) {
  std::string text = fmt::format("{}: {}\n", escape_terminal(report.suite), progress_of(report));
  bool has_graphs = false;
  for (const ReportTable& table : report.tables) {
    if (!table.family.empty()) {
      text += failures_of(table);
      continue;
    }
    has_graphs = true;
    text += fmt::format("\n{}{}, lower bound {:.1f} ms{}\n", title_of(table, escape_terminal),
                        table.groups > 0 ? ", " + counted(table.groups, "group") : "",
                        table.bound_us / 1e3, best_known_of(table, ", best known {:.1f} ms"));
    text += layout(table, report).to_terminal(color) + failures_of(table);
  }
  if (report.published && has_graphs) {
    text += fmt::format("\n{}\n{}", title_of(*report.published, escape_terminal),
                        layout_published_steps(report).to_terminal(color));
    if (any_published_evaluations(report)) {
      text += "\n" + layout_published_evaluations(report).to_terminal(color);
    }
    text += comment_of(*report.published, escape_terminal);
  }
  if (has_graphs) {
    text += "\n" + legend_of(report, escape_terminal);
  }
  for (const FamilyTable& table : report.families) {
    text += fmt::format("\n{}\n{}{}", title_of(table, escape_terminal),
                        layout(table).to_terminal(color), collapses_of(table));
  }
  return text + (report.families.empty() ? "" : "\n" + legend_of_families(report, escape_terminal));
}

std::string write_markdown(const Report& report) {
  std::string text =
      fmt::format("# {}\n\n{}\n", escape_markdown(report.suite), progress_of(report));
  for (const FamilyTable& table : report.families) {
    text +=
        fmt::format("\n## {}\n\n{}", title_of(table, escape_markdown), layout(table).to_markdown());
    if (const std::string collapses = collapses_of(table); !collapses.empty()) {
      text += "\n```\n" + collapses + "```\n";
    }
  }
  if (!report.families.empty()) {
    text += "\n" + legend_of_families(report, escape_markdown);
  }
  for (const ReportTable& table : report.tables) {
    text +=
        fmt::format("\n## {}\n\n{}Lower bound: {:.1f} ms.{}\n\n", title_of(table, escape_markdown),
                    table.groups > 0 ? fmt::format("Groups: {}. ", table.groups) : "",
                    table.bound_us / 1e3, best_known_of(table, " Best known: {:.1f} ms."));
    text += layout(table, report).to_markdown();
    if (const std::string failures = failures_of(table); !failures.empty()) {
      text += "\n```\n" + failures + "```\n";
    }
  }
  if (report.tables.empty()) {
    return text;
  }
  if (report.published) {
    text += fmt::format("\n## {}\n\n{}\n", title_of(*report.published, escape_markdown),
                        layout_published_steps(report).to_markdown());
    if (any_published_evaluations(report)) {
      text += layout_published_evaluations(report).to_markdown() + "\n";
    }
    text += comment_of(*report.published, escape_markdown);
  }
  return text + "\n" + legend_of(report, escape_markdown);
}

}  // namespace emplace::bench
