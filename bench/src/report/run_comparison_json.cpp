// A comparison of runs as JSON.

#include "comparison_text.hpp"

#include <emplace/base/json.hpp>

namespace emplace::bench {
namespace {

Json significance_json(const std::optional<Significance>& value) {
  return value ? to_json(*value) : Json(nullptr);
}

Json to_json(const ComparedRun& run) {
  return {{"suite", run.suite},
          {"cells_finished", run.cells_finished},
          {"cells_total", run.cells_total}};
}

Json to_json(const ComparedResult& result) {
  return {{"repetitions", result.repetitions},
          {"out_of_memory", result.out_of_memory},
          {"failed", result.failed},
          {"step_time_us", result.step_time_us},
          {"evaluations_to_near_best", result.evaluations_to_near_best}};
}

Json to_json(const AgentComparison& row) {
  Json json = {{"agent", row.agent},   {"cluster", row.cluster},
               {"only_a", row.only_a}, {"only_b", row.only_b},
               {"pairs", 0},           {"faster", 0},
               {"slower", 0},          {"ratio", nullptr},
               {"interval", nullptr}};
  if (row.pairs) {
    json.add("pairs", row.pairs->pairs);
    json.add("faster", row.pairs->less);
    json.add("slower", row.pairs->greater);
    json.add("ratio", row.pairs->ratio);
    json.add("interval", interval_json(row.pairs->interval));
  }
  json.add("significance", significance_json(row.significance));
  json.add("verdict", to_json(row.verdict));
  return json;
}

Json to_json(const GraphComparison& row) {
  return {{"graph", row.graph},
          {"cluster", row.cluster},
          {"agent", row.agent},
          {"a", to_json(row.a)},
          {"b", to_json(row.b)},
          {"same_costs", row.same_costs},
          {"identical", row.identical},
          {"exact", row.exact},
          {"ratio", row.ratio ? Json(row.ratio->ratio) : Json(nullptr)},
          {"interval", row.ratio ? interval_json(row.ratio->interval) : Json(nullptr)},
          {"significance", significance_json(row.significance)},
          {"verdict", to_json(row.verdict)}};
}

}  // namespace

std::string write_json(const RunComparison& comparison) {
  Json missing = Json::array();
  for (const MissingResults& each : comparison.missing) {
    missing.push_back({{"only_in", each.in_a ? "a" : "b"},
                       {"agent", each.agent},
                       {"cluster", each.cluster},
                       {"graphs", each.graphs}});
  }
  Json agents = Json::array();
  for (const AgentComparison& row : comparison.agents) {
    agents.push_back(to_json(row));
  }
  Json graphs = Json::array();
  for (const GraphComparison& row : comparison.graphs) {
    graphs.push_back(to_json(row));
  }
  const Json json = {{"schema_version", 1},
                     {"a", to_json(comparison.a)},
                     {"b", to_json(comparison.b)},
                     {"threshold", comparison.threshold},
                     {"slower", comparison.count(Verdict::kSlower)},
                     {"faster", comparison.count(Verdict::kFaster)},
                     {"differences", to_json(comparison.differences)},
                     {"missing", std::move(missing)},
                     {"over_graphs", std::move(agents)},
                     {"by_graph", std::move(graphs)}};
  return json.indented(2) + "\n";
}

}  // namespace emplace::bench
