#include "support/groupings.hpp"
#include "support/well_formed.hpp"

#include <emplace/base/check.hpp>
#include <emplace/base/random.hpp>
#include <emplace/base/svg.hpp>
#include <emplace/graphs/grouping_picture.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace emplace::grouping_picture_test {
namespace {

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

std::string svg_of(const OpGraph& graph, const Grouping& grouping) {
  return draw_grouping(graph, grouping, "caption & co", colors_by_pass(graph, grouping)).svg;
}

std::size_t count(const std::string& text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

TEST(GroupingSvg, DrawsEachGroupAndEachEdgeOnce) {
  const std::string svg = svg_of(small_step(), Grouping({0, 1, 2, 2}));
  EXPECT_TRUE(test::is_well_formed(svg)) << svg;
  for (const char* part : {"<title>group 0, block/conv&lt;1&gt;: 1 op, 3.41 GFLOP, 5 MB</title>",
                           "<title>group 1, group 1: 1 op", "<title>group 2, group 2: 2 ops",
                           "<title>5 MB from block/conv&lt;1&gt; to group 1</title>",
                           "<title>4 B from group 1 to group 2</title>", ">hand-made</text>",
                           ">caption &amp; co</text>", ">backward and updates</text>"}) {
    EXPECT_EQ(count(svg, part), 1U) << part;
  }
  EXPECT_EQ(count(svg, "marker-end"), 3U);
}

TEST(GroupingSvg, AGroupOfSeveralLayersIsNamedByTheFirstAndTheLast) {
  OpGraph graph = test::graph_of(3, {{0, 1}, {1, 2}});
  graph[0].scope = "stem/conv_1";
  graph[1].scope = "mixed_5b/branch_0";
  graph[2].scope = "mixed_5c/branch_1";
  EXPECT_THAT(svg_of(graph, Grouping({0, 0, 0})), HasSubstr(">stem – mixed_5c</text>"));
}

TEST(GroupingSvg, LongAndStrangeScopesFitIntoALabel) {
  OpGraph graph = test::graph_of(1, {});
  graph[0].scope = std::string(50, 'x') + "/\"last\"\n";
  const std::string svg = svg_of(graph, ungrouped(graph));
  EXPECT_THAT(svg, HasSubstr("x/&quot;last&quot;\uFFFD</text>"));
  EXPECT_THAT(svg, HasSubstr(">…x"));
}

TEST(GroupingSvg, AThousandGroupsAreEachDrawnOnce) {
  RandomStream random(3);
  const OpGraph graph =
      test::training_graph_of(1000, [&](std::uint64_t bound) { return random.below(bound); });
  const Grouping grouping = ungrouped(graph);
  const std::string svg = svg_of(graph, grouping);
  EXPECT_TRUE(test::is_well_formed(svg));
  EXPECT_EQ(count(svg, "<title>group "), 1000U);
  EXPECT_EQ(svg, svg_of(graph, grouping));
}

TEST(GroupingSvg, ColorsTellDevicesAndDarkEdgesRunBetweenThem) {
  const OpGraph graph = small_step();
  GroupColors colors{.legend = {"gpu:0", "gpu:<1>"}, .edge_legend = "between devices"};
  for (std::size_t group = 0; group < 4; ++group) {
    colors.marks.push_back({.color = group / 2, .share = 1, .label = "1 ms", .note = ", on <one>"});
  }
  const std::string svg = draw_grouping(graph, ungrouped(graph), "", colors).svg;
  EXPECT_TRUE(test::is_well_formed(svg)) << svg;
  EXPECT_THAT(svg, HasSubstr(">gpu:&lt;1&gt;</text>"));
  EXPECT_THAT(svg, HasSubstr(", on &lt;one&gt;</title>"));
  EXPECT_THAT(svg, HasSubstr("dark edges: between devices"));
  // 1 to 2 and 0 to 2; those within a device come before.
  const std::string dark = svg.substr(svg.find("stroke=\"#000\""));
  EXPECT_EQ(count(dark, "marker-end"), 2U);
  EXPECT_EQ(count(svg, "marker-end"), 4U);
  // As many boxes of each color as groups, and its entry in the legend.
  EXPECT_EQ(count(svg, "fill=\"" + tinted_color(0, 0.62) + "\""), 3U);
  EXPECT_EQ(count(svg, "fill=\"" + tinted_color(1, 0.62) + "\""), 3U);
}

TEST(GroupingSvg, NamesCannotBreakThePicture) {
  OpGraph graph = test::graph_of(2, {{0, 1}});
  graph[boost::graph_bundle].name = "</svg><script>alert(1)</script>\u202e";
  graph[0].scope = "\x01\"><rect/>&amp;\xff\u2066" + std::string(1000, '<');
  graph[1].scope = graph[0].scope;
  const std::string svg = svg_of(graph, ungrouped(graph));
  EXPECT_TRUE(test::is_well_formed(svg)) << svg;
  EXPECT_THAT(svg, Not(HasSubstr("<script>")));
  EXPECT_THAT(svg, Not(HasSubstr("\u202e")));
  EXPECT_THAT(svg, Not(HasSubstr("\u2066")));
}

TEST(GroupingSvg, AGraphWithoutOpsIsAPictureToo) {
  EXPECT_TRUE(test::is_well_formed(svg_of(OpGraph(), Grouping({}))));
}

TEST(GroupingSvg, NeedsAMarkForEachGroup) {
  EXPECT_THROW(draw_grouping(small_step(), ungrouped(small_step()), "", {}), InternalError);
}

}  // namespace
}  // namespace emplace::grouping_picture_test
