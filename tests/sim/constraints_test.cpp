#include "support/problems.hpp"

#include <emplace/base/error.hpp>
#include <emplace/profiles/constraints.hpp>
#include <emplace/sim/bounds.hpp>
#include <emplace/sim/memory_shortage.hpp>
#include <emplace/sim/placement_file.hpp>
#include <emplace/sim/problem.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace emplace::sim_constraints_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// a -> b -> c -> d, two layers of two; the first op of each shares its device with the second where
// ops are grouped by pairs.
OpGraph two_layers() {
  return test::make_graph({{.name = "a", .cost_us = 10, .scope = "one/x"},
                           {.name = "b", .cost_us = 20, .producers = {0}, .scope = "one/y"},
                           {.name = "c", .cost_us = 30, .producers = {1}, .scope = "two"},
                           {.name = "d", .cost_us = 40, .producers = {2}, .scope = "two"}});
}

Problem constrained(const Constraints& constraints, std::vector<GroupId> groups = {0, 1, 2, 3}) {
  auto cluster = std::make_shared<Cluster>(*test::make_cluster({.with_cpu = true}));
  constrain(*cluster, constraints);
  return {std::make_shared<const OpGraph>(two_layers()), Grouping(std::move(groups)),
          std::move(cluster)};
}

std::string error_of(const Constraints& constraints, std::vector<GroupId> groups = {0, 1, 2, 3}) {
  try {
    constrained(constraints, std::move(groups));
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::vector<DeviceId> kept(const Problem& problem, std::vector<DeviceId> devices) {
  Placement placement(std::move(devices));
  problem.constrain(placement);
  return {placement.devices().begin(), placement.devices().end()};
}

TEST(GroupConstraints, KeepPinnedGroupsAndThoseThatMustBeTogether) {
  const Problem problem = constrained({.pins = {"two=gpu:1"}, .together = {"one"}});
  EXPECT_THAT(kept(problem, {0, 1, 0, 0}), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(kept(problem, {1, 0, 1, 0}), ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(problem.devices_for(0), ElementsAre(0, 1));
  EXPECT_THAT(problem.devices_for(2), ElementsAre(1));
  EXPECT_THAT(problem.constraints().tied_to(1), ElementsAre(0, 1));
  EXPECT_EQ(problem.constraints().class_of(2), problem.constraints().class_of(3));
  EXPECT_NE(problem.constraints().class_of(0), problem.constraints().class_of(2));
}

TEST(GroupConstraints, LeaveOtherProblemsAlone) {
  const Problem problem = constrained({});
  EXPECT_TRUE(problem.constraints().empty());
  EXPECT_THAT(kept(problem, {0, 1, 0, 1}), ElementsAre(0, 1, 0, 1));
}

TEST(GroupConstraints, PinAWholeGroupAndAllThatIsTied) {
  EXPECT_THAT(kept(constrained({.pins = {"b=gpu:1"}}, {0, 0, 1, 1}), {0, 0}), ElementsAre(1, 0));
  EXPECT_THAT(kept(constrained({.pins = {"d=gpu:1"}, .together = {"[ad]"}}), {0, 0, 0, 0}),
              ElementsAre(1, 0, 0, 1));
}

TEST(GroupConstraints, JoinSetsThatShareAnOp) {
  const Problem problem = constrained({.together = {"[ab]", "[bd]"}});
  EXPECT_THAT(kept(problem, {1, 0, 0, 0}), ElementsAre(1, 1, 0, 1));
}

TEST(GroupConstraints, NameContradictions) {
  EXPECT_THAT(error_of({.pins = {"one=gpu:0", "b=gpu:1"}}),
              testing::AllOf(HasSubstr("'b'"), HasSubstr("gpu:0"), HasSubstr("gpu:1")));
  EXPECT_THAT(error_of({.pins = {"a=gpu:0", "c=gpu:1"}, .together = {"*"}}),
              testing::AllOf(HasSubstr("'a'"), HasSubstr("'c'")));
  EXPECT_THAT(error_of({.pins = {"a=gpu:0", "b=gpu:1"}}, {0, 0, 1, 1}),
              testing::AllOf(HasSubstr("'a'"), HasSubstr("'b'")));
  EXPECT_THAT(error_of({.pins = {"three=gpu:0"}}), HasSubstr("'three'"));
  EXPECT_THAT(error_of({.together = {"three"}}), HasSubstr("'three'"));
}

TEST(GroupConstraints, PinToDevicesThatNothingElseMayUse) {
  const Problem problem = constrained({.pins = {"a=cpu:0"}});
  EXPECT_THAT(problem.placeable_devices(), ElementsAre(0, 1));
  EXPECT_THAT(problem.used_devices(), ElementsAre(0, 1, 2));
  EXPECT_THAT(problem.devices_for(0), ElementsAre(2));
  EXPECT_THAT(kept(problem, {0, 0, 1, 1}), ElementsAre(2, 0, 1, 1));
  // The CPU is ten times slower; without a pin no op runs there.
  EXPECT_DOUBLE_EQ(lower_bounds(problem).best_us(), lower_bounds(constrained({})).best_us());
}

TEST(GroupConstraints, CountTheMemoryOfPinnedDevicesAndNoMoreThanTheLimits) {
  const OpGraph weights = test::make_graph(
      {{.name = "table", .persistent_bytes = 900}, {.name = "net", .persistent_bytes = 900}});
  const auto shortage = [&](DeviceId num_devices, const Constraints& constraints) {
    auto cluster = std::make_shared<Cluster>(
        *test::make_cluster({.num_devices = num_devices, .memory_bytes = 1000, .with_cpu = true}));
    constrain(*cluster, constraints);
    return find_memory_shortage(Problem(std::make_shared<const OpGraph>(weights), Grouping({0, 1}),
                                        std::move(cluster)))
        .has_value();
  };
  EXPECT_TRUE(shortage(1, {}));
  EXPECT_FALSE(shortage(1, {.pins = {"table=cpu:0"}}));
  EXPECT_FALSE(shortage(2, {}));
  EXPECT_TRUE(shortage(2, {.memory = {"gpu:1=800B"}}));
}

TEST(PlacementFile, ThatBreaksAConstraintIsRefused) {
  const Problem problem = constrained({.pins = {"c=gpu:1"}});
  const std::string file =
      write_placement_json(problem, Placement(std::vector<DeviceId>{0, 0, 0, 0}));
  const Placement read = read_placement_json(file, "file", problem);
  try {
    require_constraints(problem, read, "p.json");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                testing::AllOf(HasSubstr("p.json"), HasSubstr("'c'"), HasSubstr("gpu:1")));
  }
  EXPECT_NO_THROW(
      require_constraints(problem, Placement(std::vector<DeviceId>{0, 0, 1, 0}), "p.json"));
}

}  // namespace
}  // namespace emplace::sim_constraints_test
