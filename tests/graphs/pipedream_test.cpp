#include "tests/support/source_path.hpp"

#include <emplace/base/text_file.hpp>
#include <emplace/graphs/graph_format.hpp>

#include <boost/range/iterator_range.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>

namespace emplace::pipedream_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Six layers: an input, two convolutions of which the second is skipped by an edge to the addition,
// an LSTM with three outputs, a dense layer.
const std::string kPath = test::source_path("tests/graphs/data/pipedream.txt");

OpGraph read(std::string_view format) {
  return GraphFormats::global().read(Spec::parse(format), read_text_file(kPath), kPath);
}

// The bytes along each edge, by the names of its ends.
std::multimap<std::pair<std::string, std::string>, std::int64_t> bytes_by_ends(
    const OpGraph& graph) {
  std::multimap<std::pair<std::string, std::string>, std::int64_t> bytes;
  for (const auto edge : boost::make_iterator_range(boost::edges(graph))) {
    const Op& producer = graph[boost::source(edge, graph)];
    bytes.emplace(std::pair(producer.name, graph[boost::target(edge, graph)].name),
                  producer.outputs.at(static_cast<std::size_t>(graph[edge].output)).bytes);
  }
  return bytes;
}

double total_ms(const OpGraph& graph, Phase phase) {
  double us = 0;
  for (const auto op : boost::make_iterator_range(boost::vertices(graph))) {
    us += graph[op].phase == phase ? graph[op].measured.at(0).cost_us : 0;
  }
  return us / 1000;
}

TEST(PipeDream, LayersBecomeForwardOpsWithTheirTimesAndSizes) {
  const OpGraph graph = read("pipedream:training=false");
  EXPECT_EQ(graph[boost::graph_bundle].name, "pipedream");
  ASSERT_EQ(num_ops(graph), 6);
  EXPECT_EQ(boost::num_edges(graph), 6U);
  EXPECT_DOUBLE_EQ(total_ms(graph, Phase::kForward), 2.95);
  EXPECT_EQ(graph[1].name, "node2");
  EXPECT_EQ(graph[1].scope, "Conv2d(3, 8, kernel_size=(3, 3), stride=(1, 1))");
  EXPECT_EQ(graph[1].measured[0].device_class, "pipedream");
  EXPECT_EQ(graph[1].measured[0].cost_us, 1500);
  // 3 x 8 filters of 3 x 3 and 8 biases, 4 bytes each.
  EXPECT_EQ(graph[1].persistent_bytes, (3 * 8 * 9 + 8) * 4);
  // A list of outputs is one tensor: 4096 + 512 + 512.
  EXPECT_EQ(graph[4].outputs[0].bytes, 5120);
  EXPECT_EQ(totals(graph).persistent_bytes, 896 + 288 + 1024 + 360);
}

TEST(PipeDream, ATrainingStepMirrorsTheEdgesWithGradientsOfTheSameSize) {
  const OpGraph graph = read("pipedream");
  // All layers but the input have a backward op.
  ASSERT_EQ(num_ops(graph), 6 + 5);
  EXPECT_DOUBLE_EQ(total_ms(graph, Phase::kForward), 2.95);
  EXPECT_DOUBLE_EQ(total_ms(graph, Phase::kBackward), 5.45);
  const auto bytes = bytes_by_ends(graph);
  const auto between = [&](const std::string& producer, const std::string& consumer) {
    std::vector<std::int64_t> found;
    const auto [begin, end] = bytes.equal_range({producer, consumer});
    for (auto edge = begin; edge != end; ++edge) {
      found.push_back(edge->second);
    }
    return found;
  };
  // 6 activations, 5 to the backward op of their layer, parameters of 4 layers, 5 gradients.
  EXPECT_EQ(bytes.size(), 6U + 5U + 4U + 5U);
  EXPECT_THAT(between("node4", "node5"), ElementsAre(8192));
  EXPECT_THAT(between("node5_backward", "node4_backward"), ElementsAre(8192));
  EXPECT_THAT(between("node6_backward", "node5_backward"), ElementsAre(5120));
  EXPECT_THAT(between("node4_backward", "node2_backward"), ElementsAre(8192));
  EXPECT_THAT(between("node4_backward", "node3_backward"), ElementsAre(8192));
  EXPECT_THAT(between("node6", "node6_backward"), ElementsAre(640, 360));
  EXPECT_THAT(between("node4", "node4_backward"), ElementsAre(8192));
  EXPECT_THAT(between("node2_backward", "node1"), IsEmpty());
  // What the parameters hold is counted once, on the forward op.
  EXPECT_EQ(totals(graph).persistent_bytes, 2568);
  EXPECT_EQ(totals(graph).parameter_bytes, 2568);
}

TEST(PipeDream, TheUserNamesTheDeviceClassOfTheTimes) {
  const OpGraph graph = read("pipedream:device-class=gpu-v100-sxm2");
  for (const auto op : boost::make_iterator_range(boost::vertices(graph))) {
    EXPECT_EQ(graph[op].measured[0].device_class, "gpu-v100-sxm2");
  }
}

}  // namespace
}  // namespace emplace::pipedream_test
