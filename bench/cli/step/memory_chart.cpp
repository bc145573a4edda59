#include "memory_chart.hpp"

#include "memory_overflow.hpp"
#include "terminal.hpp"

#include <emplace/base/error.hpp>
#include <emplace/base/escape.hpp>
#include <emplace/base/json.hpp>
#include <emplace/bench/text_table.hpp>
#include <emplace/sim/memory_curve.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace emplace::cli {
namespace {

constexpr std::size_t kChartColumns = 60;
constexpr std::size_t kRows = 10;
constexpr std::size_t kMostNamed = 10;  // of the tensors and of the scopes

double in_gb(std::int64_t bytes) { return static_cast<double>(bytes) / 1e9; }

MemoryPoint peak_of(const std::vector<MemoryPoint>& curve) {
  return *std::max_element(
      curve.begin(), curve.end(),
      [](const MemoryPoint& a, const MemoryPoint& b) { return a.bytes < b.bytes; });
}

// Returns, for each column, the most that was taken at any moment of its share of the step.
std::vector<std::int64_t> most_by_column(const std::vector<MemoryPoint>& curve,
                                         double makespan_us) {
  std::vector<std::int64_t> most(kChartColumns);
  const auto column_of = [&](double us) {
    const double column = makespan_us > 0 ? us / makespan_us * kChartColumns : 0;
    return std::min(static_cast<std::size_t>(column), kChartColumns - 1);
  };
  for (std::size_t at = 0; at < curve.size(); ++at) {
    const double until_us = at + 1 < curve.size() ? curve[at + 1].at_us : makespan_us;
    for (std::size_t column = column_of(curve[at].at_us); column <= column_of(until_us); ++column) {
      most[column] = std::max(most[column], curve[at].bytes);
    }
  }
  return most;
}

// What fills a memory at its peak.
struct Contents {
  struct Scope {
    std::string name{};
    std::int64_t weights = 0;  // and optimizer slots
    std::int64_t tensors = 0;

    std::int64_t bytes() const { return weights + tensors; }
  };

  std::int64_t weights = 0;
  std::vector<Allocation> largest{};  // of the tensors
  std::size_t num_tensors = 0;
  std::vector<Scope> scopes{};  // the largest
  std::size_t num_scopes = 0;
};

// Names of layers mostly have a second element that numbers them.
std::string_view scope_of(const Op& op) {
  const std::string_view scope = op.scope;
  return scope.substr(
      0, scope.find(
             '/', scope.find('/') == std::string_view::npos ? scope.size() : scope.find('/') + 1));
}

Contents contents_of(const PlacedStep& step, DeviceId device, double at_us) {
  const Problem& problem = step.problem();
  Contents contents;
  std::map<std::string_view, Contents::Scope> scopes;
  for (OpId op = 0; op < problem.num_ops(); ++op) {
    const Op& facts = problem.op(op);
    if (step.record.placement[problem.grouping().group_of(op)] == device) {
      contents.weights += facts.persistent_bytes;
      scopes[scope_of(facts)].weights += facts.persistent_bytes;
    }
  }
  contents.largest = live_allocations(problem, step.record, device, at_us);
  for (const Allocation& allocation : contents.largest) {
    scopes[scope_of(problem.op(allocation.op))].tensors += allocation.bytes;
  }
  contents.num_tensors = contents.largest.size();
  contents.largest.resize(std::min(contents.num_tensors, kMostNamed));
  for (auto& [name, scope] : scopes) {
    if (scope.bytes() > 0) {
      scope.name = name.empty() ? "(no scope)" : std::string(name);
      contents.scopes.push_back(std::move(scope));
    }
  }
  std::ranges::stable_sort(contents.scopes, std::ranges::greater(), &Contents::Scope::bytes);
  contents.num_scopes = contents.scopes.size();
  contents.scopes.resize(std::min(contents.num_scopes, kMostNamed));
  return contents;
}

std::string_view kind_of(const Allocation& allocation) {
  return allocation.kind == Allocation::Kind::kOutput ? "output"
         : allocation.kind == Allocation::Kind::kCopy ? "copy"
                                                      : "workspace";
}

std::string more_text(std::size_t all) {
  return all > kMostNamed ? fmt::format(" ({} more not shown)", all - kMostNamed) : "";
}

std::string contents_to_text(const PlacedStep& step, const Contents& contents,
                             std::int64_t peak_bytes) {
  constexpr bench::TextTable::Align kRight = bench::TextTable::Align::kRight;
  const auto share = [&](std::int64_t bytes) {
    return fmt::format(
        "{:.1f}",
        peak_bytes > 0 ? 100 * static_cast<double>(bytes) / static_cast<double>(peak_bytes) : 0);
  };
  bench::TextTable tensors(
      {{"tensor"}, {"kind", bench::TextTable::Align::kLeft, 3}, {"GB", kRight}, {"%", kRight, 1}});
  tensors.add_row(
      {"weights and optimizer slots", "", gigabytes(contents.weights), share(contents.weights)});
  for (const Allocation& allocation : contents.largest) {
    tensors.add_row({tensor_name(step, allocation), std::string(kind_of(allocation)),
                     gigabytes(allocation.bytes), share(allocation.bytes)});
  }
  bench::TextTable scopes({{"scope"},
                           {"weights [GB]", kRight, 2},
                           {"tensors [GB]", kRight, 2},
                           {"GB", kRight},
                           {"%", kRight, 1}});
  for (const Contents::Scope& scope : contents.scopes) {
    scopes.add_row({scope.name, gigabytes(scope.weights), gigabytes(scope.tensors),
                    gigabytes(scope.bytes()), share(scope.bytes())});
  }
  return fmt::format(
      "\nThe largest tensors at the peak{}\n{}\nThe largest scopes at the peak{}\n{}",
      more_text(contents.num_tensors), tensors.to_terminal(false, table_width()),
      more_text(contents.num_scopes), scopes.to_terminal(false, table_width()));
}

}  // namespace

DeviceId find_device(const PlacedStep& step, std::string_view name) {
  std::vector<std::string> names;
  for (const DeviceUse& device : step.devices) {
    if (device.name == name) {
      return static_cast<DeviceId>(names.size());
    }
    names.push_back(device.name);
  }
  throw_unknown_name("device", name, names);
}

std::string memory_to_text(const PlacedStep& step, DeviceId device) {
  const Problem& problem = step.problem();
  const StepRecord& record = step.record;
  const std::vector<MemoryPoint> curve = memory_curve(problem, record, device);
  const MemoryPoint peak = peak_of(curve);
  const std::int64_t capacity = problem.memory_bytes(device);
  std::string text = fmt::format(
      "{} uses at most {:.3f} GB, {:.1f} % of its {:.3f} GB, at {:.3f} ms of {:.3f} ms\n\n",
      escape_terminal(step.devices[device].name), in_gb(peak.bytes),
      static_cast<double>(peak.bytes) / static_cast<double>(capacity) * 100, in_gb(capacity),
      peak.at_us / 1e3, record.makespan_us / 1e3);
  const std::vector<std::int64_t> most = most_by_column(curve, record.makespan_us);
  for (std::size_t row = 0; row < kRows; ++row) {
    // A row stands for what is above its lower edge.
    const double lower_edge =
        static_cast<double>(peak.bytes) * static_cast<double>(kRows - 1 - row) / kRows;
    std::string line;
    for (const std::int64_t bytes : most) {
      line += static_cast<double>(bytes) > lower_edge ? '#' : ' ';
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += row == 0 ? fmt::format("{:>10.3f} GB |{}\n", in_gb(peak.bytes), line)
                     : fmt::format("{:13} |{}\n", "", line);
  }
  text += fmt::format("{:>10.3f} GB +{}\n", 0.0, std::string(kChartColumns, '-'));
  text += fmt::format("{:14}0{:>{}.3f} ms\n", "", record.makespan_us / 1e3, kChartColumns - 3);
  return text + contents_to_text(step, contents_of(step, device, peak.at_us), peak.bytes);
}

Json memory_to_json(const PlacedStep& step, DeviceId device) {
  const std::vector<MemoryPoint> curve = memory_curve(step.problem(), step.record, device);
  Json points = Json::array();
  for (const MemoryPoint& point : curve) {
    points.push_back(Json::array({point.at_us, point.bytes}));
  }
  const MemoryPoint peak = peak_of(curve);
  const Contents contents = contents_of(step, device, peak.at_us);
  Json tensors = Json::array();
  for (const Allocation& allocation : contents.largest) {
    tensors.push_back({{"name", tensor_name(step, allocation)},
                       {"kind", kind_of(allocation)},
                       {"bytes", allocation.bytes},
                       {"from_us", allocation.from_us},
                       {"until_us", allocation.until_us}});
  }
  Json scopes = Json::array();
  for (const Contents::Scope& scope : contents.scopes) {
    scopes.push_back(
        {{"name", scope.name}, {"weight_bytes", scope.weights}, {"tensor_bytes", scope.tensors}});
  }
  return {{"schema_version", 1},
          {"graph", step.graph},
          {"cluster", step.cluster},
          {"placed_by", step.placed_by},
          {"device", step.devices[device].name},
          {"step_time_us", step.record.makespan_us},
          {"capacity_bytes", step.problem().memory_bytes(device)},
          {"peak_bytes", peak.bytes},
          {"peak_at_us", peak.at_us},
          {"weight_bytes", contents.weights},
          {"largest_tensors", std::move(tensors)},
          {"largest_scopes", std::move(scopes)},
          {"curve", std::move(points)}};
}

}  // namespace emplace::cli
