#include <emplace/base/check.hpp>
#include <emplace/base/random.hpp>
#include <emplace/graphs/layered_layout.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

namespace emplace::layered_layout_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr LayeredSizes kSizes;

// A random graph without cycles: each node has up to three edges from earlier ones, most of them
// from near ones.
std::vector<LayeredEdge> draw_edges(std::int32_t num_nodes, RandomStream& random) {
  std::vector<LayeredEdge> edges;
  for (std::int32_t node = 1; node < num_nodes; ++node) {
    for (std::uint64_t edge = random.below(4); edge > 0; --edge) {
      const auto nearest = static_cast<std::uint64_t>(node);
      const std::uint64_t reach =
          random.below(10) == 0 ? nearest : std::min<std::uint64_t>(nearest, 8);
      edges.push_back({node - 1 - static_cast<std::int32_t>(random.below(reach)), node});
    }
  }
  return edges;
}

void expect_edges_run_down(const LayeredLayout& layout, const std::vector<LayeredEdge>& edges) {
  for (std::size_t edge = 0; edge < edges.size(); ++edge) {
    double y = layout.center[static_cast<std::size_t>(edges[edge].from)].y;
    for (const LayeredLayout::Point& point : layout.route[edge]) {
      EXPECT_GT(point.y, y);
      y = point.y;
    }
    EXPECT_GT(layout.center[static_cast<std::size_t>(edges[edge].to)].y, y);
  }
}

// Each node stands in its layer, within the picture, and nowhere near another.
void expect_room_for_all(const LayeredLayout& layout) {
  constexpr double kSlack = 1e-6;
  std::map<std::int32_t, std::vector<double>> by_layer;
  for (std::size_t node = 0; node < layout.center.size(); ++node) {
    const auto [x, y] = layout.center[node];
    EXPECT_DOUBLE_EQ(
        y, kSizes.node_height / 2 + layout.layer[node] * (kSizes.node_height + kSizes.layer_gap));
    EXPECT_GE(x, kSizes.node_width / 2 - kSlack);
    EXPECT_LE(x, layout.width - kSizes.node_width / 2 + kSlack);
    EXPECT_LE(y, layout.height - kSizes.node_height / 2 + kSlack);
    by_layer[layout.layer[node]].push_back(x);
  }
  for (auto& [layer, xs] : by_layer) {
    std::ranges::sort(xs);
    for (std::size_t at = 1; at < xs.size(); ++at) {
      EXPECT_GE(xs[at] - xs[at - 1], kSizes.node_width + kSizes.gap - kSlack) << "layer " << layer;
    }
  }
}

TEST(LayeredLayout, AChainIsAVerticalLine) {
  const LayeredLayout layout = layered_layout(3, std::vector<LayeredEdge>{{0, 1}, {1, 2}});
  EXPECT_THAT(layout.layer, ElementsAre(0, 1, 2));
  EXPECT_EQ(layout.width, kSizes.node_width);
  EXPECT_EQ(layout.height, 3 * kSizes.node_height + 2 * kSizes.layer_gap);
}

TEST(LayeredLayout, AnEdgePastALayerHasAWaypointThere) {
  const std::vector<LayeredEdge> edges = {{0, 1}, {1, 2}, {0, 2}};
  const LayeredLayout layout = layered_layout(3, edges);
  EXPECT_THAT(layout.route[0], IsEmpty());
  ASSERT_EQ(layout.route[2].size(), 1U);
  EXPECT_EQ(layout.route[2][0].y, layout.center[1].y);
  EXPECT_GT(std::abs(layout.route[2][0].x - layout.center[1].x), kSizes.node_width / 2);
}

TEST(LayeredLayout, EdgesOfOneNodeShareTheirWaypoints) {
  // 0 to 1 to 2 to 3, and from 0 past the others.
  const std::vector<LayeredEdge> edges = {{0, 1}, {1, 2}, {2, 3}, {0, 2}, {0, 3}};
  const LayeredLayout layout = layered_layout(4, edges);
  EXPECT_EQ(layout.route[3][0].x, layout.route[4][0].x);
}

TEST(LayeredLayout, WhoIsReadLateStandsLate) {
  // 3 has no inputs, and only the end of the chain reads it.
  const LayeredLayout layout = layered_layout(4, std::vector<LayeredEdge>{{0, 1}, {1, 2}, {3, 2}});
  EXPECT_EQ(layout.layer[3], 1);
}

TEST(LayeredLayout, TwoColumnsDoNotCross) {
  // Two chains whose nodes alternate in the order of ids.
  std::vector<LayeredEdge> edges;
  for (std::int32_t node = 0; node + 2 < 20; ++node) {
    edges.push_back({node, node + 2});
  }
  const LayeredLayout layout = layered_layout(20, edges);
  for (std::size_t node = 2; node < 20; ++node) {
    EXPECT_NEAR(layout.center[node].x, layout.center[node - 2].x, 1e-6);
  }
}

TEST(LayeredLayout, HeavyEdgesAreTheStraightest) {
  // 0 to 1 and 2, of which 2 is heavy.
  const LayeredLayout layout = layered_layout(3, std::vector<LayeredEdge>{{0, 1, 1}, {0, 2, 20}});
  EXPECT_LT(std::abs(layout.center[2].x - layout.center[0].x),
            std::abs(layout.center[1].x - layout.center[0].x));
}

TEST(LayeredLayout, RandomGraphsRunDownAndHaveRoom) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    RandomStream random(seed);
    const auto num_nodes = static_cast<std::int32_t>(1 + random.below(120));
    const std::vector<LayeredEdge> edges = draw_edges(num_nodes, random);
    const LayeredLayout layout = layered_layout(num_nodes, edges);
    ASSERT_EQ(layout.center.size(), static_cast<std::size_t>(num_nodes));
    ASSERT_EQ(layout.route.size(), edges.size());
    expect_edges_run_down(layout, edges);
    expect_room_for_all(layout);
  }
}

TEST(LayeredLayout, CyclesAreBrokenByTurningFewEdges) {
  const std::vector<LayeredEdge> edges = {{0, 1}, {1, 2}, {2, 0}, {2, 3}};
  const LayeredLayout layout = layered_layout(4, edges);
  EXPECT_THAT(layout.layer, ElementsAre(0, 1, 2, 3));
  // The way of an edge is told from its own start, which here is below its end.
  ASSERT_EQ(layout.route[2].size(), 1U);
  expect_room_for_all(layout);
}

TEST(LayeredLayout, TheSameGraphHasTheSameLayout) {
  RandomStream random(7);
  const std::vector<LayeredEdge> edges = draw_edges(200, random);
  const LayeredLayout first = layered_layout(200, edges);
  const LayeredLayout second = layered_layout(200, edges);
  for (std::size_t node = 0; node < 200; ++node) {
    EXPECT_EQ(first.center[node].x, second.center[node].x);
    EXPECT_EQ(first.center[node].y, second.center[node].y);
  }
}

TEST(LayeredLayout, WaypointsOfAThousandNodesAreBounded) {
  // A chain in which each node also reads all before it: fifty thousand edges, and without bounds
  // millions of waypoints.
  constexpr std::int32_t kNodes = 1000;
  std::vector<LayeredEdge> edges;
  for (std::int32_t to = 1; to < kNodes; ++to) {
    edges.push_back({to - 1, to});
    for (std::int32_t from = 0; from + 1 < to; from += 10) {
      edges.push_back({from, to});
    }
  }
  const LayeredLayout layout = layered_layout(kNodes, edges);
  std::size_t waypoints = 0;
  for (const auto& route : layout.route) {
    waypoints += route.size();
  }
  EXPECT_GT(waypoints, LayeredLayout::kMaxWaypoints / 2);
  EXPECT_LE(waypoints, LayeredLayout::kMaxWaypoints);
  expect_edges_run_down(layout, edges);
}

TEST(LayeredLayout, LaysOutNothingAndParts) {
  EXPECT_EQ(layered_layout(0, {}).height, 0);
  const LayeredLayout layout = layered_layout(3, {});
  EXPECT_THAT(layout.layer, ElementsAre(0, 0, 0));
  expect_room_for_all(layout);
}

TEST(LayeredLayout, RefusesEdgesToNowhere) {
  EXPECT_THROW(layered_layout(2, std::vector<LayeredEdge>{{0, 2}}), InternalError);
  EXPECT_THROW(layered_layout(2, std::vector<LayeredEdge>{{1, 1}}), InternalError);
}

}  // namespace
}  // namespace emplace::layered_layout_test
