#include "family_report.hpp"

#include <algorithm>
#include <tuple>

namespace emplace::bench {
namespace {

// One agent's step times, by graph.
struct Times {
  std::vector<double> own_us{};
  std::vector<double> least_us{};     // of any agent, on the same graphs
  std::vector<double> paired_us{};    // own, on graphs with a baseline
  std::vector<double> baseline_us{};  // of the baseline, on the same graphs
  std::int64_t on_one_device = 0;     // graphs
};

// Rows of a table are sorted, so the first is the fastest.
void collect(const ReportTable& table, const std::string& agent, Times& times) {
  const auto row = std::ranges::find(table.rows, agent, &ReportRow::agent);
  if (row == table.rows.end()) {
    return;
  }
  times.on_one_device += row->on_one_device > 0 ? 1 : 0;
  if (!row->ok()) {
    return;
  }
  times.own_us.push_back(row->step_time_us);
  times.least_us.push_back(table.rows.front().step_time_us);
  const auto baseline = std::ranges::find(table.rows, table.baseline, &ReportRow::agent);
  if (baseline != table.rows.end() && baseline != row) {
    times.paired_us.push_back(row->step_time_us);
    times.baseline_us.push_back(baseline->step_time_us);
  }
}

FamilyRow summarize(const std::string& agent, const Times& times) {
  FamilyRow row{.agent = agent,
                .graphs = static_cast<std::int64_t>(times.own_us.size()),
                .on_one_device = times.on_one_device};
  if (times.own_us.empty()) {
    return row;
  }
  double sum_us = 0;
  for (std::size_t i = 0; i < times.own_us.size(); ++i) {
    sum_us += times.own_us[i];
    row.times_best.push_back(times.own_us[i] / times.least_us[i]);
  }
  row.mean_us = sum_us / static_cast<double>(times.own_us.size());
  row.over_best = compare_pairs(times.own_us, times.least_us).ratio;
  std::ranges::sort(row.times_best);
  if (!times.paired_us.empty()) {
    row.against_baseline = compare_pairs(times.paired_us, times.baseline_us);
  }
  return row;
}

FamilyTable summarize(const SuiteFamily& family, const std::string& cluster,
                      const std::vector<ReportTable>& tables, const Suite& suite) {
  FamilyTable summary{.family = family.name, .cluster = cluster};
  std::vector<Times> times(suite.agents.size());
  for (const ReportTable& table : tables) {
    if (table.family == family.name && table.cluster == cluster) {
      ++summary.graphs;
      for (std::size_t agent = 0; agent < suite.agents.size(); ++agent) {
        collect(table, suite.agents[agent].label(), times[agent]);
      }
    }
  }
  for (std::size_t agent = 0; agent < suite.agents.size(); ++agent) {
    summary.rows.push_back(summarize(suite.agents[agent].label(), times[agent]));
  }
  std::ranges::sort(summary.rows, {}, [](const FamilyRow& row) {
    return std::make_tuple(-row.graphs, row.over_best, row.agent);
  });
  return summary;
}

}  // namespace

std::vector<FamilyTable> summarize_families(const std::vector<ReportTable>& tables,
                                            const Suite& suite) {
  std::vector<FamilyTable> summaries;
  for (const SuiteFamily& family : suite.families) {
    for (const std::string& cluster : suite.clusters) {
      FamilyTable summary = summarize(family, cluster, tables, suite);
      if (summary.graphs > 0) {
        summaries.push_back(std::move(summary));
      }
    }
  }
  return summaries;
}

}  // namespace emplace::bench
