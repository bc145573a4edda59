#include <emplace/bench/report.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <tuple>

namespace emplace::bench {
namespace {

constexpr std::string_view kBaseline = "single-gpu";

double median(std::vector<double> values) {
  if (values.empty()) {
    return 0;
  }
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

ReportRow sum_up(const std::string& agent, const std::vector<const CellResult*>& results) {
  ReportRow row;
  row.agent = agent;
  row.repetitions = static_cast<std::int64_t>(results.size());
  std::vector<double> step_times_us;
  std::vector<double> evaluations;
  std::vector<double> evaluations_to_best;
  std::vector<double> walls_s;
  for (const CellResult* result : results) {
    walls_s.push_back(result->wall_s);
    if (result->status == CellStatus::kFailed) {
      if (row.failed++ == 0) {
        row.message = result->message;
      }
      continue;
    }
    evaluations.push_back(static_cast<double>(result->evaluations));
    evaluations_to_best.push_back(static_cast<double>(result->evaluations_to_best));
    for (const std::int64_t bytes : result->peak_bytes) {
      row.peak_bytes = std::max(row.peak_bytes, bytes);
    }
    if (result->status == CellStatus::kOutOfMemory) {
      ++row.out_of_memory;
    } else {
      step_times_us.push_back(result->step_time_us);
    }
  }
  if (!step_times_us.empty()) {
    const auto [least, largest] = std::ranges::minmax(step_times_us);
    row.least_us = least;
    row.largest_us = largest;
  }
  row.step_time_us = median(std::move(step_times_us));
  row.evaluations = median(std::move(evaluations));
  row.evaluations_to_best = median(std::move(evaluations_to_best));
  row.wall_s = median(std::move(walls_s));
  return row;
}

// Fills in what compares a row with the bound and with the baseline, and sorts.
void finish(ReportTable& table) {
  const auto baseline = std::ranges::find(table.rows, kBaseline, &ReportRow::agent);
  const double baseline_us = baseline == table.rows.end() ? 0 : baseline->step_time_us;
  for (ReportRow& row : table.rows) {
    if (!row.ok()) {
      continue;
    }
    row.gap = gap_to_bound(row.step_time_us, table.bound_us);
    row.speedup = row.step_time_us > 0 ? baseline_us / row.step_time_us : 0;
  }
  std::ranges::sort(table.rows, {}, [](const ReportRow& row) {
    const int rank = row.ok() ? 0 : row.out_of_memory > 0 ? 1 : 2;
    return std::make_tuple(rank, row.step_time_us, row.agent);
  });
}

nlohmann::ordered_json to_json(const ReportRow& row) {
  const auto if_ok = [&](double value) {
    return row.ok() ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
  };
  return {{"agent", row.agent},
          {"repetitions", row.repetitions},
          {"out_of_memory", row.out_of_memory},
          {"failed", row.failed},
          {"message", row.message},
          {"step_time_us", if_ok(row.step_time_us)},
          {"least_us", if_ok(row.least_us)},
          {"largest_us", if_ok(row.largest_us)},
          {"gap", if_ok(row.gap)},
          {"speedup",
           row.speedup > 0 ? nlohmann::ordered_json(row.speedup) : nlohmann::ordered_json(nullptr)},
          {"evaluations", row.evaluations},
          {"evaluations_to_best", row.evaluations_to_best},
          {"peak_bytes", row.peak_bytes}};
}

}  // namespace

Report make_report(const StoredRun& run) {
  Report report;
  report.suite = run.manifest.suite.name;
  report.root_seed = run.manifest.root_seed;
  report.cells_finished = static_cast<std::int64_t>(run.results.size());
  report.cells_total = run.manifest.num_cells;

  using Key = std::tuple<std::string, std::string, std::string>;
  std::map<Key, std::vector<const CellResult*>> repetitions;
  std::map<std::pair<std::string, std::string>, double> bounds_us;
  for (const CellResult& result : run.results) {
    const Cell& cell = result.cell;
    repetitions[{cell.graph, cell.cluster, cell.agent}].push_back(&result);
    bounds_us[{cell.graph, cell.cluster}] = result.bound_us;
    if (result.status == CellStatus::kFailed) {
      ++report.cells_failed;
    }
  }
  for (const std::string& graph : run.manifest.suite.graphs) {
    for (const std::string& cluster : run.manifest.suite.clusters) {
      const auto bound_us = bounds_us.find({graph, cluster});
      if (bound_us == bounds_us.end()) {
        continue;
      }
      ReportTable table{graph, cluster, bound_us->second, {}};
      for (const std::string& agent : run.manifest.suite.agents) {
        const auto results = repetitions.find({graph, cluster, agent});
        if (results != repetitions.end()) {
          table.rows.push_back(sum_up(agent, results->second));
        }
      }
      finish(table);
      report.tables.push_back(std::move(table));
    }
  }
  return report;
}

std::string write_json(const Report& report) {
  nlohmann::ordered_json tables = nlohmann::ordered_json::array();
  for (const ReportTable& table : report.tables) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const ReportRow& row : table.rows) {
      rows.push_back(to_json(row));
    }
    tables.push_back({{"graph", table.graph},
                      {"cluster", table.cluster},
                      {"bound_us", table.bound_us},
                      {"rows", std::move(rows)}});
  }
  const nlohmann::ordered_json json = {{"schema_version", 1},
                                       {"suite", report.suite},
                                       {"root_seed", report.root_seed},
                                       {"cells_finished", report.cells_finished},
                                       {"cells_total", report.cells_total},
                                       {"cells_failed", report.cells_failed},
                                       {"tables", std::move(tables)}};
  return json.dump(2) + "\n";
}

}  // namespace emplace::bench
