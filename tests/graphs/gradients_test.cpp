#include "support/errors.hpp"

#include <emplace/graphs/gradients.hpp>
#include <emplace/graphs/model_builder.hpp>

#include <boost/range/iterator_range.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/graphs.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace emplace::gradients_test {
namespace {

using test::find;
using test::inputs_of;
using test::op_named;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

std::vector<std::string> names_in(const OpGraph& graph, Phase phase) {
  std::vector<std::string> names;
  for (const auto op : boost::make_iterator_range(boost::vertices(graph))) {
    if (graph[op].phase == phase) {
      names.push_back(graph[op].name);
    }
  }
  return names;
}

// Two convolutions and a classifier: image [2, 3, 8, 8] -> [2, 4, 8, 8] twice -> [2, 10].
OpGraph small_network() {
  ModelBuilder net("small");
  const Tensor image = net.input("image", {2, 3, 8, 8});
  const Tensor labels = net.input("labels", {2}, DataType::kInt32);
  const Tensor a = net.conv2d(image, {.filters = 4, .kernel = {3, 3}});
  const Tensor b = net.relu(net.batch_norm(net.conv2d(a, {.filters = 4, .kernel = {3, 3}})));
  net.softmax_cross_entropy(net.dense(net.global_avg_pool(b), 10), labels);
  return std::move(net).finish();
}

// The error of deriving a training graph from what `build` makes.
template <class Build>
std::string error_of(ErrorCode expected, const Build& build) {
  ModelBuilder net("bad");
  build(net);
  return test::error_of(expected,
                        [&] { training_graph(std::move(net).finish(), find_optimizer("sgd")); });
}

TEST(TrainingGraph, KeepsTheForwardOpsAndAddsTheBackwardPassInReverse) {
  const OpGraph forward = small_network();
  const OpGraph training = training_graph(forward, find_optimizer("adam"));
  for (OpId op = 0; op < num_ops(forward); ++op) {
    EXPECT_EQ(training[static_cast<std::size_t>(op)].name,
              forward[static_cast<std::size_t>(op)].name);
  }
  EXPECT_THAT(names_in(training, Phase::kBackward),
              ElementsAre("softmax_cross_entropy/grad", "bias_add/grad_bias", "matmul/grad_right",
                          "matmul/grad_left", "avg_pool/grad", "relu/grad", "batch_norm/grad",
                          "conv2d_2/grad_filter", "conv2d_2/grad_data", "conv2d/grad_filter"));
  EXPECT_THAT(names_in(training, Phase::kUpdate),
              UnorderedElementsAre("conv2d/weights/update", "conv2d_2/weights/update",
                                   "batch_norm/scale_offset/update", "matmul/weights/update",
                                   "bias_add/bias/update"));
}

TEST(TrainingGraph, ABackwardOpReadsWhatItsRuleNeeds) {
  const OpGraph graph = training_graph(small_network(), find_optimizer("adam"));
  EXPECT_THAT(inputs_of(graph, "softmax_cross_entropy/grad"),
              ElementsAre("softmax_cross_entropy:1", "labels:0"));
  EXPECT_THAT(inputs_of(graph, "bias_add/grad_bias"), ElementsAre("softmax_cross_entropy/grad:0"));
  EXPECT_THAT(inputs_of(graph, "matmul/grad_right"),
              ElementsAre("avg_pool:0", "softmax_cross_entropy/grad:0"));
  EXPECT_THAT(inputs_of(graph, "matmul/grad_left"),
              ElementsAre("softmax_cross_entropy/grad:0", "matmul/weights:0"));
  EXPECT_THAT(inputs_of(graph, "avg_pool/grad"), ElementsAre("matmul/grad_left:0"));
  EXPECT_THAT(inputs_of(graph, "relu/grad"), ElementsAre("avg_pool/grad:0", "relu:0"));
  EXPECT_THAT(
      inputs_of(graph, "batch_norm/grad"),
      ElementsAre("relu/grad:0", "conv2d_2:0", "batch_norm/scale_offset:0", "batch_norm:1"));
  EXPECT_THAT(inputs_of(graph, "conv2d_2/grad_filter"),
              ElementsAre("batch_norm/grad:0", "conv2d:0"));
  EXPECT_THAT(inputs_of(graph, "conv2d_2/grad_data"),
              ElementsAre("batch_norm/grad:0", "conv2d_2/weights:0"));
  EXPECT_THAT(inputs_of(graph, "conv2d/grad_filter"),
              ElementsAre("conv2d_2/grad_data:0", "image:0"));
  EXPECT_THAT(inputs_of(graph, "batch_norm/scale_offset/update"),
              ElementsAre("batch_norm/grad:1", "batch_norm/scale_offset:0"));
}

TEST(TrainingGraph, AGradientHasTheShapeOfItsValueAndTheWorkOfItsOp) {
  const OpGraph graph = training_graph(small_network(), find_optimizer("adam"));
  const Op& filter = find(graph, "conv2d_2/grad_filter");
  EXPECT_EQ(filter.kind, "conv2d_backward_filter");
  EXPECT_EQ(filter.shape, find(graph, "conv2d_2").shape);
  EXPECT_EQ(filter.flops, find(graph, "conv2d_2").flops);
  EXPECT_THAT(filter.outputs[0].shape, ElementsAre(4, 4, 3, 3));
  EXPECT_THAT(find(graph, "conv2d_2/grad_data").outputs[0].shape, ElementsAre(2, 4, 8, 8));
  EXPECT_THAT(find(graph, "avg_pool/grad").outputs[0].shape, ElementsAre(2, 4, 8, 8));

  const Op& left = find(graph, "matmul/grad_left");  // [2, 10] times [10, 4]
  EXPECT_THAT(left.shape, ElementsAre(2, 4, 10));
  EXPECT_THAT(left.outputs[0].shape, ElementsAre(2, 4));
  const Op& right = find(graph, "matmul/grad_right");  // [4, 2] times [2, 10]
  EXPECT_THAT(right.shape, ElementsAre(4, 10, 2));
  EXPECT_THAT(right.outputs[0].shape, ElementsAre(4, 10));
  EXPECT_EQ(left.flops, right.flops);

  const Op& norm = find(graph, "batch_norm/grad");
  constexpr std::int64_t kMapBytes = 4 * 2 * 4 * 8 * 8;
  EXPECT_EQ(norm.bytes_read, 4 * kMapBytes + 2 * 4 * 2 * 4);  // two maps twice, scale, statistics
  EXPECT_EQ(norm.bytes_written, kMapBytes + 4 * 2 * 4);
}

TEST(TrainingGraph, AnUpdateKeepsSlotsAndSharesTheDeviceOfTheGradient) {
  constexpr std::int64_t kWeights = 4 * 4 * 3 * 3;
  for (const Optimizer& optimizer : optimizers()) {
    const OpGraph graph = training_graph(small_network(), optimizer);
    const Op& update = find(graph, "conv2d_2/weights/update");
    EXPECT_EQ(update.persistent_bytes, 4 * kWeights * optimizer.slots) << optimizer.name;
    EXPECT_EQ(update.flops, kWeights * optimizer.flops) << optimizer.name;
    EXPECT_EQ(update.bytes_read, 4 * kWeights * (2 + optimizer.slots)) << optimizer.name;
    EXPECT_EQ(update.bytes_written, 4 * kWeights * (1 + optimizer.slots)) << optimizer.name;
    EXPECT_TRUE(update.outputs.empty());
    EXPECT_EQ(update.colocation, "conv2d_2/grad_filter");
    EXPECT_EQ(find(graph, "conv2d_2/grad_filter").colocation, "conv2d_2/grad_filter");
    EXPECT_EQ(find(graph, "conv2d_2").colocation, "conv2d_2/weights");
    EXPECT_EQ(totals(graph).parameters, totals(small_network()).parameters);
  }
}

TEST(TrainingGraph, GradientsOfAValueUsedSeveralTimesAreAddedUp) {
  ModelBuilder net("residual");
  const Tensor labels = net.input("labels", {2}, DataType::kInt32);
  const Tensor x = net.dense(net.input("x", {2, 6}), 6);
  const Tensor sum = net.add(net.add(net.relu(x), x), x);
  net.softmax_cross_entropy(sum, labels);
  const OpGraph graph = training_graph(std::move(net).finish(), find_optimizer("sgd"));
  // Both additions hand on the gradient that reaches them, so two of the three terms are one
  // tensor.
  const Op& add_n = find(graph, "bias_add/grad_sum");
  EXPECT_EQ(add_n.kind, "add_n");
  EXPECT_THAT(add_n.shape, ElementsAre(3, 12));
  EXPECT_EQ(add_n.flops, 2 * 12);
  EXPECT_EQ(add_n.bytes_read, 3 * 48);
  EXPECT_THAT(
      inputs_of(graph, "bias_add/grad_sum"),
      ElementsAre("softmax_cross_entropy/grad:0", "softmax_cross_entropy/grad:0", "relu/grad:0"));
  EXPECT_THAT(inputs_of(graph, "bias_add/grad_bias"), ElementsAre("bias_add/grad_sum:0"));
}

TEST(TrainingGraph, TheOtherRulesReadTheirOwnResultsOrInputs) {
  ModelBuilder net("others");
  const Tensor labels = net.input("labels", {2}, DataType::kInt32);
  const Tensor x = net.conv2d(net.input("x", {2, 3, 8, 8}), {.filters = 4});
  const std::array parts{net.max_pool(x, {}), net.avg_pool(x, {})};
  const Tensor joined = net.flatten(net.concat(parts));
  const Tensor kept = net.dropout(joined);
  net.softmax_cross_entropy(net.softmax(kept), labels);
  const OpGraph graph = training_graph(std::move(net).finish(), find_optimizer("sgd"));
  EXPECT_THAT(inputs_of(graph, "softmax/grad"),
              ElementsAre("softmax_cross_entropy/grad:0", "softmax:0"));
  EXPECT_THAT(inputs_of(graph, "dropout/grad"), ElementsAre("softmax/grad:0", "dropout:1"));
  EXPECT_THAT(inputs_of(graph, "reshape/grad"), ElementsAre("dropout/grad:0"));
  EXPECT_THAT(find(graph, "reshape/grad").outputs[0].shape, ElementsAre(2, 8, 4, 4));
  EXPECT_EQ(find(graph, "reshape/grad").bytes_read, 0);
  const Op& split = find(graph, "concat/grad");
  EXPECT_EQ(split.kind, "split");
  ASSERT_EQ(split.outputs.size(), 2U);
  EXPECT_THAT(split.outputs[1].shape, ElementsAre(2, 4, 4, 4));
  EXPECT_THAT(inputs_of(graph, "max_pool/grad"),
              ElementsAre("concat/grad:0", "conv2d:0", "max_pool:0"));
  EXPECT_THAT(inputs_of(graph, "avg_pool/grad"), ElementsAre("concat/grad:1"));
}

// From the image through a depthwise convolution, a shift and a transposed convolution to a bias on
// the map: [2, 3, 8, 8] -> [2, 3, 4, 4] -> [2, 5, 8, 8].
TEST(TrainingGraph, TheRulesForMapsGiveEachInputItsGradient) {
  ModelBuilder net("maps");
  const Tensor labels = net.input("labels", {2}, DataType::kInt32);
  const Tensor x = net.conv2d(net.input("x", {2, 3, 8, 8}), {.filters = 3});
  const Tensor narrow = net.shift2d(net.depthwise_conv2d(x, {.kernel = {3, 3}, .stride = 2}));
  const Tensor wide = net.conv2d_transpose(narrow, {.filters = 5, .kernel = {2, 2}, .stride = 2});
  net.softmax_cross_entropy(net.flatten(net.channel_bias_add(wide)), labels);
  const OpGraph graph = training_graph(std::move(net).finish(), find_optimizer("sgd"));

  EXPECT_THAT(inputs_of(graph, "bias_add/grad_bias"), ElementsAre("reshape/grad:0"));
  EXPECT_EQ(find(graph, "bias_add/grad_bias").flops, 2 * 5 * 8 * 8 - 5);
  EXPECT_THAT(find(graph, "bias_add/grad_bias").outputs[0].shape, ElementsAre(5));

  EXPECT_THAT(inputs_of(graph, "conv2d_transpose/grad_filter"),
              ElementsAre("shift2d:0", "reshape/grad:0"));
  EXPECT_THAT(inputs_of(graph, "conv2d_transpose/grad_data"),
              ElementsAre("reshape/grad:0", "conv2d_transpose/weights:0"));
  const Op& transposed_data = find(graph, "conv2d_transpose/grad_data");
  EXPECT_EQ(transposed_data.kind, "conv2d");
  EXPECT_EQ(transposed_data.phase, Phase::kBackward);
  EXPECT_THAT(transposed_data.shape, ElementsAre(2, 5, 8, 8, 3, 2, 2, 2, 2, 1, 4, 4));
  EXPECT_THAT(transposed_data.outputs[0].shape, ElementsAre(2, 3, 4, 4));
  EXPECT_THAT(find(graph, "conv2d_transpose/grad_filter").outputs[0].shape,
              ElementsAre(3, 5, 2, 2));

  EXPECT_THAT(inputs_of(graph, "shift2d/grad"), ElementsAre("conv2d_transpose/grad_data:0"));
  EXPECT_THAT(inputs_of(graph, "depthwise_conv2d/grad_filter"),
              ElementsAre("shift2d/grad:0", "conv2d:0"));
  EXPECT_THAT(inputs_of(graph, "depthwise_conv2d/grad_data"),
              ElementsAre("shift2d/grad:0", "depthwise_conv2d/weights:0"));
  const Op& depthwise = find(graph, "depthwise_conv2d/grad_data");
  EXPECT_EQ(depthwise.kind, "depthwise_conv2d_backward_data");
  EXPECT_EQ(depthwise.flops, 2 * (2 * 3 * 4 * 4) * (3 * 3));
  EXPECT_THAT(depthwise.outputs[0].shape, ElementsAre(2, 3, 8, 8));
}

TEST(TrainingGraph, NothingIsDerivedForWhatNoVariableIsUpstreamOf) {
  ModelBuilder net("images");
  const Tensor labels = net.input("labels", {2}, DataType::kInt32);
  const Tensor resized = net.relu(net.max_pool(net.input("image", {2, 3, 8, 8}), {}));
  net.softmax_cross_entropy(net.dense(net.flatten(resized), 10), labels);
  const OpGraph graph = training_graph(std::move(net).finish(), find_optimizer("sgd"));
  EXPECT_THAT(names_in(graph, Phase::kBackward),
              ElementsAre("softmax_cross_entropy/grad", "bias_add/grad_bias", "matmul/grad_right"));
}

TEST(TrainingGraph, ASumOfLossesTrainsBothAndNeedsNoOpOfItsOwn) {
  ModelBuilder net("two-heads");
  const Tensor labels = net.input("labels", {2}, DataType::kInt32);
  const Tensor x = net.input("x", {2, 6});
  const std::array losses{net.softmax_cross_entropy(net.dense(x, 3), labels),
                          net.softmax_cross_entropy(net.dense(x, 3), labels)};
  net.add_losses(losses);
  const OpGraph graph = training_graph(std::move(net).finish(), find_optimizer("sgd"));
  EXPECT_THAT(names_in(graph, Phase::kBackward),
              UnorderedElementsAre("softmax_cross_entropy/grad", "softmax_cross_entropy_2/grad",
                                   "bias_add/grad_bias", "bias_add_2/grad_bias",
                                   "matmul/grad_right", "matmul_2/grad_right"));
}

TEST(TrainingGraph, ABackwardOpStandsInTheScopeOfItsForwardOp) {
  ModelBuilder net("scoped");
  const Tensor labels = net.input("labels", {2}, DataType::kInt32);
  const auto scope = net.scope("head");
  net.softmax_cross_entropy(net.dense(net.input("x", {2, 6}), 3), labels);
  const OpGraph graph = training_graph(std::move(net).finish(), find_optimizer("sgd"));
  EXPECT_EQ(find(graph, "head/matmul/grad_right").scope, "head");
  EXPECT_EQ(find(graph, "head/matmul/weights/update").scope, "head");
}

TEST(TrainingGraph, RefusesAGraphThatCannotBeTrained) {
  EXPECT_THAT(error_of(ErrorCode::kFormat,
                       [](auto& net) {
                         net.dense(net.input("x", {2, 6}), 3);
                       }),
              HasSubstr("'bad' has no loss"));
  EXPECT_THAT(error_of(ErrorCode::kFormat,
                       [](auto& net) {
                         net.softmax_cross_entropy(net.input("x", {2, 3}), net.input("y", {2}));
                       }),
              HasSubstr("does not depend on any variable"));
  EXPECT_THAT(error_of(ErrorCode::kFormat,
                       [](auto& net) {
                         const Tensor x = net.dense(net.input("x", {2, 6}), 3);
                         const Tensor y = net.input("y", {2});
                         net.softmax_cross_entropy(x, y);
                         net.softmax_cross_entropy(x, y);
                       }),
              HasSubstr("'softmax_cross_entropy' and 'softmax_cross_entropy_2'"));
}

TEST(TrainingGraph, RefusesALossThatIsUsedAsAnythingButALoss) {
  EXPECT_THAT(error_of(ErrorCode::kUnsupported,
                       [](auto& net) {
                         const Tensor x = net.dense(net.input("x", {2, 6}), 3);
                         const Tensor loss = net.softmax_cross_entropy(x, net.input("y", {2}));
                         net.add_losses(std::array{net.relu(loss)});
                       }),
              HasSubstr("op 'relu': a loss may only be added to other losses"));
}

TEST(TrainingGraph, NamesAllKindsWithoutAGradientRule) {
  OpGraph graph = small_network();
  graph[static_cast<std::size_t>(op_named(graph, "relu"))].kind = "fourier";
  graph[static_cast<std::size_t>(op_named(graph, "conv2d"))].kind = "stencil";
  EXPECT_THAT(test::error_of(ErrorCode::kUnsupported,
                             [&] { training_graph(graph, find_optimizer("sgd")); }),
              HasSubstr("no gradient rule for these kinds of ops: fourier (1), stencil (1)"));
}

TEST(TrainingGraph, RefusesAnOpWithFewerInputsThanItsRuleNeeds) {
  OpGraph graph = small_network();
  graph[static_cast<std::size_t>(op_named(graph, "relu"))].kind = "matmul";
  EXPECT_THAT(
      test::error_of(ErrorCode::kFormat, [&] { training_graph(graph, find_optimizer("sgd")); }),
      HasSubstr("op 'relu' of kind matmul: expected at least"));
}

}  // namespace
}  // namespace emplace::gradients_test
