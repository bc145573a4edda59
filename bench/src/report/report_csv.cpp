// The report as CSV: a line for each agent, graph and cluster.

#include "store/csv_row.hpp"

#include <emplace/bench/report.hpp>

#include <array>
#include <optional>

namespace emplace::bench {
namespace {

FieldValue if_any(const std::optional<double>& value) {
  return value ? FieldValue(*value) : FieldValue();
}

FieldValue if_any(const std::optional<std::int64_t>& value) {
  return value ? FieldValue(*value) : FieldValue();
}

constexpr auto kColumns = std::to_array<std::string_view>({"family",
                                                           "graph",
                                                           "cluster",
                                                           "agent",
                                                           "repetitions",
                                                           "out_of_memory",
                                                           "failed",
                                                           "step_time_us",
                                                           "interval_from_us",
                                                           "interval_to_us",
                                                           "least_us",
                                                           "largest_us",
                                                           "bound_us",
                                                           "gap",
                                                           "best_known_us",
                                                           "above_best_known",
                                                           "speedup",
                                                           "slower_share",
                                                           "groups",
                                                           "decision_groups",
                                                           "peak_bytes",
                                                           "evaluations",
                                                           "evaluations_to_best",
                                                           "evaluations_to_near_best",
                                                           "episodes_to_near_best",
                                                           "gain",
                                                           "sampling_speedup",
                                                           "evaluations_to_baseline",
                                                           "speedup_to_baseline",
                                                           "published_step_time_s",
                                                           "published_evaluations"});

void add_row(std::string& csv, const ReportTable& table, const ReportRow& row) {
  const auto if_ok = [&](double value) { return row.ok() ? FieldValue(value) : FieldValue(); };
  const bool decided = row.failed < row.repetitions;
  const BaselineComparison& baseline = row.against_baseline;
  const std::array<FieldValue, kColumns.size()> fields = {
      table.family,
      table.graph,
      table.cluster,
      row.agent,
      row.repetitions,
      row.out_of_memory,
      row.failed,
      if_ok(row.step_time_us),
      row.interval_us ? FieldValue(row.interval_us->first) : FieldValue(),
      row.interval_us ? FieldValue(row.interval_us->second) : FieldValue(),
      if_ok(row.least_us),
      if_ok(row.largest_us),
      table.bound_us,
      if_ok(row.gap),
      if_any(table.best_known_us),
      if_any(row.above_best_known),
      row.speedup > 0 ? FieldValue(row.speedup) : FieldValue(),
      if_any(row.slower_share),
      table.groups,
      decided ? FieldValue(row.decision_groups) : FieldValue(),
      decided ? FieldValue(row.peak_bytes) : FieldValue(),
      decided ? FieldValue(row.evaluations) : FieldValue(),
      decided ? FieldValue(row.evaluations_to_best) : FieldValue(),
      if_any(row.evaluations_to_near_best),
      if_any(row.episodes_to_near_best),
      if_any(baseline.gain),
      if_any(baseline.sampling_speedup),
      if_any(baseline.evaluations_to_baseline),
      if_any(baseline.speedup_to_baseline),
      row.published ? if_any(row.published->step_time_s) : FieldValue(),
      row.published ? if_any(row.published->evaluations) : FieldValue()};
  add_csv_row(csv, fields);
}

}  // namespace

std::string write_csv(const Report& report) {
  std::string csv;
  const std::vector<FieldValue> titles(kColumns.begin(), kColumns.end());
  add_csv_row(csv, titles);
  for (const ReportTable& table : report.tables) {
    for (const ReportRow& row : table.rows) {
      add_row(csv, table, row);
    }
  }
  return csv;
}

}  // namespace emplace::bench
