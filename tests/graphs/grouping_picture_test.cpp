#include "support/groupings.hpp"

#include <emplace/graphs/grouping_picture.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace emplace {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

// A layer forward (op 0), its successor (op 1), and the layer's gradient (op 2), which goes on to
// an update (op 3).
OpGraph small_step() {
  OpGraph graph = test::graph_of(4, {{0, 1}, {1, 2}, {2, 3}, {0, 2}});
  for (std::size_t op = 0; op < 4; ++op) {
    graph[op].phase = op < 2 ? Phase::kForward : Phase::kBackward;
  }
  graph[0].scope = graph[2].scope = "block/conv<1>";
  graph[0].flops = 3'410'000'000;
  graph[0].outputs[0].bytes = 5'000'000;
  return graph;
}

TEST(GroupingPicture, AGroupTellsItsScopeOpsFlopsAndBytes) {
  const std::string dot = write_grouping_dot(small_step(), Grouping({0, 1, 2, 2}), "caption & co");
  EXPECT_THAT(dot, testing::StartsWith("digraph"));
  EXPECT_THAT(dot, HasSubstr("<b>hand-made</b>"));
  EXPECT_THAT(dot, HasSubstr("caption &amp; co"));
  EXPECT_THAT(dot, HasSubstr("<b>block/conv&lt;1&gt;</b>"));
  EXPECT_THAT(dot, HasSubstr("1 op, 3.41 GFLOP, 5 MB"));
  EXPECT_THAT(dot, HasSubstr("<b>group 2</b>"));  // its ops share no scope
  EXPECT_THAT(dot, HasSubstr("2 ops, 0 FLOP, 0 B"));
}

TEST(GroupingPicture, AGroupOfSeveralLayersIsNamedByTheFirstAndTheLast) {
  OpGraph graph = test::graph_of(3, {{0, 1}, {1, 2}});
  graph[0].scope = "stem/conv_1";
  graph[1].scope = "mixed_5b/branch_0";
  graph[2].scope = "mixed_5c/branch_1";
  EXPECT_THAT(write_grouping_dot(graph, Grouping({0, 0, 0}), ""),
              HasSubstr("<b>stem – mixed_5c</b>"));
}

TEST(GroupingPicture, GradientsRunUp) {
  const std::string dot = write_grouping_dot(small_step(), ungrouped(small_step()), "");
  EXPECT_THAT(dot, ContainsRegex("\n0 -> 1 \\[[^]]*weight=12\\]"));
  EXPECT_THAT(dot, ContainsRegex("\n0 -> 2 \\[[^]]*minlen=0\\]"));  // sideways
  EXPECT_THAT(dot, ContainsRegex("\n3 -> 2 \\[[^]]*dir=back\\]"));  // an edge from 2 to 3
  EXPECT_THAT(dot, Not(ContainsRegex("\n2 -> 3 ")));
}

TEST(GroupingPicture, OnlyEdgesWithMostBytesTellThem) {
  const std::string dot = write_grouping_dot(small_step(), ungrouped(small_step()), "");
  EXPECT_THAT(dot, ContainsRegex("\n0 -> 1 [^\n]*label=\"5 MB\""));
  EXPECT_THAT(dot, ContainsRegex("\n1 -> 2 [^\n]*tooltip=\"4 B\""));
  EXPECT_THAT(dot, Not(ContainsRegex("\n1 -> 2 [^\n]*label=")));
}

TEST(GroupingPicture, TheHeaviestGroupIsTheDarkest) {
  // Saturation is 0.08 + 0.55 sqrt(work / most work): 100 bytes beside 100 bytes and 3.41e9 / 50.
  const std::string dot = write_grouping_dot(small_step(), ungrouped(small_step()), "");
  EXPECT_THAT(dot, HasSubstr("fillcolor=\"0.580 0.630 0.980\""));
  EXPECT_THAT(dot, HasSubstr("fillcolor=\"0.580 0.081 0.980\""));
  EXPECT_THAT(dot, HasSubstr("fillcolor=\"0.080 0.081 0.980\""));
}

TEST(GroupingPicture, LongAndStrangeScopesFitIntoALabel) {
  OpGraph graph = test::graph_of(1, {});
  graph[0].scope = std::string(50, 'x') + "/\"last\"\n";
  const std::string dot = write_grouping_dot(graph, ungrouped(graph), "");
  EXPECT_THAT(dot, HasSubstr("x/&quot;last&quot;?</b>"));
  EXPECT_THAT(dot, HasSubstr("<b>…x"));
}

TEST(GroupingPicture, AGraphWithoutOpsIsAPictureToo) {
  EXPECT_THAT(write_grouping_dot(OpGraph(), Grouping({}), ""), HasSubstr("digraph"));
}

}  // namespace
}  // namespace emplace
