#include "support/errors.hpp"
#include "support/graphs.hpp"
#include "support/problems.hpp"

#include <emplace/bench/case_file.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/grouping_strategy.hpp>
#include <emplace/sim/placement_file.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace emplace::placement_file_test {
namespace {

using bench::read_case;
using bench::SimulationCase;
using ::testing::HasSubstr;

// Two ops, "a" and "b", on devices gpu:0 and gpu:1.
SimulationCase two_ops() {
  return read_case(R"({"name":"two","devices":2,
      "nodes":[{"id":0,"name":"a","cost_us":1,"outputs":[8]},{"id":1,"name":"b","cost_us":1,"outputs":[8]}],
      "edges":[[0,0,1]],"placements":[]})",
                   "two");
}

TEST(PlacementFile, ReadsBackWhatItWrote) {
  const SimulationCase two = two_ops();
  const Placement placement(std::vector<DeviceId>{1, 0});
  const std::string text = write_placement_json(two.problem, placement);
  EXPECT_EQ(read_placement_json(text, "p.json", two.problem), placement);
}

// Ops of further micro-batches are where those of the first are.
TEST(PlacementFile, OfMicroBatchesIsThatOfTheStepInOnePiece) {
  const auto problem_of = [](const std::string& graph) {
    auto loaded = std::make_shared<const OpGraph>(load_graph(graph));
    Grouping groups = find_grouping("colocation").group(*loaded, 1);
    return Problem(std::move(loaded), std::move(groups),
                   std::make_shared<const Cluster>(load_cluster("p2-8xlarge-4")));
  };
  const Problem whole = problem_of("vgg-16:batch=4");
  const Problem cut = problem_of("vgg-16:batch=4,micro-batches=3");
  Placement placement(whole.num_groups());
  for (GroupId group = 0; group < whole.num_groups(); ++group) {
    placement[group] = group % 4;
  }
  const std::string text = write_placement_json(whole, placement);
  const Placement of_cut = read_placement_json(text, "p.json", cut);
  EXPECT_EQ(read_placement_json(write_placement_json(cut, of_cut), "p.json", whole), placement);
  const auto device_of = [](const Problem& problem, const Placement& devices, const char* name) {
    return devices[problem.grouping().group_of(test::op_named(problem.graph(), name))];
  };
  EXPECT_EQ(device_of(cut, of_cut, "fc6/matmul#2"), device_of(whole, placement, "fc6/matmul"));
}

// As the command reads a placement that has other groups.
TEST(PlacementFile, PlacesCopiesForMicroBatchesWithoutGroups) {
  auto graph = std::make_shared<const OpGraph>(load_graph("vgg-16:batch=8,micro-batches=3"));
  const auto cluster = test::make_cluster({.num_devices = 4});
  const Problem grouped(graph, find_grouping("colocation").group(*graph, 1), cluster);
  const Problem ungrouped(graph, emplace::ungrouped(*graph), cluster);
  Placement placement(grouped.num_groups());
  IdVector<GroupId, Priority> priorities;
  for (GroupId group = 0; group < grouped.num_groups(); ++group) {
    placement[group] = group % 4;
    priorities.push_back(group);
  }
  placement.set_priorities(priorities);
  const Placement read =
      read_placement_json(write_placement_json(grouped, placement), "p.json", ungrouped);
  for (OpId op = 0; op < grouped.num_ops(); ++op) {
    const GroupId group = grouped.grouping().group_of(op);
    EXPECT_EQ(read[GroupId(op)], placement[group]);
    EXPECT_EQ(read.priorities()[GroupId(op)], priorities[group]);
  }
}

TEST(PlacementFile, NeedsADeviceForEachGroup) {
  OpGraph graph = test::chain_graph({1, 1}, 0);
  graph[1].micro_batch = 1;
  const Problem problem = test::make_problem(graph);
  EXPECT_EQ(test::error_of(
                ErrorCode::kFormat,
                [&] {
                  read_placement_json(
                      R"({"schema":"emplace-placement","version":1,"devices":{"op_0":"gpu:0"}})",
                      "p.json", problem);
                }),
            "p.json: /devices: the op 'op_1' has no device, and shares none with an op of the "
            "first micro-batch");
}

TEST(PlacementFile, KeepsPriorities) {
  const SimulationCase two = two_ops();
  Placement placement(std::vector<DeviceId>{1, 0});
  placement.set_priorities(std::vector<Priority>{-5, 7});
  const std::string text = write_placement_json(two.problem, placement);
  EXPECT_THAT(text, HasSubstr("\"priorities\": {\n    \"a\": -5,\n    \"b\": 7\n  }"));
  EXPECT_EQ(read_placement_json(text, "p.json", two.problem), placement);
}

TEST(PlacementFile, AGroupHasTheHighestPriorityOfItsMembers) {
  const SimulationCase two = two_ops();
  const Problem grouped(std::make_shared<OpGraph>(two.problem.graph()), Grouping({0, 0}),
                        std::make_shared<Cluster>(two.problem.cluster()));
  const std::string text =
      R"({"schema":"emplace-placement","version":1,"devices":{"a":"gpu:0","b":"gpu:0"},)"
      R"("priorities":{"a":-5,"b":-7}})";
  const Placement placement = read_placement_json(text, "p.json", grouped);
  EXPECT_THAT(placement.priorities(), testing::ElementsAre(-5));
}

TEST(PlacementFile, RefusesToPartAGroup) {
  const SimulationCase two = two_ops();
  const Problem grouped(std::make_shared<OpGraph>(two.problem.graph()), Grouping({0, 0}),
                        std::make_shared<Cluster>(two.problem.cluster()));
  const std::string text =
      R"({"schema":"emplace-placement","version":1,"devices":{"a":"gpu:0","b":"gpu:1"}})";
  EXPECT_NO_THROW(read_placement_json(text, "p.json", two.problem));
  EXPECT_THROW(read_placement_json(text, "p.json", grouped), Error);
}

struct BadFile {
  const char* what;
  std::string text;
  const char* message;
};

class BadPlacement : public ::testing::TestWithParam<BadFile> {};

TEST_P(BadPlacement, IsRefusedWithFileAndPlace) {
  const SimulationCase two = two_ops();
  EXPECT_THAT(test::error_of(ErrorCode::kFormat,
                             [&] { read_placement_json(GetParam().text, "p.json", two.problem); }),
              testing::AllOf(HasSubstr("p.json"), HasSubstr(GetParam().message)));
}

std::string with_devices(const std::string& devices) {
  return R"({"schema":"emplace-placement","version":1,"devices":)" + devices + "}";
}

std::string with_priorities(const std::string& priorities) {
  return R"({"schema":"emplace-placement","version":1,"devices":{"a":"gpu:0","b":"gpu:0"},)"
         R"("priorities":)" +
         priorities + "}";
}

const BadFile kBadFiles[] = {
    {"empty", "", ""},
    {"truncated", with_devices(R"({"a":"gpu:0")"), ""},
    {"not_an_object", "[]", "object"},
    {"other_schema", R"({"schema":"emplace-graph","version":1,"devices":{}})", "/schema"},
    {"later_version", R"({"schema":"emplace-placement","version":2,"devices":{}})", "/version"},
    {"missing_devices", R"({"schema":"emplace-placement","version":1})", "devices"},
    {"unknown_member", R"({"schema":"emplace-placement","version":1,"devcies":{}})", "devcies"},
    {"other_graph",
     R"({"schema":"emplace-placement","version":1,"graph":"vgg","devices":{"c":"gpu:0"}})",
     "p.json: a placement of 'vgg', this is 'two': the graph 'two' has no op 'c'"},
    {"ops_missing_of_another_graph",
     R"({"schema":"emplace-placement","version":1,"graph":"vgg","devices":{"a":"gpu:0"}})",
     "p.json: a placement of 'vgg', this is 'two': the op 'b' has no device"},
    {"other_cluster",
     R"({"schema":"emplace-placement","version":1,"cluster":"big","devices":{"a":"gpu:9"}})",
     "p.json: a placement on 'big', this is 'case': the cluster 'case' has no device 'gpu:9'"},
    {"graph_is_no_text", R"({"schema":"emplace-placement","version":1,"graph":7,"devices":{}})",
     "/graph"},
    {"unknown_op", with_devices(R"({"a":"gpu:0","b":"gpu:0","c":"gpu:0"})"), "/devices/c"},
    {"unknown_device", with_devices(R"({"a":"gpu:0","b":"gpu:7"})"), "gpu:7"},
    {"missing_op", with_devices(R"({"a":"gpu:0"})"), "'b'"},
    {"priority_of_unknown_op", with_priorities(R"({"a":1,"b":2,"c":3})"), "/priorities/c"},
    {"op_without_priority", with_priorities(R"({"a":1})"),
     "/priorities: the op 'b' has no priority"},
    {"text_for_priority", with_priorities(R"({"a":"1","b":2})"), "/priorities/a"},
    {"fraction_for_priority", with_priorities(R"({"a":1.5,"b":2})"), "/priorities/a"},
    {"priority_beyond_32_bits", with_priorities(R"({"a":1,"b":2147483648})"), "/priorities/b"},
    {"list_of_priorities", with_priorities("[1,2]"), "/priorities"},
    {"number_for_device", with_devices(R"({"a":0,"b":"gpu:0"})"), "/devices/a"},
    {"duplicate_op", with_devices(R"({"a":"gpu:0","a":"gpu:1","b":"gpu:0"})"), "a"},
    {"not_utf8", with_devices("{\"a\":\"gpu:\xff\",\"b\":\"gpu:0\"}"), ""},
};

INSTANTIATE_TEST_SUITE_P(All, BadPlacement, ::testing::ValuesIn(kBadFiles),
                         [](const auto& bad) { return std::string(bad.param.what); });

}  // namespace
}  // namespace emplace::placement_file_test
