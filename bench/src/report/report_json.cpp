// The report as JSON.

#include "report_json.hpp"

#include "comparison_text.hpp"
#include "report_columns.hpp"

#include <emplace/base/json.hpp>

#include <optional>

namespace emplace::bench {
namespace {

Json means_json(const std::optional<FamilyMeans>& means) {
  return means ? Json{{"mean_us", means->mean_us}, {"over_best", means->over_best}} : Json(nullptr);
}

Json to_json(const PublishedFigure& figure, const BaselineComparison& against_baseline) {
  return {{"step_time_s", figure.step_time_s},
          {"evaluations", figure.evaluations ? Json(*figure.evaluations) : Json(nullptr)},
          {"gain", against_baseline.gain},
          {"sampling_speedup", against_baseline.sampling_speedup}};
}

Json to_json(const ReportTable& table, const ReportRow& row, Members members) {
  const auto if_ok = [&](double value) { return row.ok() ? Json(value) : Json(nullptr); };
  Json json = {{"agent", row.agent},
               {"repetitions", row.repetitions},
               {"out_of_memory", row.out_of_memory},
               {"failed", row.failed},
               {"on_one_device", row.on_one_device},
               {"message", row.message},
               {"step_time_us", if_ok(row.step_time_us)},
               {"interval_us", interval_json(row.interval_us)},
               {"least_us", if_ok(row.least_us)},
               {"largest_us", if_ok(row.largest_us)},
               {"gap", if_ok(row.gap)},
               {"above_best_known", row.above_best_known},
               {"new_best", row.new_best},
               {"slower_share", row.slower_share},
               {"within_uncertainty", row.within_uncertainty()},
               {"speedup", row.speedup > 0 ? Json(row.speedup) : Json(nullptr)},
               {"decision_groups", row.decision_groups},
               {"evaluations", row.evaluations},
               {"evaluations_to_best", row.evaluations_to_best},
               {"evaluations_to_near_best", row.evaluations_to_near_best},
               {"episodes_to_near_best", row.episodes_to_near_best},
               {"gain", row.against_baseline.gain},
               {"sampling_speedup", row.against_baseline.sampling_speedup},
               {"evaluations_to_baseline", row.against_baseline.evaluations_to_baseline},
               {"speedup_to_baseline", row.against_baseline.speedup_to_baseline},
               {"peak_bytes", row.peak_bytes}};
  if (row.published) {
    Json published = to_json(*row.published, row.published_against_baseline);
    Json ratios = Json::array();
    for (const PublishedRatio& ratio : row.published_ratios) {
      ratios.push_back(
          {{"reference", ratio.reference.empty() ? Json(nullptr) : Json(ratio.reference)},
           {"ours", ratio.ours},
           {"published", ratio.published}});
    }
    if (!ratios.empty()) {
      published.add("ratios", ratios);
    }
    json.add("published", published);
  }
  if (members == Members::kOfPage) {
    json.add("wall_s", row.wall_s);
    json.add("note", notes_of(table, row));
  }
  return json;
}

Json to_json(const FamilyRow& row) {
  Json json = {{"agent", row.agent},
               {"graphs", row.graphs},
               {"on_one_device", row.on_one_device},
               {"all_graphs", means_json(row.all)},
               {"common_graphs", means_json(row.common)},
               {"times_best", row.times_best}};
  if (row.against_reference) {
    const PairedComparison& pairs = *row.against_reference;
    json.add("against_reference", {{"pairs", pairs.pairs},
                                   {"faster", pairs.less},
                                   {"slower", pairs.greater},
                                   {"ratio", pairs.ratio},
                                   {"interval", interval_json(pairs.interval)},
                                   {"p", pairs.p},
                                   {"corrected_p", row.corrected_p}});
  }
  return json;
}

Json to_json(const FamilyTable& table) {
  Json rows = Json::array();
  for (const FamilyRow& row : table.rows) {
    rows.push_back(to_json(row));
  }
  return {{"family", table.family.empty() ? Json(nullptr) : Json(table.family)},
          {"cluster", table.cluster},
          {"graphs", table.graphs},
          {"common_graphs", table.common_graphs},
          {"reference", table.reference.empty() ? Json(nullptr) : Json(table.reference)},
          {"rows", std::move(rows)}};
}

}  // namespace

std::string write_json(const Report& report) {
  return report_json(report, Members::kOfFile).indented(2) + "\n";
}

Json report_json(const Report& report, Members members) {
  Json tables = Json::array();
  for (const ReportTable& table : report.tables) {
    Json rows = Json::array();
    for (const ReportRow& row : table.rows) {
      rows.push_back(to_json(table, row, members));
    }
    tables.push_back({{"graph", table.graph},
                      {"cluster", table.cluster},
                      {"family", table.family.empty() ? Json(nullptr) : Json(table.family)},
                      {"bound_us", table.bound_us},
                      {"groups", table.groups},
                      {"baseline", table.baseline.empty() ? Json(nullptr) : Json(table.baseline)},
                      {"best_known_us", table.best_known_us},
                      {"rows", std::move(rows)}});
  }
  Json json = {{"schema_version", 3},
               {"suite", report.suite},
               {"root_seed", report.root_seed},
               {"cells_finished", report.cells_finished},
               {"cells_total", report.cells_total},
               {"cells_failed", report.cells_failed},
               {"baselines", report.baselines}};
  if (!report.shard.is_whole()) {
    json.add("shard", {{"index", report.shard.index},
                       {"count", report.shard.count},
                       {"cells_suite", report.cells_suite}});
  }
  if (report.published) {
    json.add("published", {{"source", report.published->source},
                           {"recalled", report.published->recalled},
                           {"comment", report.published->comment}});
  }
  Json families = Json::array();
  for (const FamilyTable& table : report.families) {
    families.push_back(to_json(table));
  }
  json.add("families", families);
  json.add("tables", tables);
  return json;
}

}  // namespace emplace::bench
