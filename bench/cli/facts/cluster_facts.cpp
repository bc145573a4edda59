#include "cluster_facts.hpp"

#include "terminal.hpp"

#include <emplace/base/id_vector.hpp>
#include <emplace/bench/grouping_comparison.hpp>
#include <emplace/bench/text_table.hpp>
#include <emplace/sim/bounds.hpp>

#include <fmt/format.h>

#include <span>
#include <utility>

namespace emplace::cli {
namespace {

using bench::TextTable;
using Align = TextTable::Align;

constexpr std::array kCostSources = {CostSource::kMeasured, CostSource::kInterpolated,
                                     CostSource::kRoofline, CostSource::kGuess};

}  // namespace

ClusterFacts cluster_facts_of(const Problem& problem) {
  ClusterFacts facts{.name = problem.cluster().name,
                     .bound_us = lower_bounds(problem).best_us(),
                     .largest_share = bench::numbers_of(problem).largest_share};
  const IdSpan<DeviceId, const Device> devices(std::span(problem.cluster().devices));
  std::vector<bool> seen(problem.cluster().profiles.size());
  for (DeviceId device = 0; device < problem.num_devices(); ++device) {
    const std::size_t at = devices[device].profile;
    if (seen[at]) {
      continue;
    }
    seen[at] = true;
    const DeviceProfile& profile = problem.cluster().profiles[at];
    ClassTotals totals{profile.name, profile.device_class, 0, {}};
    for (OpId op = 0; op < problem.num_ops(); ++op) {
      totals.all_ops_us += problem.cost_us(op, device);
      ++totals.ops_by_cost_source[static_cast<std::size_t>(problem.cost_source(op, device))];
    }
    facts.classes.push_back(std::move(totals));
  }
  return facts;
}

std::string to_text(const ClusterFacts& facts) {
  std::string text = fmt::format(
      "\non {}, where no placement that fits is faster than {:.3f} ms and the largest group has "
      "{:.1f} % of the work\n\n",
      facts.name, facts.bound_us / 1e3, facts.largest_share * 100);
  TextTable classes({{"profile"},
                     {"device class"},
                     {"all ops [ms]", Align::kRight},
                     {"measured", Align::kRight, 1},
                     {"interpolated", Align::kRight, 3},
                     {"roofline", Align::kRight, 2},
                     {"guess", Align::kRight, 2}});
  for (const ClassTotals& totals : facts.classes) {
    std::vector<std::string> row = {totals.profile, totals.device_class,
                                    fmt::format("{:.3f}", totals.all_ops_us / 1e3)};
    for (const std::int64_t ops : totals.ops_by_cost_source) {
      row.push_back(fmt::format("{}", ops));
    }
    classes.add_row(std::move(row));
  }
  return text + classes.to_terminal(false, table_width());
}

void add_to_json(Json& json, const ClusterFacts& facts) {
  json.add("cluster", facts.name);
  json.add("bound_us", facts.bound_us);
  json.add("largest_group_share", facts.largest_share);
  Json classes = Json::array();
  for (const ClassTotals& totals : facts.classes) {
    Json cost_sources = Json::object();
    for (const CostSource source : kCostSources) {
      cost_sources.add(to_string(source),
                       totals.ops_by_cost_source[static_cast<std::size_t>(source)]);
    }
    classes.push_back({{"profile", totals.profile},
                       {"device_class", totals.device_class},
                       {"all_ops_us", totals.all_ops_us},
                       {"ops_by_cost_source", std::move(cost_sources)}});
  }
  json.add("device_classes", classes);
}

}  // namespace emplace::cli
