#include <emplace/calibrate/graph_sites.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/profiles/op_key.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace emplace::calibrate::graph_sites_test {
namespace {

using testing::ElementsAre;

TEST(OpSite, TellsWhatAnOpReadsInTheOrderOfItsInputs) {
  OpGraph graph;
  boost::add_vertex(Op{.name = "x",
                       .kind = "input",
                       .outputs = {{.shape = {8}, .type = DataType::kInt32, .bytes = 32},
                                   {.shape = {3, 4}, .bytes = 48}}},
                    graph);
  boost::add_vertex(
      Op{.name = "w", .kind = "variable", .outputs = {{.shape = {4, 5}, .bytes = 80}}}, graph);
  boost::add_vertex(Op{.name = "y", .kind = "matmul", .shape = {3, 5, 4}}, graph);
  add_dependency(graph, 0, 1, 2);
  add_dependency(graph, 0, Dependency::kControl, 2);
  add_dependency(graph, 1, 0, 2);
  const OpSite site = site_of(graph, 2);
  EXPECT_EQ(site.op.name, "y");
  ASSERT_EQ(site.inputs.size(), 2);
  EXPECT_THAT(site.inputs[0].shape, ElementsAre(3, 4));
  EXPECT_THAT(site.inputs[1].shape, ElementsAre(4, 5));
  EXPECT_THAT(site.producers, ElementsAre("input", "variable"));
  EXPECT_EQ(sites_json(std::span(&site, 1)),
            R"([{"kind":"matmul","type":"float32","shape":[3,5,4],"attributes":"","flops":0,)"
            R"("bytes":0,"inputs":[{"shape":[3,4],"type":"float32"},)"
            R"({"shape":[4,5],"type":"float32"}],"producers":["input","variable"],)"
            R"("outputs":[]}])");
}

// VGG-16 has 13 convolutions of 9 distinct sizes: conv3_2 and conv3_3, conv4_2 and conv4_3, and all
// of conv5 are alike (Simonyan and Zisserman 2014, Table 1, D).
TEST(OpSite, StandsOnceForAllOpsOfOneKey) {
  const OpGraph graph = GraphCatalog::global().build(Spec::parse("vgg-16"));
  const std::vector<OpSite> sites = distinct_sites(std::span(&graph, 1));
  EXPECT_EQ(std::ranges::count(sites, "conv2d", [](const OpSite& site) { return site.op.kind; }),
            9);
  EXPECT_EQ(std::ranges::count(sites, "variable", [](const OpSite& site) { return site.op.kind; }),
            0);
  EXPECT_TRUE(
      std::ranges::is_sorted(sites, {}, [](const OpSite& site) { return key_of(site.op); }));
}

}  // namespace
}  // namespace emplace::calibrate::graph_sites_test
