#include "agents/placing.hpp"
#include "support/problems.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace emplace::agents::human_expert_test {
namespace {

using testing::ElementsAre;

// A stem, a block of four branches with its concatenation, and a head, as Inception names them.
OpGraph inception_block() {
  return test::make_graph({{.name = "stem", .scope = "stem/conv_0"},
                           {.name = "b0", .producers = {0}, .scope = "mixed_5b/branch_0/conv_0"},
                           {.name = "b1", .producers = {0}, .scope = "mixed_5b/branch_1/conv_1"},
                           {.name = "b2", .producers = {0}, .scope = "mixed_5b/branch_2"},
                           {.name = "b3", .producers = {0}, .scope = "mixed_5b/branch_3/pool"},
                           {.name = "concat", .producers = {1, 2, 3, 4}, .scope = "mixed_5b"},
                           {.name = "head", .producers = {5}, .scope = "logits"}});
}

TEST(HumanExpert, SpreadsBranchesOverFourDevicesAsInTheReference) {
  EXPECT_THAT(place("human-expert", test::make_problem(inception_block(), {.num_devices = 4})),
              ElementsAre(0, 1, 2, 0, 3, 0, 0));
}

TEST(HumanExpert, TakesTheDeviceModuloTheirNumber) {
  EXPECT_THAT(place("human-expert", test::make_problem(inception_block())),
              ElementsAre(0, 1, 0, 0, 1, 0, 0));
}

TEST(HumanExpert, LetsTheBranchWithMostOfAGroupsTimeDecide) {
  auto graph = std::make_shared<const OpGraph>(
      test::make_graph({{.name = "a", .cost_us = 30, .scope = "block/branch_0/conv_0"},
                        {.name = "b", .cost_us = 20, .scope = "block"},
                        {.name = "c", .cost_us = 25, .scope = "block"},
                        {.name = "d", .cost_us = 20, .scope = "block/branch_0/conv_1"}}));
  const Problem problem(graph, Grouping({0, 0, 0, 0}), test::make_cluster({}));
  EXPECT_THAT(place("human-expert", problem), ElementsAre(1));  // 50 us in branch 0, 45 outside
}

TEST(HumanExpert, ReadsOnlyNumberedBranches) {
  const Problem problem =
      test::make_problem(test::make_graph({{.name = "a", .scope = "branch_x/branch_0"},
                                           {.name = "b", .scope = "branch_/b"},
                                           {.name = "c", .scope = "my_branch_0"},
                                           {.name = "d", .scope = "branch_5/branch_0"}}),
                         {.num_devices = 8});
  EXPECT_THAT(place("human-expert", problem), ElementsAre(1, 0, 0, 5));
}

// Two steps of an encoder and a decoder of two layers each, with attention between them.
OpGraph unrolled_translation() {
  return test::make_graph(
      {{.name = "words", .scope = "encoder/embedding"},
       {.name = "e0", .producers = {0}, .scope = "encoder/layer_0/forward/step_0"},
       {.name = "e1", .producers = {1}, .scope = "encoder/layer_1/step_0"},
       {.name = "keys", .producers = {2}, .scope = "attention"},
       {.name = "context", .producers = {3}, .scope = "attention/step_0"},
       {.name = "d0", .producers = {4}, .scope = "decoder/layer_0/step_0"},
       {.name = "d1", .producers = {5}, .scope = "decoder/layer_1/step_0"},
       {.name = "loss", .producers = {6}, .scope = "softmax/step_0"},
       {.name = "other", .producers = {7}, .scope = "summary"}});
}

TEST(HumanExpert, GivesEachRecurrentLayerADeviceAndTheTopToTheLast) {
  EXPECT_THAT(place("human-expert", test::make_problem(unrolled_translation())),
              ElementsAre(0, 0, 1, 1, 1, 0, 1, 1, 0));
}

TEST(HumanExpert, LeavesDevicesIdleThatHaveNoRecurrentLayer) {
  EXPECT_THAT(place("human-expert", test::make_problem(unrolled_translation(), {.num_devices = 4})),
              ElementsAre(0, 0, 1, 1, 1, 0, 1, 1, 0));
}

TEST(HumanExpert, SharesDevicesAmongMoreRecurrentLayersInTheirOrder) {
  std::vector<test::OpSketch> ops;
  for (int layer = 0; layer < 5; ++layer) {
    ops.push_back({.name = "l" + std::to_string(layer),
                   .scope = "layer_" + std::to_string(layer) + "/step_0"});
  }
  // Layer i of 5 on device i x 2 / 5 and i x 3 / 5, rounded down.
  EXPECT_THAT(place("human-expert", test::make_problem(test::make_graph(ops))),
              ElementsAre(0, 0, 0, 1, 1));
  EXPECT_THAT(place("human-expert", test::make_problem(test::make_graph(ops), {.num_devices = 3})),
              ElementsAre(0, 0, 1, 1, 2));
}

TEST(HumanExpert, TakesAttentionWithinALayerAsPartOfTheLayer) {
  const Problem problem = test::make_problem(
      test::make_graph({{.name = "a", .scope = "layer_0/attention/step_0"},
                        {.name = "b", .producers = {0}, .scope = "layer_1/attention/step_0"}}));
  EXPECT_THAT(place("human-expert", problem), ElementsAre(0, 1));
}

TEST(HumanExpert, PassesOverNumbersThatNoLayerHas) {
  const Problem problem = test::make_problem(
      test::make_graph({{.name = "a", .scope = "layer_0/step_0"},
                        {.name = "b", .scope = "layer_18446744073709551615/step_0"},
                        {.name = "c", .scope = "layer_1/step_0"}}));
  EXPECT_THAT(place("human-expert", problem), ElementsAre(0, 0, 1));
}

// Four layers of 10 us forward and 20 us backward: two of them make half of the work.
TEST(HumanExpert, CutsLayersInEqualPiecesAndKeepsBackwardWithForward) {
  const Problem problem = test::make_problem(
      test::make_graph({{.name = "f0", .cost_us = 10, .scope = "layer_0"},
                        {.name = "f1", .cost_us = 10, .producers = {0}, .scope = "layer_1"},
                        {.name = "f2", .cost_us = 10, .producers = {1}, .scope = "layer_2"},
                        {.name = "f3", .cost_us = 10, .producers = {2}, .scope = "layer_3"},
                        {.name = "b3", .cost_us = 20, .producers = {3}, .scope = "layer_3"},
                        {.name = "b2", .cost_us = 20, .producers = {4}, .scope = "layer_2"},
                        {.name = "b1", .cost_us = 20, .producers = {5}, .scope = "layer_1"},
                        {.name = "b0", .cost_us = 20, .producers = {6}, .scope = "layer_0"}}));
  EXPECT_THAT(place("human-expert", problem), ElementsAre(0, 0, 1, 1, 1, 1, 0, 0));
}

TEST(HumanExpert, CutsAGraphWithoutScopesInTopologicalOrder) {
  EXPECT_THAT(place("human-expert", test::make_problem(test::chain_graph({10, 10, 30, 50}, 0))),
              ElementsAre(0, 0, 0, 1));
}

}  // namespace
}  // namespace emplace::agents::human_expert_test
