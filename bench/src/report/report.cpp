#include "family_report.hpp"

#include <emplace/base/check.hpp>
#include <emplace/base/quantiles.hpp>
#include <emplace/bench/median_interval.hpp>
#include <emplace/bench/report.hpp>
#include <emplace/bench/suite_index.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace emplace::bench {
namespace {

// The agent that speed-ups are relative to.
constexpr std::string_view kSpeedupReference = "single-gpu";
// Papers compare with these, and with their baselines.
constexpr std::array<std::string_view, 2> kPublishedReferences = {kSpeedupReference,
                                                                  "human-expert"};

std::optional<double> median_of_any(std::vector<double> values) {
  return values.empty() ? std::nullopt : std::optional(median(std::move(values)));
}

// Says whether an agent that learns put all groups on one device.
bool learned_one_device(const CellResult& result) {
  const auto devices = result.placement.devices();
  return result.evaluations_per_episode > 0 && !devices.empty() &&
         std::ranges::all_of(devices, [&](DeviceId device) { return device == devices.front(); });
}

using Results = std::vector<const CellResult*>;

// The repetition that stands for an agent: with the upper median of the step times; null if none is
// ok.
const CellResult* typical(Results results) {
  std::erase_if(results,
                [](const CellResult* result) { return result->status != CellStatus::kOk; });
  if (results.empty()) {
    return nullptr;
  }
  const auto middle = results.begin() + static_cast<std::ptrdiff_t>(results.size() / 2);
  std::ranges::nth_element(results, middle, {}, [](const CellResult* result) {
    return std::pair(result->step_time_us, result->cell.repetition);
  });
  return *middle;
}

// The share of draws in which `first` is faster; nothing where costs are exact. The draws are the
// same for both; a placement without any takes always as long.
std::optional<double> faster_share(const CellResult& first, const CellResult& second) {
  if (first.draws_us.empty() && second.draws_us.empty()) {
    return std::nullopt;
  }
  const auto time_us = [](const CellResult& result, std::size_t draw) {
    return result.draws_us.empty() ? result.step_time_us : result.draws_us[draw];
  };
  double share = 0;
  for (std::size_t draw = 0; draw < std::size_t{kCellDraws}; ++draw) {
    const double mine = time_us(first, draw);
    const double others = time_us(second, draw);
    share += mine < others ? 1 : others < mine ? 0 : 0.5;
  }
  return share / static_cast<double>(kCellDraws);
}

// Compares all rows with the fastest, which is the first.
void compare_in_draws(ReportTable& table, const std::map<std::string, const CellResult*>& typical) {
  if (table.rows.empty() || !table.rows.front().ok()) {
    return;
  }
  const CellResult& fastest = *typical.at(table.rows.front().agent);
  for (ReportRow& row : table.rows) {
    if (row.ok() && &row != &table.rows.front()) {
      row.slower_share = faster_share(fastest, *typical.at(row.agent));
    }
  }
}

// The repetitions of each agent.
using Repetitions = std::map<std::size_t, Results>;

// A search may have proven more than the bounds of the problem tell, which a cell has though its
// agent failed. Each bound holds for one grouping alone: of several, the least holds for all.
double bound_of(const Repetitions& agents) {
  std::map<std::string, double> bounds_us;  // by grouping
  for (const auto& [agent, results] : agents) {
    for (const CellResult* const result : results) {
      if (result->bound_us > 0) {
        double& bound_us =
            bounds_us[fmt::format("{} {}", result->cell.grouping, result->cell.groups)];
        bound_us = std::max(bound_us, result->bound_us);
      }
    }
  }
  const auto least =
      std::ranges::min_element(bounds_us, {}, &std::map<std::string, double>::value_type::second);
  return least == bounds_us.end() ? 0 : least->second;
}

ReportRow summarize(const std::string& agent, const Results& results) {
  ReportRow row;
  row.agent = agent;
  row.repetitions = static_cast<std::int64_t>(results.size());
  std::vector<double> step_times_us;
  std::vector<double> evaluations;
  std::vector<double> evaluations_to_best;
  std::vector<double> evaluations_to_near_best;
  std::vector<double> episodes_to_near_best;
  std::vector<double> walls_s;
  for (const CellResult* result : results) {
    walls_s.push_back(result->wall_s);
    if (result->status == CellStatus::kFailed) {
      if (row.failed++ == 0) {
        row.message = result->message;
      }
      continue;
    }
    row.on_one_device += learned_one_device(*result) ? 1 : 0;
    row.decision_groups = result->decision_groups;
    evaluations.push_back(static_cast<double>(result->evaluations));
    evaluations_to_best.push_back(static_cast<double>(result->evaluations_to_best));
    const auto near_best = static_cast<double>(result->evaluations_to_near_best);
    if (result->evaluations > 0) {
      evaluations_to_near_best.push_back(near_best);
    }
    if (result->evaluations_per_episode > 0) {
      episodes_to_near_best.push_back(
          std::ceil(near_best / static_cast<double>(result->evaluations_per_episode)));
    }
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
    row.interval_us = median_interval(step_times_us);
    const auto [least, largest] = std::ranges::minmax(step_times_us);
    row.least_us = least;
    row.largest_us = largest;
  }
  row.step_time_us = median_of_any(std::move(step_times_us)).value_or(0);
  row.evaluations = median_of_any(std::move(evaluations)).value_or(0);
  row.evaluations_to_best = median_of_any(std::move(evaluations_to_best)).value_or(0);
  row.evaluations_to_near_best = median_of_any(std::move(evaluations_to_near_best));
  row.episodes_to_near_best = median_of_any(std::move(episodes_to_near_best));
  row.wall_s = median_of_any(std::move(walls_s)).value_or(0);
  return row;
}

// Compares every row with the lower bound and with single-gpu, and sorts the rows.
void finish(ReportTable& table) {
  const auto reference = std::ranges::find(table.rows, kSpeedupReference, &ReportRow::agent);
  const double reference_us = reference == table.rows.end() ? 0 : reference->step_time_us;
  for (ReportRow& row : table.rows) {
    if (!row.ok()) {
      continue;
    }
    row.gap = gap_to_bound(row.step_time_us, table.bound_us);
    if (table.best_known_us) {
      row.above_best_known = gap_to_bound(row.step_time_us, *table.best_known_us);
      row.new_best = row.least_us < *table.best_known_us;
    }
    row.speedup = row.step_time_us > 0 ? reference_us / row.step_time_us : 0;
  }
  std::ranges::sort(table.rows, {}, [](const ReportRow& row) {
    const int rank = row.ok() ? 0 : row.out_of_memory > 0 ? 1 : 2;
    return std::make_tuple(rank, row.step_time_us, row.agent);
  });
}

// The numbers by which two agents are compared.
struct Performance {
  double step_time = 0;  // in any unit
  std::optional<double> evaluations{};
};

BaselineComparison compare(const Performance& mine, const Performance& baseline) {
  BaselineComparison comparison;
  if (baseline.step_time > 0) {
    comparison.gain = (baseline.step_time - mine.step_time) / baseline.step_time;
  }
  const double my_evaluations = mine.evaluations.value_or(0);
  const double its_evaluations = baseline.evaluations.value_or(0);
  if (my_evaluations > 0 && its_evaluations > 0) {
    comparison.sampling_speedup = its_evaluations / my_evaluations;
  }
  return comparison;
}

Performance performance_of(const ReportRow& row) {
  return {row.step_time_us, row.evaluations_to_near_best};
}

Performance performance_of(const PublishedFigure& figure, double step_time_s) {
  Performance performance{.step_time = step_time_s};
  if (figure.evaluations) {
    performance.evaluations = static_cast<double>(*figure.evaluations);
  }
  return performance;
}

// Returns the step time of the entry of a problem, if there is one and it is not stale.
std::optional<double> find_best_known_us(std::span<const BestKnownStep> entries,
                                         const Manifest& manifest, const ReportTable& table) {
  for (const ProblemHash& problem : manifest.problems) {
    for (const BestKnownStep& entry : entries) {
      if (problem.graph == table.graph && problem.cluster == table.cluster &&
          entry.graph == table.graph && entry.cluster == table.cluster &&
          entry.step_hash == problem.step_hash) {
        return entry.step_time_us;
      }
    }
  }
  return std::nullopt;
}

bool is_baseline(const std::string& agent, const Suite& suite) {
  return std::ranges::find(suite.baselines, agent) != suite.baselines.end();
}

// Returns the evaluations until a repetition had a placement that fits and is at most so slow;
// infinity if it never had, nothing if it evaluated none.
std::optional<double> evaluations_to(const CellResult& result, double step_time_us) {
  for (const Improvement& improvement : result.history) {
    if (improvement.evaluation.bytes_over == 0 &&
        improvement.evaluation.step_time_us <= step_time_us) {
      return static_cast<double>(improvement.evaluations);
    }
  }
  const bool never = result.status == CellStatus::kFailed || !result.history.empty();
  return never ? std::optional(std::numeric_limits<double>::infinity()) : std::nullopt;
}

// Returns the median of what repetitions needed, or the lower one of the two in the middle where
// just half of them ever had such a placement.
std::optional<double> evaluations_to(const Results& results, double step_time_us) {
  std::vector<double> evaluations;
  for (const CellResult* const result : results) {
    if (const auto count = evaluations_to(*result, step_time_us)) {
      evaluations.push_back(*count);
    }
  }
  std::ranges::sort(evaluations);
  const std::size_t count = evaluations.size();
  if (count == 0 || !std::isfinite(evaluations[(count - 1) / 2])) {
    return std::nullopt;
  }
  return std::isfinite(evaluations[count / 2]) ? median_of_any(std::move(evaluations))
                                               : std::optional(evaluations[(count - 1) / 2]);
}

// Rows are sorted from fastest to slowest.
void compare_with_baseline(ReportTable& table, const Suite& suite,
                           const std::map<std::string, Results>& results_of) {
  const auto baseline = std::ranges::find_if(
      table.rows, [&](const ReportRow& row) { return row.ok() && is_baseline(row.agent, suite); });
  if (baseline == table.rows.end()) {
    return;
  }
  table.baseline = baseline->agent;
  for (ReportRow& row : table.rows) {
    if (row.ok()) {
      row.against_baseline = compare(performance_of(row), performance_of(*baseline));
    }
  }
  const std::optional<double> own =
      evaluations_to(results_of.at(baseline->agent), baseline->step_time_us);
  for (ReportRow& row : table.rows) {
    BaselineComparison& comparison = row.against_baseline;
    comparison.evaluations_to_baseline =
        evaluations_to(results_of.at(row.agent), baseline->step_time_us);
    if (own && comparison.evaluations_to_baseline) {
      comparison.speedup_to_baseline = *own / *comparison.evaluations_to_baseline;
    }
  }
}

std::optional<double> step_time_of(const ReportRow& row) {
  return row.ok() ? std::optional(row.step_time_us) : std::nullopt;
}

std::optional<double> published_step_time_of(const ReportRow& row) {
  return row.published ? row.published->step_time_s : std::nullopt;
}

std::optional<double> ratio_of(std::optional<double> mine, std::optional<double> other) {
  return mine && other && *other > 0 ? std::optional(*mine / *other) : std::nullopt;
}

// Of rows with a published figure, compares both with a reference's.
void add_ratios(ReportTable& table, std::string_view reference, std::optional<double> ours,
                std::optional<double> published) {
  for (ReportRow& row : table.rows) {
    if (row.published) {
      row.published_ratios.push_back(
          {.reference = std::string(reference),
           .ours = ratio_of(step_time_of(row), ours),
           .published = ratio_of(published_step_time_of(row), published)});
    }
  }
}

void add_published(ReportTable& table, const Suite& suite) {
  if (!suite.published) {
    return;
  }
  std::optional<Performance> baseline;
  for (ReportRow& row : table.rows) {
    for (const PublishedFigure& figure : suite.published->figures) {
      if (figure.graph == table.graph && figure.cluster == table.cluster &&
          figure.agent == row.agent) {
        row.published = figure;
        if (figure.step_time_s && is_baseline(row.agent, suite) &&
            (!baseline || *figure.step_time_s < baseline->step_time)) {
          baseline = performance_of(figure, *figure.step_time_s);
        }
      }
    }
  }
  for (ReportRow& row : table.rows) {
    if (baseline && row.published && row.published->step_time_s) {
      row.published_against_baseline =
          compare(performance_of(*row.published, *row.published->step_time_s), *baseline);
    }
  }
  for (const std::string_view reference : kPublishedReferences) {
    const auto found = std::ranges::find(table.rows, reference, &ReportRow::agent);
    if (found != table.rows.end()) {
      add_ratios(table, reference, step_time_of(*found), published_step_time_of(*found));
    }
  }
  // A single baseline that is one of these has its ratios already.
  const bool is_reference = suite.baselines.size() == 1 &&
                            std::ranges::find(kPublishedReferences, suite.baselines.front()) !=
                                kPublishedReferences.end();
  if (!suite.baselines.empty() && !is_reference) {
    const auto fastest = std::ranges::find(table.rows, table.baseline, &ReportRow::agent);
    add_ratios(table, "", fastest == table.rows.end() ? std::nullopt : step_time_of(*fastest),
               baseline ? std::optional(baseline->step_time) : std::nullopt);
  }
}

}  // namespace

Report make_report(const StoredRun& run, std::span<const BestKnownStep> best_known) {
  const Suite& suite = run.manifest.suite;
  Report report;
  report.suite = suite.name;
  report.root_seed = run.manifest.root_seed;
  report.cells_finished = static_cast<std::int64_t>(run.results.size());
  report.cells_total = run.manifest.num_own_cells();
  report.shard = run.manifest.shard;
  report.cells_suite = run.manifest.num_cells;
  for (const SuiteAgent& agent : suite.agents) {
    report.agents.push_back(agent.label());
  }
  report.baselines = suite.baselines;
  report.published = suite.published;

  // By the positions of graph and cluster.
  std::map<std::pair<std::size_t, std::size_t>, Repetitions> cells;
  const SuiteIndex index(suite, run.manifest.root_seed);
  for (const CellResult& result : run.results) {
    const std::optional<CellPosition> position = index.find(result.cell);
    EMPLACE_CHECK(position.has_value(), "a cell of {} is not of the suite",
                  result.cell.agent.text());
    cells[{position->graph, position->cluster}][position->agent].push_back(&result);
    if (result.status == CellStatus::kFailed) {
      ++report.cells_failed;
    }
  }
  for (const auto& [place, agents] : cells) {
    ReportTable table{.graph = suite.graphs[place.first].graph,
                      .cluster = suite.clusters[place.second],
                      .family = suite.graphs[place.first].family,
                      .bound_us = 0};
    table.best_known_us = find_best_known_us(best_known, run.manifest, table);
    table.bound_us = bound_of(agents);
    std::map<std::string, const CellResult*> typical_of;
    std::map<std::string, Results> results_of;
    for (const auto& [agent, results] : agents) {
      table.rows.push_back(summarize(suite.agents[agent].label(), results));
      typical_of[table.rows.back().agent] = typical(results);
      results_of[table.rows.back().agent] = results;
      for (const CellResult* result : results) {
        table.groups = std::max(table.groups, result->problem_groups);
      }
    }
    finish(table);
    compare_in_draws(table, typical_of);
    compare_with_baseline(table, suite, results_of);
    add_published(table, suite);
    report.tables.push_back(std::move(table));
  }
  report.families = summarize_families(report.tables, suite);
  return report;
}

}  // namespace emplace::bench
