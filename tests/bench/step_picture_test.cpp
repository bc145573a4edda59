#include "support/machines.hpp"
#include "support/problems.hpp"
#include "support/well_formed.hpp"

#include <emplace/bench/step_picture.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/grouping.hpp>
#include <emplace/sim/simulator.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace emplace::bench::step_picture_test {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string picture_of(const Problem& problem, std::vector<DeviceId> devices,
                       const std::string& caption = "") {
  Simulator simulator(problem);
  return draw_step(problem, simulator.record(Placement(std::move(devices))), caption);
}

// a, b and d on one device, c on the other: 10 bytes from a to c, and from c to d.
std::string diamond_picture() {
  return picture_of(test::make_problem(test::diamond_graph(10)), {0, 0, 1, 0}, "by <hand>");
}

TEST(StepPicture, HasARowForEachDeviceAndABoxForWhatItRuns) {
  const std::string svg = diamond_picture();
  EXPECT_TRUE(test::is_well_formed(svg)) << svg;
  EXPECT_THAT(svg, HasSubstr(">gpu:0</text>"));
  EXPECT_THAT(svg, HasSubstr(">gpu:1</text>"));
  EXPECT_THAT(svg, HasSubstr(">by &lt;hand&gt;</text>"));
  // a for 100 us and b for 200 on the first; c from 110 to 310, then d from 320 to 370.
  EXPECT_THAT(svg, HasSubstr("diamond on test: one step in 370 us"));
  EXPECT_THAT(svg, HasSubstr("<title>forward: 2 ops, 0 us to 300 us</title>"));
  EXPECT_THAT(svg, HasSubstr("<title>forward: 1 op, 110 us to 310 us</title>"));
  EXPECT_THAT(svg, HasSubstr("<title>1 transfer, 0.01 kB, 100 us to 110 us</title>"));
  EXPECT_THAT(svg, HasSubstr("<title>critical path</title>"));
  EXPECT_THAT(svg, HasSubstr(">time [us]</text>"));
  EXPECT_EQ(svg, diamond_picture());
}

TEST(StepPicture, LeavesOutDevicesThatDoNothing) {
  const std::string svg =
      picture_of(test::make_problem(test::diamond_graph(10), {.num_devices = 4}), {0, 0, 3, 0});
  EXPECT_THAT(svg, HasSubstr(">gpu:3</text>"));
  EXPECT_THAT(svg, Not(HasSubstr(">gpu:1</text>")));
}

// Without a limit each device would have some 150 boxes.
TEST(StepPicture, HasABoundedNumberOfMarks) {
  constexpr DeviceId kDevices = 400;
  constexpr int kOps = 300;  // of each device
  std::vector<test::OpSketch> ops;
  std::vector<DeviceId> devices;
  for (DeviceId device = 0; device < kDevices; ++device) {
    for (int op = 0; op < kOps; ++op) {
      ops.push_back({.name = std::to_string(ops.size()), .scope = "layer" + std::to_string(op)});
      devices.push_back(device);
    }
  }
  const std::string svg = picture_of(
      test::make_problem(test::make_graph(ops), {.num_devices = kDevices}), std::move(devices));
  std::size_t boxes = 0;
  for (std::size_t at = svg.find("<rect"); at != std::string::npos;
       at = svg.find("<rect", at + 1)) {
    ++boxes;
  }
  EXPECT_GT(boxes, std::size_t{20} * kDevices);
  EXPECT_LT(boxes, 50'000U + 2 * kDevices);
  EXPECT_THAT(svg, HasSubstr(">gpu:399</text>"));
}

TEST(StepPicture, NamesLayersWhereThereIsRoom) {
  const std::string svg = picture_of(
      test::make_problem(test::make_graph({{.name = "a", .cost_us = 500, .scope = "stem/conv"},
                                           {.name = "b", .cost_us = 1, .scope = "thin/conv"},
                                           {.name = "c", .cost_us = 500, .scope = "<head>/fc"}})),
      {0, 0, 0});
  EXPECT_TRUE(test::is_well_formed(svg)) << svg;
  EXPECT_THAT(svg, HasSubstr(">stem/conv</text>"));
  EXPECT_THAT(svg, HasSubstr(">&lt;head&gt;/fc</text>"));
  // What is thinner than a few pixels is one with its neighbour.
  EXPECT_THAT(svg, Not(HasSubstr("thin")));
  EXPECT_THAT(svg, HasSubstr("stem/conv, forward: 2 ops"));
}

TEST(StepPicture, DrawsSlotsOfADeviceBelowOneAnother) {
  const auto cluster = test::make_machine(1, test::bus(1, {.bytes_per_us = 1}), {.slots = 2});
  const std::string svg =
      picture_of(test::make_problem(test::fork_join_graph(2, 0), cluster), {0, 0, 0, 0});
  // Two ops of 100 us at once, after one of 10 us.
  EXPECT_THAT(svg, HasSubstr("forward: 1 op, 10 us to 110 us"));
  EXPECT_THAT(svg, HasSubstr("% busy, peak"));
  EXPECT_TRUE(test::is_well_formed(svg));
}

TEST(StepPicture, AStepWithoutMemoryOrTimeHasAPictureToo) {
  const std::string full = picture_of(
      test::make_problem(test::make_graph({{.name = "a", .persistent_bytes = 2'000'000'000}})),
      {0});
  EXPECT_TRUE(test::is_well_formed(full));
  EXPECT_THAT(full, HasSubstr("out of memory on gpu:0"));
  const std::string none =
      picture_of(test::make_problem(test::make_graph({{.name = "a", .cost_us = 0}})), {0});
  EXPECT_TRUE(test::is_well_formed(none));
}

TEST(StepPicture, AThousandOpsAreASmallPicture) {
  auto graph = std::make_shared<const OpGraph>(load_graph("inception-v3:batch=4"));
  Grouping grouping = group_ops(*graph, 40);
  const Problem problem(std::move(graph), std::move(grouping),
                        test::make_cluster({.num_devices = 3}));
  std::vector<DeviceId> devices;
  for (GroupId group = 0; group < problem.num_groups(); ++group) {
    devices.push_back(group % 3);
  }
  const std::string svg = picture_of(problem, devices);
  EXPECT_TRUE(test::is_well_formed(svg));
  EXPECT_LT(svg.size(), 60'000U);
  EXPECT_EQ(svg, picture_of(problem, devices));
}

}  // namespace
}  // namespace emplace::bench::step_picture_test
