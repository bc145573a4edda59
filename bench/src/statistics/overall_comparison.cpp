#include <emplace/bench/holm.hpp>
#include <emplace/bench/overall_comparison.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <tuple>
#include <utility>

namespace emplace::bench {
namespace {

// An agent's step times, by table.
using Times = std::map<std::size_t, double>;

// An agent with the geometric mean of its ratios to the least times.
struct Candidate {
  OverallRow row{};
  double mean_ratio = 0;
};

Candidate summarize(const std::string& agent, const Times& times, const Times& least) {
  Candidate candidate{.row = {.agent = agent}};
  std::vector<double> own_us;
  std::vector<double> least_us;
  for (const auto& [table, time_us] : times) {
    own_us.push_back(time_us);
    least_us.push_back(least.at(table));
    candidate.row.times_best.push_back(time_ratio(own_us.back(), least_us.back()));
  }
  std::ranges::sort(candidate.row.times_best);
  if (!own_us.empty()) {
    candidate.mean_ratio = compare_pairs(own_us, least_us).ratio;
  }
  if (!own_us.empty() && own_us.size() == least.size()) {
    candidate.row.over_best = candidate.mean_ratio;
  }
  return candidate;
}

std::optional<PairedComparison> compare(const Times& mine, const Times& others) {
  std::vector<double> mine_us;
  std::vector<double> others_us;
  for (const auto& [table, time_us] : mine) {
    if (const auto other = others.find(table); other != others.end()) {
      mine_us.push_back(time_us);
      others_us.push_back(other->second);
    }
  }
  return mine_us.empty() ? std::nullopt : std::optional(compare_pairs(mine_us, others_us));
}

}  // namespace

OverallComparison compare_over_all(std::span<const ReportTable> tables) {
  std::map<std::string, Times> times;
  Times least;
  for (std::size_t table = 0; table < tables.size(); ++table) {
    for (const ReportRow& row : tables[table].rows) {
      Times& of_agent = times[row.agent];
      // A step of no time has no ratio.
      if (row.ok() && row.step_time_us > 0) {
        of_agent[table] = row.step_time_us;
        double& least_us = least.emplace(table, row.step_time_us).first->second;
        least_us = std::min(least_us, row.step_time_us);
      }
    }
  }
  OverallComparison comparison{.problems = static_cast<std::int64_t>(least.size())};
  std::vector<Candidate> candidates;
  candidates.reserve(times.size());
  for (const auto& [agent, of_agent] : times) {
    candidates.push_back(summarize(agent, of_agent, least));
  }
  std::ranges::sort(candidates, {}, [](const Candidate& candidate) {
    return std::tuple(-static_cast<std::int64_t>(candidate.row.times_best.size()),
                      candidate.mean_ratio, candidate.row.agent);
  });
  for (Candidate& candidate : candidates) {
    comparison.rows.push_back(std::move(candidate.row));
  }
  std::vector<double> p;
  for (std::size_t row = 1; row < comparison.rows.size(); ++row) {
    const std::optional<PairedComparison> against_best =
        compare(times[comparison.rows[row].agent], times[comparison.rows.front().agent]);
    comparison.rows[row].against_best = against_best;
    if (against_best) {
      p.push_back(against_best->p);
    }
  }
  const std::vector<double> corrected = holm(p);
  auto next = corrected.begin();
  for (OverallRow& row : comparison.rows) {
    row.corrected_p = row.against_best ? *next++ : 1;
  }
  return comparison;
}

}  // namespace emplace::bench
