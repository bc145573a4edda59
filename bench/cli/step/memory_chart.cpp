#include "memory_chart.hpp"

#include <emplace/base/error.hpp>
#include <emplace/base/escape.hpp>
#include <emplace/base/json.hpp>
#include <emplace/bench/text_table.hpp>
#include <emplace/sim/memory_curve.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace emplace::cli {
namespace {

constexpr std::size_t kChartColumns = 60;
constexpr std::size_t kRows = 10;

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
  return text +
         fmt::format("{:14}0{:>{}.3f} ms\n", "", record.makespan_us / 1e3, kChartColumns - 3);
}

Json memory_to_json(const PlacedStep& step, DeviceId device) {
  const std::vector<MemoryPoint> curve = memory_curve(step.problem(), step.record, device);
  Json points = Json::array();
  for (const MemoryPoint& point : curve) {
    points.push_back(Json::array({point.at_us, point.bytes}));
  }
  const MemoryPoint peak = peak_of(curve);
  return {{"schema_version", 1},
          {"graph", step.graph},
          {"cluster", step.cluster},
          {"placed_by", step.placed_by},
          {"device", step.devices[device].name},
          {"step_time_us", step.record.makespan_us},
          {"capacity_bytes", step.problem().memory_bytes(device)},
          {"peak_bytes", peak.bytes},
          {"peak_at_us", peak.at_us},
          {"curve", std::move(points)}};
}

}  // namespace emplace::cli
