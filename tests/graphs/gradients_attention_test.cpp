// Gradients of what transformers, mixtures of experts and recommenders are made of.

#include <emplace/graphs/gradients.hpp>
#include <emplace/graphs/model_builder.hpp>

#include <boost/range/iterator_range.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/graphs.hpp>

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace emplace::gradients_attention_test {
namespace {

using test::find;
using test::inputs_of;
using testing::ElementsAre;

// The training graph of what `layers` makes of trained numbers x of `shape`, compared with a
// target.
template <class Layers>
OpGraph trained(std::vector<std::int64_t> shape, const Layers& layers) {
  ModelBuilder net("small");
  const Tensor y = layers(net, net.variable("x", std::move(shape)));
  net.mean_squared_error(y, net.input("target", net.shape(y)));
  return training_graph(std::move(net).finish(), find_optimizer("sgd"));
}

TEST(AttentionGradients, ASquaredErrorsGradientIsTwiceTheDifference) {
  const OpGraph graph = trained({4, 6}, [](auto& net, Tensor x) { return net.relu(x); });
  const Op& op = find(graph, "mean_squared_error/grad");
  EXPECT_EQ(op.flops, 2 * 24);
  EXPECT_THAT(inputs_of(graph, "mean_squared_error/grad"), ElementsAre("relu:0", "target:0"));
}

TEST(AttentionGradients, ANormalizationHasOneOpForItsInputAndForWhatItLearned) {
  const OpGraph graph =
      trained({2, 3, 5}, [](auto& net, Tensor x) { return net.rms_norm(net.layer_norm(x)); });
  const Op& layer = find(graph, "layer_norm/grad");
  EXPECT_EQ(layer.kind, "layer_norm_backward");
  EXPECT_EQ(layer.flops, 13 * 30);
  EXPECT_THAT(inputs_of(graph, "layer_norm/grad"),
              ElementsAre("rms_norm/grad:0", "x:0", "layer_norm/scale_offset:0", "layer_norm:1"));
  EXPECT_THAT(layer.outputs[0].shape, ElementsAre(2, 3, 5));
  EXPECT_THAT(layer.outputs[1].shape, ElementsAre(2, 5));
  EXPECT_THAT(inputs_of(graph, "layer_norm/scale_offset/update"),
              ElementsAre("layer_norm/grad:1", "layer_norm/scale_offset:0"));
  const Op& rms = find(graph, "rms_norm/grad");
  EXPECT_EQ(rms.flops, 9 * 30);
  EXPECT_THAT(rms.outputs[1].shape, ElementsAre(5));
}

TEST(AttentionGradients, SmoothActivationsAreDifferentiatedFromTheirInput) {
  const OpGraph graph = trained({4, 6}, [](auto& net, Tensor x) { return net.silu(net.gelu(x)); });
  EXPECT_EQ(find(graph, "gelu/grad").flops, 11 * 24);
  EXPECT_EQ(find(graph, "silu/grad").flops, 6 * 24);
  EXPECT_THAT(inputs_of(graph, "gelu/grad"), ElementsAre("silu/grad:0", "x:0"));
  EXPECT_THAT(inputs_of(graph, "silu/grad"), ElementsAre("mean_squared_error/grad:0", "gelu:0"));
}

TEST(AttentionGradients, ARotationIsTurnedBackAndAMaskPassesOn) {
  const OpGraph graph = trained({2, 4, 6}, [](auto& net, Tensor x) {
    return net.softmax(net.causal_mask(net.relative_shift(net.rotary_embedding(x))));
  });
  EXPECT_THAT(inputs_of(graph, "relative_shift/grad"), ElementsAre("softmax/grad:0"));
  EXPECT_EQ(find(graph, "relative_shift/grad").kind, "relative_shift");
  const Op& back = find(graph, "rotary_embedding/grad");
  EXPECT_EQ(back.kind, "rotary_embedding");
  EXPECT_EQ(back.flops, 3 * 48);
  EXPECT_EQ(back.bytes_read, 4 * (48 + 24));
}

TEST(AttentionGradients, ASliceIsSurroundedByZerosAndABroadcastAddedUp) {
  const OpGraph graph = trained({4, 6}, [](auto& net, Tensor x) {
    return net.slice(net.broadcast(x, 3), {3, 2, 6});
  });
  const Op& slice = find(graph, "slice/grad");
  EXPECT_EQ(slice.bytes_read, 4 * 36);
  EXPECT_EQ(slice.bytes_written, 4 * 72);
  const Op& broadcast = find(graph, "broadcast/grad");
  EXPECT_EQ(broadcast.flops, 2 * 24);  // three terms
  EXPECT_EQ(broadcast.bytes_read, 4 * 72);
  EXPECT_EQ(broadcast.bytes_written, 4 * 24);
}

TEST(RoutingGradients, FlowThroughExpertsAndRouter) {
  // 10 tokens of width 6, each to 2 of 3 experts, of which each takes 7.
  ModelBuilder net("small");
  const Tensor x = net.variable("x", {10, 6});
  const Tensor probabilities = net.softmax(net.dense(x, 3, Bias::kNone));
  const Routing routing = net.top_k(probabilities, 2);
  std::vector<Tensor> parts = net.dispatch(x, routing, 3, 7);
  for (Tensor& part : parts) {
    part = net.relu(part);
  }
  const Tensor y = net.combine(parts, routing);
  const Tensor error = net.mean_squared_error(y, net.input("target", {10, 6}));
  net.add_losses(std::array{error, net.balance_loss(probabilities, routing)});
  const OpGraph graph = training_graph(std::move(net).finish(), find_optimizer("sgd"));

  const Op& combine = find(graph, "moe_combine/grad");
  // For each token, expert and number: a product for the result, a multiply-add for the weight.
  EXPECT_EQ(combine.flops, 3 * 10 * 2 * 6);
  EXPECT_THAT(combine.outputs[2].shape, ElementsAre(7, 6));
  EXPECT_THAT(combine.outputs[3].shape, ElementsAre(10, 2));
  EXPECT_THAT(inputs_of(graph, "moe_combine/grad"),
              ElementsAre("mean_squared_error/grad:0", "relu:0", "relu_2:0", "relu_3:0", "top_k:0",
                          "top_k:1"));
  EXPECT_THAT(inputs_of(graph, "relu_2/grad"), ElementsAre("moe_combine/grad:1", "relu_2:0"));

  const Op& dispatch = find(graph, "moe_dispatch/grad");
  EXPECT_EQ(dispatch.flops, 60);  // two copies of each number added up
  EXPECT_THAT(inputs_of(graph, "moe_dispatch/grad"),
              ElementsAre("relu/grad:0", "relu_2/grad:0", "relu_3/grad:0", "top_k:1"));

  EXPECT_THAT(inputs_of(graph, "top_k/grad"), ElementsAre("moe_combine/grad:3", "top_k:1"));
  EXPECT_EQ(find(graph, "top_k/grad").bytes_written, 4 * 30);
  const Op& balance = find(graph, "balance_loss/grad");
  EXPECT_EQ(balance.flops, 20 + 3);  // choices counted, shares scaled
  EXPECT_THAT(inputs_of(graph, "balance_loss/grad"), ElementsAre("top_k:1"));
  EXPECT_THAT(balance.outputs[0].shape, ElementsAre(10, 3));
  // The probabilities are read twice.
  EXPECT_EQ(find(graph, "softmax/grad_sum").flops, 30);
}

TEST(RoutingGradients, OnlyRowsThatWereLookedUpAreUpdated) {
  ModelBuilder net("small");
  const Tensor table = net.variable("table", {1000, 8});
  const Tensor y = net.embedding_bag(table, net.input("ids", {5, 3}, DataType::kInt32));
  net.sigmoid_cross_entropy(y, net.input("labels", {5, 8}));
  const OpGraph graph = training_graph(std::move(net).finish(), find_optimizer("adam"));
  const Op& rows = find(graph, "embedding_bag/grad");
  EXPECT_THAT(rows.outputs[0].shape, ElementsAre(15, 8));
  EXPECT_EQ(rows.bytes_read, 4 * (40 + 15));
  // 120 numbers: gradient, value and two slots are read, value and slots written.
  const Op& update = find(graph, "table/update");
  EXPECT_EQ(update.flops, 12 * 120);
  EXPECT_EQ(update.bytes_read, 4 * 120 * 4);
  EXPECT_EQ(update.bytes_written, 4 * 120 * 3);
  EXPECT_EQ(update.persistent_bytes, 4 * 2 * 8000);  // slots of the whole table
}

TEST(RoutingGradients, ATrianglesGradientFillsSquares) {
  const OpGraph graph =
      trained({2, 4, 4}, [](auto& net, Tensor x) { return net.lower_triangle(x); });
  EXPECT_EQ(find(graph, "lower_triangle/grad").bytes_read, 4 * 12);
  EXPECT_EQ(find(graph, "lower_triangle/grad").bytes_written, 4 * 32);
}

TEST(RoutingGradients, ASigmoidsCrossEntropyIsDifferentiatedFromItsLogits) {
  ModelBuilder net("small");
  const Tensor x = net.dense(net.input("x", {4, 6}), 1);
  net.sigmoid_cross_entropy(x, net.input("labels", {4, 1}));
  const OpGraph graph = training_graph(std::move(net).finish(), find_optimizer("sgd"));
  EXPECT_EQ(find(graph, "sigmoid_cross_entropy/grad").flops, 3 * 4);
  EXPECT_THAT(inputs_of(graph, "sigmoid_cross_entropy/grad"),
              ElementsAre("bias_add:0", "labels:0"));
}

}  // namespace
}  // namespace emplace::gradients_attention_test
