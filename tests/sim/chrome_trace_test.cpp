#include "support/problems.hpp"

#include <emplace/graphs/catalog.hpp>
#include <emplace/sim/chrome_trace.hpp>
#include <emplace/sim/simulator.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace emplace::chrome_trace_test {
namespace {

using nlohmann::json;

json trace_of(const Problem& problem, const Placement& placement) {
  Simulator simulator(problem);
  return json::parse(write_chrome_trace(problem, simulator.record(placement)));
}

std::vector<json> events(const json& trace, const std::string& phase) {
  std::vector<json> found;
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] == phase) {
      found.push_back(event);
    }
  }
  return found;
}

// The diamond with c on the other device: two transfers of 10 bytes, a to c and c to d.
json diamond_trace() {
  const Problem problem = test::make_problem(test::diamond_graph(10), {.num_devices = 2});
  return trace_of(problem, Placement(std::vector<DeviceId>{0, 0, 1, 0}));
}

TEST(ChromeTrace, HasASliceForEachOpAndTransfer) {
  const std::vector<json> slices = events(diamond_trace(), "X");
  ASSERT_EQ(slices.size(), 4U + 2U);
  const auto transfers = std::count_if(slices.begin(), slices.end(), [](const json& slice) {
    return slice["cat"] == "transfer" && slice["args"]["bytes"] == 10;
  });
  EXPECT_EQ(transfers, 2);
}

TEST(ChromeTrace, ArrowsLeadFromProducerThroughTransferToConsumer) {
  const json trace = diamond_trace();
  ASSERT_EQ(events(trace, "s").size(), 2U);
  ASSERT_EQ(events(trace, "t").size(), 2U);
  ASSERT_EQ(events(trace, "f").size(), 2U);
  // a starts at 0 on device 0 (process 1), is sent at 100, and c starts at 110 on process 2.
  EXPECT_EQ(events(trace, "s")[0]["ts"], 0);
  EXPECT_EQ(events(trace, "t")[0]["ts"], 100);
  EXPECT_EQ(events(trace, "f")[0]["ts"], 110);
  EXPECT_EQ(events(trace, "f")[0]["pid"], 2);
}

TEST(ChromeTrace, SlicesOfAThreadDoNotOverlapAndMemoryEndsWherePersistentBytesBegin) {
  auto graph = std::make_shared<const OpGraph>(load_graph("inception-v3:batch=2"));
  Grouping grouping = group_ops(*graph);
  const Problem problem(graph, std::move(grouping),
                        std::make_shared<const Cluster>(load_cluster("p2-8xlarge-2")));
  Placement placement(problem.num_groups());
  for (GroupId group = 0; group < problem.num_groups(); ++group) {
    placement[group] = group % 2;
  }
  Simulator simulator(problem);
  const StepRecord record = simulator.record(placement);
  const json trace = json::parse(write_chrome_trace(problem, record));

  std::map<std::pair<int, int>, std::vector<std::pair<double, double>>> slices;
  for (const json& slice : events(trace, "X")) {
    const double begin = slice["ts"];
    slices[{slice["pid"], slice["tid"]}].emplace_back(begin, begin + slice["dur"].get<double>());
  }
  for (auto& [thread, intervals] : slices) {
    std::sort(intervals.begin(), intervals.end());
    for (std::size_t i = 1; i < intervals.size(); ++i) {
      EXPECT_LE(intervals[i - 1].second, intervals[i].first + 0.0015);  // rounded to nanoseconds
    }
  }

  std::map<int, std::vector<std::int64_t>> live;
  for (const json& counter : events(trace, "C")) {
    live[counter["pid"]].push_back(counter["args"]["bytes"]);
  }
  for (DeviceId device = 0; device < problem.num_devices(); ++device) {
    const std::vector<std::int64_t>& bytes = live[device + 1];
    EXPECT_EQ(bytes.front(), bytes.back());
    EXPECT_EQ(*std::max_element(bytes.begin(), bytes.end()), record.peak_bytes[device]);
  }
}

TEST(ChromeTrace, ADeviceWithOneSlotHasOneComputeThread) {
  auto graph = std::make_shared<const OpGraph>(load_graph("inception-v3:batch=2"));
  Grouping grouping = group_ops(*graph);
  const Problem problem(graph, std::move(grouping),
                        std::make_shared<const Cluster>(load_cluster("cpu-gpu")));
  Simulator simulator(problem);
  const json trace =
      json::parse(write_chrome_trace(problem, simulator.record(Placement(problem.num_groups()))));
  for (const json& slice : events(trace, "X")) {
    EXPECT_EQ(slice["tid"], 1) << slice["name"];
  }
}

TEST(ChromeTrace, NamesAreEscaped) {
  const Problem problem = test::make_problem(
      test::make_graph({{.name = "quote\" back\\slash \n \xc3\xa9"}}), {.num_devices = 1});
  const json trace = trace_of(problem, Placement(1));
  EXPECT_EQ(events(trace, "X")[0]["name"], "quote\" back\\slash \n \xc3\xa9");
}

}  // namespace
}  // namespace emplace::chrome_trace_test
