#include "family_report.hpp"

#include <emplace/bench/holm.hpp>

#include <algorithm>
#include <iterator>
#include <tuple>

namespace emplace::bench {
namespace {

using Tables = std::vector<const ReportTable*>;  // of several graphs, on one cluster

// Step times in pairs, one pair for each graph.
struct Pairs {
  std::vector<double> mine_us{};
  std::vector<double> others_us{};
};

// Returns the row of an agent that has a step time; null if there is none.
const ReportRow* find_ok(const ReportTable& table, const std::string& agent) {
  const auto row = std::ranges::find(table.rows, agent, &ReportRow::agent);
  return row != table.rows.end() && row->ok() ? &*row : nullptr;
}

// Pairs an agent's step times with those of the fastest, which is the first row.
Pairs with_fastest(const Tables& tables, const std::string& agent) {
  Pairs pairs;
  for (const ReportTable* const table : tables) {
    if (const ReportRow* const row = find_ok(*table, agent)) {
      pairs.mine_us.push_back(row->step_time_us);
      pairs.others_us.push_back(table->rows.front().step_time_us);
    }
  }
  return pairs;
}

// Pairs an agent's step times with those of the reference; without one, with the baseline's.
Pairs with_reference(const Tables& tables, const std::string& agent, const std::string& reference) {
  Pairs pairs;
  for (const ReportTable* const table : tables) {
    const ReportRow* const row = find_ok(*table, agent);
    const ReportRow* const other = find_ok(*table, reference.empty() ? table->baseline : reference);
    if (row != nullptr && other != nullptr && row != other) {
      pairs.mine_us.push_back(row->step_time_us);
      pairs.others_us.push_back(other->step_time_us);
    }
  }
  return pairs;
}

std::optional<FamilyMeans> means_of(const Pairs& pairs) {
  if (pairs.mine_us.empty()) {
    return std::nullopt;
  }
  double sum_us = 0;
  for (const double time_us : pairs.mine_us) {
    sum_us += time_us;
  }
  return FamilyMeans{.mean_us = sum_us / static_cast<double>(pairs.mine_us.size()),
                     .over_best = compare_pairs(pairs.mine_us, pairs.others_us).ratio};
}

FamilyRow summarize(const std::string& agent, const Tables& tables) {
  FamilyRow row{.agent = agent};
  for (const ReportTable* const table : tables) {
    const auto found = std::ranges::find(table->rows, agent, &ReportRow::agent);
    row.on_one_device += found != table->rows.end() && found->on_one_device > 0 ? 1 : 0;
  }
  const Pairs pairs = with_fastest(tables, agent);
  row.graphs = static_cast<std::int64_t>(pairs.mine_us.size());
  for (std::size_t i = 0; i < pairs.mine_us.size(); ++i) {
    row.times_best.push_back(time_ratio(pairs.mine_us[i], pairs.others_us[i]));
  }
  std::ranges::sort(row.times_best);
  if (pairs.mine_us.size() == tables.size()) {
    row.all = means_of(pairs);
  }
  return row;
}

// Returns the tables in which all agents have a step time that have one in any.
Tables common_tables(const Tables& tables, const std::vector<FamilyRow>& rows) {
  Tables common;
  std::ranges::copy_if(tables, std::back_inserter(common), [&](const ReportTable* table) {
    return std::ranges::all_of(rows, [&](const FamilyRow& row) {
      return row.graphs == 0 || find_ok(*table, row.agent) != nullptr;
    });
  });
  return common;
}

void compare_with_reference(FamilyTable& summary, const Tables& tables) {
  std::vector<double> p;
  for (FamilyRow& row : summary.rows) {
    const Pairs pairs = with_reference(tables, row.agent, summary.reference);
    if (!pairs.mine_us.empty()) {
      row.against_reference = compare_pairs(pairs.mine_us, pairs.others_us);
      p.push_back(row.against_reference->p);
    }
  }
  const std::vector<double> corrected = holm(p);
  auto next = corrected.begin();
  for (FamilyRow& row : summary.rows) {
    if (row.against_reference) {
      row.corrected_p = *next++;
    }
  }
}

FamilyTable summarize(const std::string& family, const std::string& cluster, const Tables& tables,
                      const Suite& suite) {
  FamilyTable summary{
      .family = family, .cluster = cluster, .graphs = static_cast<std::int64_t>(tables.size())};
  for (const SuiteAgent& agent : suite.agents) {
    summary.rows.push_back(summarize(agent.label(), tables));
  }
  const Tables common = common_tables(tables, summary.rows);
  summary.common_graphs = static_cast<std::int64_t>(common.size());
  for (FamilyRow& row : summary.rows) {
    row.common = means_of(with_fastest(common, row.agent));
  }
  std::ranges::sort(summary.rows, {}, [](const FamilyRow& row) {
    const auto& means = row.all ? row.all : row.common;
    return std::make_tuple(-row.graphs, means ? means->over_best : 0, row.agent);
  });
  if (suite.baselines.empty() && summary.rows.front().all) {
    summary.reference = summary.rows.front().agent;
  }
  if (!suite.baselines.empty() || !summary.reference.empty()) {
    compare_with_reference(summary, tables);
  }
  return summary;
}

}  // namespace

std::vector<FamilyTable> summarize_families(const std::vector<ReportTable>& tables,
                                            const Suite& suite) {
  std::vector<std::string> families;
  std::ranges::transform(suite.families, std::back_inserter(families), &SuiteFamily::name);
  families.emplace_back();  // graphs that are of none
  std::vector<FamilyTable> summaries;
  for (const std::string& family : families) {
    for (const std::string& cluster : suite.clusters) {
      Tables selected;
      for (const ReportTable& table : tables) {
        if (table.family == family && table.cluster == cluster) {
          selected.push_back(&table);
        }
      }
      if (selected.size() >= (family.empty() ? 2 : 1)) {
        summaries.push_back(summarize(family, cluster, selected, suite));
      }
    }
  }
  return summaries;
}

}  // namespace emplace::bench
