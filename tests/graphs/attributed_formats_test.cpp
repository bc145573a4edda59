// Formats whose nodes and edges carry attributes: our own JSON, node-link JSON, DOT, GraphML.

#include "support/graphs.hpp"
#include "support/test_names.hpp"
#include "tests/support/source_path.hpp"

#include <emplace/base/text_file.hpp>
#include <emplace/graphs/graph_format.hpp>

#include <boost/graph/graphml.hpp>
#include <boost/graph/graphviz.hpp>
#include <boost/range/iterator_range.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <tuple>

namespace emplace::attributed_formats_test {
namespace {

using test::expect_equal;
using testing::ElementsAre;
using testing::HasSubstr;

std::string write(std::string_view format, const OpGraph& graph) {
  return GraphFormats::global().write(Spec::parse(format), graph);
}

OpGraph read(std::string_view format, std::string_view text) {
  return GraphFormats::global().read(Spec::parse(format), text, "folder/file.x");
}

OpGraph read_sample(std::string_view format, const std::string& name) {
  return read(format, read_text_file(test::source_path("tests/graphs/data/" + name)));
}

// Names that break a writer which does not escape: quotes, markup, keywords of DOT, a backslash
// before the closing quote, letters beyond ASCII, blanks at the ends, references, escapes of DOT.
const std::vector<std::string> kNames = {
    "say \"hello\"", "a < b & c > 'd'", "graph", "a\\", "größe/層_1", " a ", "&amp;&#10;",
    "\\n",           "]]>\t--\r\n/*",   "\\\"",  "//",  "-1"};

OpGraph graph_with_hostile_names() {
  OpGraph graph;
  graph[boost::graph_bundle] = {.name = "a \"graph\": x=1", .source = "by <hand>"};
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

// A graph in which no field has its default value, and edges stand in an order of their own.
OpGraph full_graph() {
  OpGraph graph = graph_with_hostile_names();
  boost::add_vertex(test::full_op(), graph);
  const OpId full = num_ops(graph) - 1;
  add_dependency(graph, full, 1, 3);
  add_dependency(graph, 2, 1, full);
  add_dependency(graph, full, 0, 3);
  add_dependency(graph, full, 0, 3);
  return graph;
}

class Lossless : public testing::TestWithParam<const char*> {};

TEST_P(Lossless, AGraphComesBackAsItWas) {
  const OpGraph graph = full_graph();
  const std::string text = write(GetParam(), graph);
  const OpGraph again = read(Spec::parse(GetParam()).name, text);
  expect_equal(again, graph);
  EXPECT_EQ(write(GetParam(), again), text);
  // The content tells the format, whatever the file is called.
  EXPECT_EQ(GraphFormats::global().guess(text, "x").name, Spec::parse(GetParam()).name);
}

INSTANTIATE_TEST_SUITE_P(Formats, Lossless,
                         testing::Values("emplace", "node-link", "node-link:edges=edges", "dot",
                                         "graphml"),
                         test::kNamedByParameter);

// What a third-party program reads.
struct ThirdPartyNode {
  std::string id, label, name, kind, scope, phase, shape;
  std::int64_t flops = 0;
};
struct ThirdPartyEdge {
  std::string label, style;
  std::int64_t bytes = 0;
  int output = 0;
};
using ThirdPartyGraph = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS,
                                              ThirdPartyNode, ThirdPartyEdge>;

std::vector<ThirdPartyEdge> edges_of(const ThirdPartyGraph& graph) {
  std::vector<ThirdPartyEdge> edges;
  const auto [begin, end] = boost::edges(graph);
  for (auto edge = begin; edge != end; ++edge) {
    edges.push_back(graph[*edge]);
  }
  return edges;
}

TEST(WriteDot, IsReadByBoost) {
  ThirdPartyGraph graph;
  boost::dynamic_properties properties(boost::ignore_other_properties);
  properties.property("node_id", boost::get(&ThirdPartyNode::id, graph));
  properties.property("label", boost::get(&ThirdPartyNode::label, graph));
  properties.property("label", boost::get(&ThirdPartyEdge::label, graph));
  properties.property("style", boost::get(&ThirdPartyEdge::style, graph));
  std::istringstream text(write("dot", graph_with_hostile_names()));
  ASSERT_TRUE(boost::read_graphviz(text, graph, properties));

  ASSERT_EQ(boost::num_vertices(graph), kNames.size());
  std::map<std::string, std::string> label_of;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    label_of[graph[i].id] = graph[i].label;
  }
  // Labels keep DOT's escapes: a viewer shows \\ as one backslash and \n as a new line.
  EXPECT_EQ(label_of.at("0"), "say \"hello\"\\nconv2d");
  EXPECT_EQ(label_of.at("3"), "a\\\\\\nconv2d");
  EXPECT_EQ(label_of.at("4"), "größe/層_1\\nconv2d");
  const std::vector<ThirdPartyEdge> edges = edges_of(graph);
  ASSERT_EQ(edges.size(), 3U);
  EXPECT_EQ(edges[0].label, "34 B");
  EXPECT_EQ(edges[1].label, "12 B");
  EXPECT_EQ(edges[2].label, "");
  EXPECT_EQ(edges[2].style, "dashed");
}

// Boost trims texts and merges blanks in them.
std::string without_extra_blanks(const std::string& text) {
  std::string result;
  for (const char letter : text) {
    const bool is_blank = letter == ' ' || letter == '\t' || letter == '\n';
    if (!is_blank || (!result.empty() && result.back() != ' ')) {
      result += is_blank ? ' ' : letter;
    }
  }
  return result.ends_with(' ') ? result.substr(0, result.size() - 1) : result;
}

TEST(WriteGraphml, IsReadByBoost) {
  ThirdPartyGraph graph;
  boost::dynamic_properties properties(boost::ignore_other_properties);
  properties.property("name", boost::get(&ThirdPartyNode::name, graph));
  properties.property("kind", boost::get(&ThirdPartyNode::kind, graph));
  properties.property("scope", boost::get(&ThirdPartyNode::scope, graph));
  properties.property("phase", boost::get(&ThirdPartyNode::phase, graph));
  properties.property("flops", boost::get(&ThirdPartyNode::flops, graph));
  properties.property("bytes", boost::get(&ThirdPartyEdge::bytes, graph));
  properties.property("output", boost::get(&ThirdPartyEdge::output, graph));
  std::istringstream text(write("graphml", graph_with_hostile_names()));
  boost::read_graphml(text, graph, properties);

  ASSERT_EQ(boost::num_vertices(graph), kNames.size());
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    EXPECT_EQ(graph[i].name, without_extra_blanks(kNames[i]));
    EXPECT_EQ(graph[i].kind, "conv2d");
    EXPECT_EQ(graph[i].scope, "mixed_5b");
    EXPECT_EQ(graph[i].phase, "backward");
    EXPECT_EQ(graph[i].flops, 1'000'000'000'000);
  }
  const std::vector<ThirdPartyEdge> edges = edges_of(graph);
  ASSERT_EQ(edges.size(), 3U);
  EXPECT_EQ(edges[0].bytes, 34);
  EXPECT_EQ(edges[0].output, 1);
  EXPECT_EQ(edges[1].bytes, 12);
  EXPECT_EQ(edges[2].bytes, 0);
  EXPECT_EQ(edges[2].output, Dependency::kControl);
}

TEST(WriteGraphmlAndDot, PutAMarkInPlaceOfCharactersThatXmlForbids) {
  OpGraph graph;
  boost::add_vertex(Op{.name = "a\x01\x1B\xFF\xEF\xBF\xBE"
                               "b",
                       .kind = "relu"},
                    graph);
  const std::string clean =
      "a\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"
      "b";
  for (const char* format : {"graphml", "dot"}) {
    const std::string text = write(format, graph);
    EXPECT_THAT(text, HasSubstr(clean));
    EXPECT_EQ(read(format, text)[0].name, clean);
  }
}

using Edge = std::tuple<std::string, std::string, std::int64_t>;

// The edges by the names of their ends, with the bytes that they move; -1 for a control edge.
std::vector<Edge> edges_of(const OpGraph& graph) {
  std::vector<Edge> edges;
  for (const auto edge : boost::make_iterator_range(boost::edges(graph))) {
    const Op& producer = graph[boost::source(edge, graph)];
    const std::int32_t output = graph[edge].output;
    edges.emplace_back(
        producer.name, graph[boost::target(edge, graph)].name,
        output < 0 ? -1 : producer.outputs.at(static_cast<std::size_t>(output)).bytes);
  }
  return edges;
}

TEST(NodeLink, ReadsWhatNetworkxWrites) {
  // make_samples.py: ids 1 and "1" are two nodes; costs are called weight and bytes data.
  constexpr std::string_view kFormat = "node-link:cost=weight,bytes=data,device-class=gpu-k80";
  const OpGraph graph = read_sample(kFormat, "node_link.json");
  EXPECT_EQ(graph[boost::graph_bundle].name, "diamond");
  ASSERT_EQ(num_ops(graph), 4);
  EXPECT_EQ(graph[1].name, "1");
  EXPECT_EQ(graph[1].kind, "op");
  EXPECT_EQ(graph[2].name, "one");
  EXPECT_EQ(graph[2].kind, "matmul");
  EXPECT_EQ(graph[2].flops, 4096);
  EXPECT_EQ(graph[2].measured.at(0).device_class, "gpu-k80");
  EXPECT_EQ(graph[2].measured.at(0).cost_us, 30.25);
  EXPECT_THAT(edges_of(graph),
              testing::UnorderedElementsAre(Edge("in", "1", 4000), Edge("in", "one", 4000),
                                            Edge("1", "out", 100), Edge("one", "out", 200),
                                            Edge("one", "out", 200), Edge("in", "out", -1)));
  // Uses of one size are uses of one tensor.
  EXPECT_EQ(graph[0].outputs.size(), 1U);
  EXPECT_EQ(graph[2].outputs.size(), 1U);

  // As networkx 3.4 writes it.
  std::string newer = read_text_file(test::source_path("tests/graphs/data/node_link.json"));
  newer.replace(newer.find("\"links\""), 7, "\"edges\"");
  EXPECT_EQ(edges_of(read(kFormat, newer)), edges_of(graph));
}

TEST(Graphml, ReadsWhatNetworkxWrites) {
  const OpGraph graph = read_sample("graphml:device-class=cpu", "networkx.graphml");
  EXPECT_EQ(graph[boost::graph_bundle].name, "chain");
  ASSERT_EQ(num_ops(graph), 3);
  EXPECT_EQ(graph[0].scope, "a/b & c");
  EXPECT_EQ(graph[0].flops, 1000);
  EXPECT_EQ(graph[2].measured.at(0).device_class, "cpu");
  EXPECT_EQ(graph[2].measured.at(0).cost_us, 1);
  EXPECT_THAT(edges_of(graph), testing::UnorderedElementsAre(Edge("first", "second", 64),
                                                             Edge("second", "third", 32),
                                                             Edge("first", "third", 64)));
}

TEST(Graphml, ReadsDefaultsNestedGraphsAndEntities) {
  const OpGraph graph = read("graphml", R"(<?xml version="1.0"?>
<!DOCTYPE graphml>
<!-- a < b -->
<g:graphml xmlns:g='http://graphml.graphdrawing.org/xmlns'>
  <g:key id="k" for="node" attr.name="kind"><g:desc>what</g:desc><g:default>relu</g:default></g:key>
  <g:key id="n" for="node" attr.name="name"/>
  <g:key id="picture" for="node"/>
  <g:graph edgedefault="undirected">
    <g:edge source="a" target="b" directed="true"/>
    <g:node id="a"><g:data key="picture"><y:Shape xmlns:y="y" type="box"/></g:data>
      <g:graph edgedefault="directed"><g:node id="b"><g:data key="k"><![CDATA[a<b]]></g:data></g:node></g:graph>
      <g:data key="n">&lt;&#65;&#x5c64;&gt;</g:data>
    </g:node>
  </g:graph>
</g:graphml>)");
  ASSERT_EQ(num_ops(graph), 2);
  EXPECT_EQ(graph[0].name, "<A層>");
  EXPECT_EQ(graph[0].kind, "relu");
  EXPECT_EQ(graph[1].name, "b");
  EXPECT_EQ(graph[1].kind, "a<b");
  EXPECT_THAT(edges_of(graph), ElementsAre(Edge("<A層>", "b", -1)));
}

TEST(Graphml, ReadsOtherEncodingsAndSkipsTheDocumentType) {
  const OpGraph graph = read("graphml", R"(<?xml version="1.0" encoding="iso-8859-1"?>
<!DOCTYPE graphml SYSTEM "http://www.graphdrawing.org/dtds/graphml.dtd">
<graphml><graph edgedefault="directed"><node id="gr)"
                                        "\xF6\xDF"
                                        R"(e"/></graph></graphml>)");
  EXPECT_EQ(graph[0].name, "größe");
}

TEST(Dot, ReadsTheConventionOfSimGrid) {
  const OpGraph graph = read_sample("dot", "simgrid.dot");
  ASSERT_EQ(num_ops(graph), 4);
  EXPECT_EQ(graph[0].name, "root");
  EXPECT_EQ(graph[1].flops, 10'000'000'129);  // 10000000129.452715
  EXPECT_EQ(graph[2].flops, 10'000'000'000);  // 1e10
  EXPECT_THAT(edges_of(graph),
              testing::UnorderedElementsAre(Edge("root", "1", -1), Edge("root", "2", -1),
                                            Edge("1", "end", 100'000), Edge("2", "end", 100'000),
                                            Edge("1", "2", -1)));
}

// https://graphviz.org/doc/info/lang.html: digits may be missing before or behind the point.
TEST(Dot, ReadsNumbersAsItsLanguageHasThem) {
  const OpGraph graph = read("dot", R"(digraph { a [size=5., op_shape="[1]"]; b [size="007."];
    c [cost_us=.5]; a -> b [size="-1."]; b -> c [bytes=12.] })");
  EXPECT_EQ(graph[0].flops, 5);
  EXPECT_EQ(graph[1].flops, 7);
  EXPECT_EQ(graph[2].measured.at(0).cost_us, 0.5);
  EXPECT_EQ(graph[boost::edge(0, 1, graph).first].output, Dependency::kControl);
  EXPECT_EQ(graph[boost::edge(1, 2, graph).first].output, 0);
  EXPECT_EQ(graph[1].outputs.at(0).bytes, 12);
}

TEST(GraphMl, ReadsNumbersAsXmlSchemaHasThem) {
  const OpGraph graph = read("graphml", R"(<graphml><key id="c" for="node" attr.name="cost_us"/>
    <graph edgedefault="directed"><node id="a"><data key="c">5.</data></node>
    <node id="b"><data key="c">.25</data></node></graph></graphml>)");
  EXPECT_EQ(graph[0].measured.at(0).cost_us, 5);
  EXPECT_EQ(graph[1].measured.at(0).cost_us, 0.25);
}

TEST(Dot, TakesSizesBelowZeroOfSimGridForNone) {
  const OpGraph graph = read("dot", "digraph { a [size=-1]; b [size=3]; a -> b [size=\"-1\"] }");
  EXPECT_EQ(graph[0].flops, 0);
  EXPECT_EQ(graph[1].flops, 3);
  EXPECT_THAT(edges_of(graph), ElementsAre(Edge("a", "b", -1)));
}

// pydot hands attributes to functions that have an argument `name`.
TEST(Dot, HasNoAttributeThatIsCalledName) {
  EXPECT_THAT(write("dot", full_graph()), testing::Not(HasSubstr(" name=")));
  EXPECT_THAT(write("dot", full_graph()), testing::Not(HasSubstr("[name=")));
  const OpGraph older = read("dot", "digraph { graph [name=net]; a [name=first] }");
  EXPECT_EQ(older[0].name, "first");
  EXPECT_EQ(older[boost::graph_bundle].name, "net");
}

const std::string kRichDot = R"(# a line of the preprocessor
/* a { comment */ DiGraph "net \"1\"" {
  rankdir = LR; node [kind="conv2d" scope=stem]
  a -> b:port:n -> subgraph t {c; d e}  [bytes=8, label="a label"];
  edge [bytes="1" + "6"]; node [scope=head]; // other defaults from here
  subgraph cluster_1 { edge [bytes=32]; f -> a2; label = "in\nside" }
  subgraph u {g h} -> subgraph s { i }
  a [scope="own"]; "quoted\
 name" -> -.5;
})";

TEST(Dot, ReadsSubgraphsDefaultsPortsAndCommentsAsGraphvizDoes) {
  const OpGraph graph = read("dot", kRichDot);
  EXPECT_EQ(graph[boost::graph_bundle].name, "net \"1\"");
  EXPECT_THAT(edges_of(graph), testing::UnorderedElementsAre(
                                   Edge("a", "b", 8), Edge("b", "c", 8), Edge("b", "d", 8),
                                   Edge("b", "e", 8), Edge("f", "a2", 32), Edge("g", "i", 16),
                                   Edge("h", "i", 16), Edge("quoted name", "-.5", 16)));
  EXPECT_EQ(graph[0].name, "a");
  EXPECT_EQ(graph[0].scope, "own");
  EXPECT_EQ(graph[1].scope, "stem");
  EXPECT_EQ(graph[5].name, "f");
  EXPECT_EQ(graph[5].scope, "head");
  EXPECT_EQ(graph[5].kind, "conv2d");
}

TEST(Dot, AnEdgeBetweenSetsJoinsEachWithEach) {
  EXPECT_THAT(
      edges_of(read("dot",
                    "\xEF\xBB\xBF"
                    "digraph { {a b} -> {c {d}} }")),
      ElementsAre(Edge("a", "c", -1), Edge("a", "d", -1), Edge("b", "c", -1), Edge("b", "d", -1)));
}

TEST(Dot, ReadsHtmlWhereATextMayStand) {
  const OpGraph graph = read("dot", "digraph { a [label=<<b>bold</b> text>, scope=s] }");
  EXPECT_EQ(graph[0].scope, "s");
}

TEST(Dot, BoostReadsTheSameEdges) {
  ThirdPartyGraph third_party;
  boost::dynamic_properties properties(boost::ignore_other_properties);
  properties.property("node_id", boost::get(&ThirdPartyNode::id, third_party));
  properties.property("bytes", boost::get(&ThirdPartyEdge::bytes, third_party));
  ASSERT_TRUE(boost::read_graphviz(kRichDot, third_party, properties));
  std::vector<Edge> expected;
  for (const auto edge : boost::make_iterator_range(boost::edges(third_party))) {
    expected.emplace_back(third_party[boost::source(edge, third_party)].id,
                          third_party[boost::target(edge, third_party)].id,
                          third_party[edge].bytes);
  }
  EXPECT_THAT(edges_of(read("dot", kRichDot)), testing::UnorderedElementsAreArray(expected));
}

}  // namespace
}  // namespace emplace::attributed_formats_test
