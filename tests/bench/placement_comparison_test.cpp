#include "support/errors.hpp"
#include "support/problems.hpp"

#include <emplace/bench/placement_comparison.hpp>
#include <emplace/sim/simulator.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace emplace::bench::placement_comparison_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A chain stem -> a -> b -> head; a and b are in one block.
Problem chain() {
  return test::make_problem(test::make_graph({
      {.name = "stem/op", .cost_us = 10, .output_bytes = 20, .scope = "stem"},
      {.name = "a/op", .cost_us = 50, .output_bytes = 20, .producers = {0}, .scope = "block/a"},
      {.name = "b/op", .cost_us = 30, .output_bytes = 20, .producers = {1}, .scope = "block/b"},
      {.name = "head", .cost_us = 5, .producers = {2}},
  }));
}

SimulatedPlacement simulated(const std::string& name, const Problem& problem,
                             std::vector<DeviceId> devices) {
  return {.name = name,
          .graph = "chain",
          .cluster = "two",
          .problem = problem,
          .record = Simulator(problem).record(Placement(std::move(devices)))};
}

MATCHER_P5(Moved, what, ops, from, to, us, "") {
  return arg.what == what && arg.ops == ops && arg.from == from && arg.to == to &&
         arg.from_us == us && arg.to_us == us;
}

TEST(PlacementComparison, FoldsWhatMovedIntoTheOutermostScope) {
  const Problem problem = chain();
  const std::string zero = problem.device(0).name;
  const std::string one = problem.device(1).name;
  const PlacementComparison comparison = compare_placements(std::vector{
      simulated("first", problem, {0, 0, 0, 0}), simulated("same", problem, {0, 0, 0, 0}),
      simulated("block", problem, {0, 1, 1, 0}), simulated("half", problem, {0, 0, 1, 1})});
  EXPECT_TRUE(comparison.placements[0].moved.empty());
  EXPECT_TRUE(comparison.placements[1].moved.empty());
  EXPECT_THAT(comparison.placements[2].moved, ElementsAre(Moved("block", 2, zero, one, 80.0)));
  // An op without a scope has its own name.
  EXPECT_THAT(comparison.placements[3].moved,
              ElementsAre(Moved("block/b", 1, zero, one, 30.0), Moved("head", 1, zero, one, 5.0)));
}

TEST(PlacementComparison, TellsWhatDevicesAndLinksGainedAndLost) {
  const Problem problem = chain();
  const PlacementComparison comparison = compare_placements(std::vector{
      simulated("first", problem, {0, 0, 0, 0}), simulated("block", problem, {0, 1, 1, 0})});
  const ComparedPlacement& first = comparison.placements[0];
  const ComparedPlacement& block = comparison.placements[1];
  EXPECT_EQ(first.over_first, 0);
  EXPECT_EQ(block.over_first, block.step_time_us / first.step_time_us - 1);
  EXPECT_GT(block.over_first, 0);  // a chain gains nothing from a second device
  EXPECT_GT(block.exposed_us, 0);
  std::int64_t bytes = 0;
  double path_us = 0;
  for (const ComparedResource& resource : comparison.resources) {
    ASSERT_TRUE(resource.uses[0] && resource.uses[1]) << resource.name;
    const ComparedResource::Use in_first = resource.uses[0].value_or(ComparedResource::Use());
    const ComparedResource::Use in_block = resource.uses[1].value_or(ComparedResource::Use());
    path_us += in_block.path_us;
    if (!resource.is_device) {
      EXPECT_EQ(in_first.bytes, 0);
      bytes += in_block.bytes;
    } else {
      const double gained_us = in_block.busy_us - in_first.busy_us;
      EXPECT_EQ(gained_us, resource.name == problem.device(0).name ? -80 : 80);
    }
  }
  EXPECT_EQ(bytes, 40);  // to the block and back
  EXPECT_NEAR(path_us, block.step_time_us, 1e-9);
}

TEST(PlacementComparison, DrawsTellHowLikelyAPlacementBeatsTheFirst) {
  const Problem problem = chain();
  const PlacementComparison comparison =
      compare_placements(std::vector{simulated("block", problem, {0, 1, 1, 0}),
                                     simulated("one", problem, {0, 0, 0, 0})},
                         DrawOptions{.draws = 20});
  const auto probability = [&](std::size_t placement) {
    return comparison.placements[placement]
        .draws.value_or(ComparedDraws())
        .against_first.probability;
  };
  EXPECT_EQ(probability(0), 0.5);
  EXPECT_EQ(probability(1), 1);
  SimulatedPlacement elsewhere = simulated("one", problem, {0, 0, 0, 0});
  elsewhere.cluster = "four";
  const std::vector placements{simulated("block", problem, {0, 1, 1, 0}), elsewhere};
  EXPECT_THAT(test::error_of(ErrorCode::kUsage,
                             [&] { compare_placements(placements, DrawOptions{.draws = 20}); }),
              HasSubstr("found chain on two and chain on four"));
}

TEST(PlacementComparison, RefusesOtherGraphs) {
  const Problem problem = chain();
  const Problem other = test::make_problem(test::make_graph({{.name = "stem/op", .cost_us = 10}}));
  const std::vector placements{simulated("first", problem, {0, 0, 0, 0}),
                               simulated("other", other, {0})};
  EXPECT_EQ(test::error_of(ErrorCode::kUsage, [&] { compare_placements(placements); }),
            "first is of chain, other of chain: expected the same ops, found 4 and 1");
}

TEST(PlacementComparison, IsWrittenInEachForm) {
  const Problem problem = chain();
  const PlacementComparison comparison = compare_placements(std::vector{
      simulated("first", problem, {0, 0, 0, 0}), simulated("<b>", problem, {0, 1, 1, 0})});
  const std::string text = write_terminal(comparison, 80);
  EXPECT_THAT(text, HasSubstr("Placements of chain on two\n"));
  EXPECT_THAT(text, HasSubstr("Moved from A to B\n"));
  EXPECT_THAT(write_markdown(comparison), HasSubstr("# Placements of chain on two\n"));
  EXPECT_THAT(write_html_tables(comparison), HasSubstr("&lt;b&gt;"));
  const auto json = nlohmann::json::parse(write_json(comparison));
  EXPECT_EQ(json["placements"][1]["moved"][0]["scope"], "block");
  EXPECT_EQ(json["placements"][1]["devices"].size(), 2U);
}

}  // namespace
}  // namespace emplace::bench::placement_comparison_test
