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
