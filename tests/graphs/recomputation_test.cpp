#include <emplace/base/id_vector.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/gradients.hpp>
#include <emplace/graphs/grouping_strategy.hpp>
#include <emplace/graphs/model_builder.hpp>
#include <emplace/graphs/optimizer.hpp>
#include <emplace/graphs/recomputation.hpp>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/errors.hpp>
#include <support/graphs.hpp>
#include <support/test_names.hpp>

#include <string>
#include <vector>

namespace emplace::recomputation_test {
namespace {

using test::find;
using test::inputs_of;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// Layers of a product and a relu, and a loss.
OpGraph step(int layers) {
  ModelBuilder net("small");
  Tensor x = net.input("x", {2, 4});
  for (int i = 0; i < layers; ++i) {
    const auto scope = net.scope(fmt::format("layer_{}", i));
    x = net.relu(net.relu(net.matmul(x, net.variable("weights", {4, 4}))));
  }
  const auto scope = net.scope("head");
  net.softmax_cross_entropy(x, net.input("labels", {2}, DataType::kInt32));
  return training_graph(std::move(net).finish(), find_optimizer("momentum"));
}

// What a layer makes is read by the next one, and stays. The rest is made again, once the gradient
// of the next layer is there.
TEST(Recomputation, RunsForwardOpsAgainWhenTheirGradientsCome) {
  const OpGraph plain = step(2);
  const OpGraph graph = recompute(plain, "layer_*");
  EXPECT_THAT(inputs_of(graph, "layer_1/relu/recompute"),
              ElementsAre("layer_1/matmul/recompute:0"));
  EXPECT_THAT(inputs_of(graph, "layer_0/matmul/recompute"),
              ElementsAre("x:0", "layer_0/weights:0", "layer_1/matmul/grad_left:-1"));
}

TEST(Recomputation, OfNothingChangesNothing) {
  test::expect_equal(recompute(step(2), "none"), step(2));
}

// The head follows at once; all others are layers.
TEST(Recomputation, OfAllLeavesOutTheLoss) {
  test::expect_equal(recompute(step(3), "all"), recompute(step(3), "layer_*"));
  test::expect_equal(recompute(step(3), "head"), step(3));
}

TEST(Recomputation, OfOneScopeLeavesTheOthers) {
  const OpGraph graph = recompute(step(3), "layer_1");
  int copies = 0;
  for (OpId op = 0; op < num_ops(graph); ++op) {
    if (graph[index_of(op)].name.ends_with("/recompute")) {
      EXPECT_EQ(graph[index_of(op)].scope, "layer_1");
      ++copies;
    }
  }
  EXPECT_EQ(copies, 2);  // the product and the first relu; the second is read by the next layer
}

TEST(Recomputation, OfAnUnknownScopeIsRefused) {
  EXPECT_EQ(test::error_of(ErrorCode::kUsage, [] { recompute(step(2), "layers"); }),
            "graph small: recompute is 'layers', expected none, all, or a name of scopes of the "
            "forward pass, such as head, layer_0, layer_1");
}

class RecomputationOfModel : public testing::TestWithParam<std::string> {};

// Every network can be recomputed, at the cost of no more than another forward pass.
TEST_P(RecomputationOfModel, CostsAtMostAForwardPass) {
  const std::string member = GraphCatalog::global().find(GetParam()).is_family ? ",member=0" : "";
  const OpGraph forward = load_graph(GetParam() + ":batch=2,training=false" + member);
  const OpGraph plain = load_graph(GetParam() + ":batch=2" + member);
  const OpGraph graph = load_graph(GetParam() + ":batch=2,recompute=all" + member);
  EXPECT_GE(totals(graph).flops, totals(plain).flops);
  EXPECT_EQ(totals(graph).parameters, totals(plain).parameters);
  EXPECT_LE(num_ops(graph), num_ops(plain) + num_ops(forward));
}

INSTANTIATE_TEST_SUITE_P(Zoo, RecomputationOfModel,
                         testing::ValuesIn(test::models_with("recompute")),
                         test::kNamedByParameter);

}  // namespace
}  // namespace emplace::recomputation_test
