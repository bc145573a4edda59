#include <emplace/graphs/graph_format.hpp>

#include <boost/graph/graphml.hpp>
#include <boost/graph/graphviz.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace emplace {
namespace {

using testing::HasSubstr;

// Names that break a writer which does not escape: quotes, markup, keywords of DOT, a backslash
// before the closing quote, letters beyond ASCII.
const std::vector<std::string> kNames = {"say \"hello\"", "a < b & c > 'd'", "graph", "a\\",
                                         "größe/層_1"};

OpGraph graph_with_hostile_names() {
  OpGraph graph;
  for (const std::string& name : kNames) {
    boost::add_vertex(Op{.name = name,
                         .kind = "conv2d",
                         .phase = Phase::kBackward,
                         .flops = 1'000'000'000'000,
                         .outputs = {{.bytes = 12}, {.bytes = 34}},
                         .scope = "mixed_5b"},
                      graph);
  }
  add_dependency(graph, 0, 1, 1);
  add_dependency(graph, 0, 0, 1);
  add_dependency(graph, 1, Dependency::kControl, 4);
  return graph;
}

std::string write(std::string_view format, const OpGraph& graph) {
  return GraphFormats::global().write(Spec::parse(format), graph);
}

// What a stranger's program reads.
struct ForeignNode {
  std::string id, label, name, kind, scope, phase, shape;
  std::int64_t flops = 0;
};
struct ForeignEdge {
  std::string label, style;
  std::int64_t bytes = 0;
  int output = 0;
};
using ForeignGraph = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS,
                                           ForeignNode, ForeignEdge>;

std::vector<ForeignEdge> edges_of(const ForeignGraph& graph) {
  std::vector<ForeignEdge> edges;
  const auto [begin, end] = boost::edges(graph);
  for (auto edge = begin; edge != end; ++edge) {
    edges.push_back(graph[*edge]);
  }
  return edges;
}

TEST(WriteDot, IsReadByBoost) {
  ForeignGraph graph;
  boost::dynamic_properties properties(boost::ignore_other_properties);
  properties.property("node_id", boost::get(&ForeignNode::id, graph));
  properties.property("label", boost::get(&ForeignNode::label, graph));
  properties.property("label", boost::get(&ForeignEdge::label, graph));
  properties.property("style", boost::get(&ForeignEdge::style, graph));
  std::istringstream text(write("dot", graph_with_hostile_names()));
  ASSERT_TRUE(boost::read_graphviz(text, graph, properties));

  ASSERT_EQ(boost::num_vertices(graph), kNames.size());
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    EXPECT_EQ(graph[i].id, std::to_string(i));
  }
  // Labels keep DOT's escapes: a viewer shows \\ as one backslash and \n as a new line.
  EXPECT_EQ(graph[0].label, "say \"hello\"\\nconv2d");
  EXPECT_EQ(graph[3].label, "a\\\\\\nconv2d");
  EXPECT_EQ(graph[4].label, "größe/層_1\\nconv2d");
  const std::vector<ForeignEdge> edges = edges_of(graph);
  ASSERT_EQ(edges.size(), 3U);
  EXPECT_EQ(edges[0].label, "34 B");
  EXPECT_EQ(edges[1].label, "12 B");
  EXPECT_EQ(edges[2].label, "");
  EXPECT_EQ(edges[2].style, "dashed");
}

TEST(WriteGraphml, IsReadByBoost) {
  ForeignGraph graph;
  boost::dynamic_properties properties;
  properties.property("name", boost::get(&ForeignNode::name, graph));
  properties.property("kind", boost::get(&ForeignNode::kind, graph));
  properties.property("scope", boost::get(&ForeignNode::scope, graph));
  properties.property("phase", boost::get(&ForeignNode::phase, graph));
  properties.property("flops", boost::get(&ForeignNode::flops, graph));
  properties.property("bytes", boost::get(&ForeignEdge::bytes, graph));
  properties.property("output", boost::get(&ForeignEdge::output, graph));
  std::istringstream text(write("graphml", graph_with_hostile_names()));
  boost::read_graphml(text, graph, properties);

  ASSERT_EQ(boost::num_vertices(graph), kNames.size());
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    EXPECT_EQ(graph[i].name, kNames[i]);
    EXPECT_EQ(graph[i].kind, "conv2d");
    EXPECT_EQ(graph[i].scope, "mixed_5b");
    EXPECT_EQ(graph[i].phase, "backward");
    EXPECT_EQ(graph[i].flops, 1'000'000'000'000);
  }
  const std::vector<ForeignEdge> edges = edges_of(graph);
  ASSERT_EQ(edges.size(), 3U);
  EXPECT_EQ(edges[0].bytes, 34);
  EXPECT_EQ(edges[0].output, 1);
  EXPECT_EQ(edges[1].bytes, 12);
  EXPECT_EQ(edges[2].bytes, 0);
  EXPECT_EQ(edges[2].output, Dependency::kControl);
}

TEST(WriteGraphml, HasNoCharacterThatXmlForbids) {
  OpGraph graph;
  boost::add_vertex(Op{.name = "a\x01\x1B"
                               "b",
                       .kind = "relu"},
                    graph);
  EXPECT_THAT(write("graphml", graph), HasSubstr("a\xEF\xBF\xBD\xEF\xBF\xBD"
                                                 "b"));
}

}  // namespace
}  // namespace emplace
