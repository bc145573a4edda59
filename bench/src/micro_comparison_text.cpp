// A comparison of benchmarks as aligned text, as Markdown and as JSON.

#include "comparison_text.hpp"

#include <emplace/bench/micro_comparison.hpp>
#include <emplace/graphs/json.hpp>

#include <fmt/format.h>

#include <cmath>

namespace emplace::bench {
namespace {

using Align = TextTable::Align;
TextTable layout(const MicroComparison& comparison) {
  const std::string_view unit = comparison.yardstick.empty() ? " [ns]" : "";
  TextTable table({{"benchmark"},
                   {fmt::format("A{}", unit), Align::kRight},
                   {fmt::format("B{}", unit), Align::kRight},
                   {"repetitions", Align::kRight},
                   {"B / A", Align::kRight},
                   {"95 % interval", Align::kRight},
                   {"p", Align::kRight},
                   {"verdict"}});
  for (const MicroRow& row : comparison.rows) {
    const Verdict verdict = row.significance.verdict();
    table.add_row({row.name, fmt::format("{:.4g}", row.a), fmt::format("{:.4g}", row.b),
                   fmt::format("{}, {}", row.repetitions_a, row.repetitions_b),
                   ratio_text(row.ratio.ratio), interval_text(row.ratio.interval),
                   fmt::format("{:.2g}", row.significance.p), std::string(to_string(verdict))},
                  verdict != Verdict::kUnsure);
  }
  return table;
}

TextTable layout_missing(const MicroComparison& comparison) {
  TextTable table({{"only in"}, {"benchmark"}});
  for (const std::string& name : comparison.only_a) {
    table.add_row({"A", name});
  }
  for (const std::string& name : comparison.only_b) {
    table.add_row({"B", name});
  }
  return table;
}

std::string write(const MicroComparison& comparison, TableForm form) {
  std::string text = verdicts_text(comparison.count(Verdict::kSlower),
                                   comparison.count(Verdict::kFaster), comparison.threshold);
  text += differences_text(comparison.differences, form);
  if (!comparison.only_a.empty() || !comparison.only_b.empty()) {
    text += titled("Missing", layout_missing(comparison), form);
  }
  text += titled("Benchmarks", layout(comparison), form);
  text +=
      "\nA, B: time of one iteration, median over repetitions; B / A: median of the ratios of all "
      "repetitions of B and A\n(Hodges and Lehmann), with the interval of that estimate, which "
      "needs enough repetitions, such as four of each; p: U\ntest, two-sided, with Holm's "
      "correction over all benchmarks.";
  if (!comparison.yardstick.empty()) {
    text += fmt::format("\nAll times are multiples of the median of {} in the same file.",
                        escaped(comparison.yardstick, form));
  }
  return text + "\n";
}

}  // namespace

std::string write_terminal(const MicroComparison& comparison, bool color) {
  return write(comparison, color ? TableForm::kColored : TableForm::kPlain);
}

std::string write_markdown(const MicroComparison& comparison) {
  return "# Benchmarks of A and B\n\n" + write(comparison, TableForm::kMarkdown);
}

std::string write_json(const MicroComparison& comparison) {
  Json rows = Json::array();
  for (const MicroRow& row : comparison.rows) {
    rows.push_back({{"benchmark", row.name},
                    {"a", row.a},
                    {"b", row.b},
                    {"repetitions_a", row.repetitions_a},
                    {"repetitions_b", row.repetitions_b},
                    {"ratio", row.ratio.ratio},
                    {"interval", interval_json(row.ratio.interval)},
                    {"significance", to_json(row.significance)},
                    {"verdict", to_json(row.significance.verdict())}});
  }
  const Json json = {
      {"schema_version", 1},
      {"threshold", comparison.threshold},
      {"slower", comparison.count(Verdict::kSlower)},
      {"faster", comparison.count(Verdict::kFaster)},
      {"yardstick", comparison.yardstick.empty() ? Json(nullptr) : Json(comparison.yardstick)},
      {"differences", to_json(comparison.differences)},
      {"only_a", comparison.only_a},
      {"only_b", comparison.only_b},
      {"benchmarks", std::move(rows)}};
  return json.indented(2) + "\n";
}

}  // namespace emplace::bench
