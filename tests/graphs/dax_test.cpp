#include "support/graphs.hpp"
#include "tests/support/source_path.hpp"

#include <emplace/base/text_file.hpp>
#include <emplace/graphs/graph_format.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace emplace::dax_test {
namespace {

OpGraph read(std::string_view text) {
  return GraphFormats::global().read(Spec::parse("dax"), text, "x.file");
}

TEST(Dax, ReadsJobsFilesAndDependencies) {
  const std::string text = read_text_file(test::source_path("tests/graphs/data/montage.dax"));
  EXPECT_EQ(GraphFormats::global().guess(text, "x.file").name, "dax");
  const OpGraph graph = read(text);
  EXPECT_EQ(graph[boost::graph_bundle].name, "montage");
  ASSERT_EQ(num_ops(graph), 4);
  EXPECT_EQ(graph[0].name, "ID00000");
  EXPECT_EQ(graph[0].scope, "mProjectPP");
  ASSERT_EQ(graph[0].measured.size(), 1U);
  EXPECT_EQ(graph[0].measured[0].device_class, "dax");
  EXPECT_DOUBLE_EQ(graph[0].measured[0].cost_us, 13.59e6);
  ASSERT_EQ(graph[0].outputs.size(), 2U);
  EXPECT_EQ(graph[0].outputs[1].bytes, 4'222'080);
  // Its reader knows the size.
  EXPECT_EQ(graph[1].outputs[0].bytes, 1'000'000);
  // p1, p2 and fit.txt move; one dependency has no file; region.hdr is there from the start.
  ASSERT_EQ(boost::num_edges(graph), 4U);
  EXPECT_EQ(graph[boost::edge(0, 2, graph).first].output, 0);
  EXPECT_EQ(graph[boost::edge(1, 2, graph).first].output, 0);
  EXPECT_EQ(graph[boost::edge(2, 3, graph).first].output, 0);
  EXPECT_EQ(graph[boost::edge(1, 3, graph).first].output, Dependency::kControl);
}

// The bytes of the transfer between two jobs; -1 if the edge only orders, -2 if there is none.
std::int64_t bytes_between(const OpGraph& graph, std::size_t from, std::size_t to) {
  const auto [edge, exists] = boost::edge(from, to, graph);
  if (!exists) {
    return -2;
  }
  const std::int32_t output = graph[edge].output;
  return output < 0 ? -1 : graph[from].outputs.at(static_cast<std::size_t>(output)).bytes;
}

// As in the Montage workflows of Pegasus' gallery.
TEST(Dax, EachWriterOfAFileHandsItToEachReader) {
  const OpGraph graph = read(
      "<adag name='w'><job id='a'><uses file='f' link='output' size='100'/></job>"
      "<job id='b'><uses file='f' link='output' size='200'/></job>"
      "<job id='c'><uses file='f' link='input' size='100'/></job>"
      "<job id='d'><uses file='f' link='input'/></job></adag>");
  EXPECT_EQ(bytes_between(graph, 0, 2), 100);
  EXPECT_EQ(bytes_between(graph, 1, 2), 200);
  EXPECT_EQ(bytes_between(graph, 0, 3), 100);
  EXPECT_EQ(bytes_between(graph, 1, 3), 200);
  EXPECT_EQ(boost::num_edges(graph), 4U);
}

// What changes a file reads what was before it, and not what changes it later.
TEST(Dax, AFileThatIsChangedGoesOnInTheOrderOfItsJobs) {
  const OpGraph graph = read(
      "<adag name='w'><job id='a'><uses file='f' link='inout' size='100'/></job>"
      "<job id='b'><uses file='f' link='inout' size='200'/></job>"
      "<child ref='b'><parent ref='a'/></child></adag>");
  EXPECT_EQ(bytes_between(graph, 0, 1), 100);
  EXPECT_EQ(boost::num_edges(graph), 1U);
}

// The generators give -1 for what they do not know.
TEST(Dax, AnUnknownRuntimeIsNoCost) {
  const OpGraph graph = read("<adag><job id='a' runtime='-1'/><job id='b' runtime='0'/></adag>");
  EXPECT_TRUE(graph[0].measured.empty());
  ASSERT_EQ(graph[1].measured.size(), 1U);
  EXPECT_EQ(graph[1].measured[0].cost_us, 0);
}

TEST(Dax, FilesAreDependenciesWithoutSayingSo) {
  const OpGraph graph = read(
      "<adag name='w'><job id='b'><uses name='f' link='input'/></job>"
      "<job id='a'><uses name='f' link='output' size='7'/></job></adag>");
  ASSERT_EQ(boost::num_edges(graph), 1U);
  EXPECT_TRUE(boost::edge(1, 0, graph).second);
  EXPECT_EQ(graph[1].outputs[0].bytes, 7);
}

}  // namespace
}  // namespace emplace::dax_test
