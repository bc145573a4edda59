#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/gradients.hpp>
#include <emplace/graphs/mixed_precision.hpp>
#include <emplace/graphs/model_builder.hpp>
#include <emplace/graphs/op_kind.hpp>

#include <boost/range/iterator_range.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/graphs.hpp>

#include <string>
#include <utility>

namespace emplace::mixed_precision_test {
namespace {

using test::find;
using test::inputs_of;
using testing::ElementsAre;

// image [2, 3, 8, 8] -> conv2d [2, 4, 8, 8] -> batch norm -> pool [2, 4] -> dense [2, 10] -> loss.
OpGraph small_network() {
  ModelBuilder net("small");
  const Tensor image = net.input("image", {2, 3, 8, 8});
  const Tensor labels = net.input("labels", {2}, DataType::kInt32);
  const Tensor x = net.relu(net.batch_norm(net.conv2d(image, {.filters = 4, .kernel = {3, 3}})));
  net.softmax_cross_entropy(net.dense(net.global_avg_pool(x), 10), labels);
  return std::move(net).finish();
}

TEST(MixedPrecision, ComputesInShortNumbersFromParametersInFloat32) {
  const OpGraph graph = mixed_precision(small_network(), DataType::kBfloat16);
  EXPECT_THAT(inputs_of(graph, "conv2d"), ElementsAre("image/cast:0", "conv2d/weights/cast:0"));
  EXPECT_EQ(find(graph, "conv2d/weights").outputs[0].type, DataType::kFloat32);
  EXPECT_EQ(find(graph, "conv2d/weights").persistent_bytes, 4 * 4 * 27);
  EXPECT_EQ(find(graph, "conv2d/weights/cast").kind, "scale");
  EXPECT_EQ(find(graph, "conv2d/weights/cast").colocation, find(graph, "conv2d").colocation);
  EXPECT_EQ(find(graph, "conv2d").outputs[0].type, DataType::kBfloat16);
  EXPECT_EQ(find(graph, "conv2d").outputs[0].bytes, 2 * 2 * 4 * 64);
  // Each tensor once, in 16 bits.
  EXPECT_EQ(find(graph, "conv2d").bytes_read, 2 * (2 * 3 * 64 + 4 * 27));
  EXPECT_EQ(find(graph, "conv2d").bytes_written, 2 * 2 * 4 * 64);
}

TEST(MixedPrecision, KeepsNormalizationsParametersAndStatisticsInFloat32) {
  const OpGraph graph = mixed_precision(small_network(), DataType::kBfloat16);
  EXPECT_THAT(inputs_of(graph, "batch_norm"), ElementsAre("conv2d:0", "batch_norm/scale_offset:0"));
  const Op& norm = find(graph, "batch_norm");
  EXPECT_EQ(norm.outputs[0].type, DataType::kBfloat16);
  EXPECT_EQ(norm.outputs[1].type, DataType::kFloat32);
  // The input twice in 16 bits; scale and offset, and moving statistics, 8 numbers each of 4 bytes.
  EXPECT_EQ(norm.bytes_read, 2 * 2 * (2 * 4 * 64) + 4 * 8 + 4 * 8);
  EXPECT_EQ(norm.bytes_written, 2 * (2 * 4 * 64) + 4 * 8 + 4 * 8);
}

TEST(MixedPrecision, ComputesTheLossInFloat32) {
  const OpGraph graph = mixed_precision(small_network(), DataType::kBfloat16);
  EXPECT_THAT(inputs_of(graph, "softmax_cross_entropy"),
              ElementsAre("bias_add/cast:0", "labels:0"));
  EXPECT_EQ(find(graph, "bias_add").outputs[0].type, DataType::kBfloat16);
  EXPECT_EQ(find(graph, "bias_add/cast").outputs[0].type, DataType::kFloat32);
  EXPECT_EQ(find(graph, "softmax_cross_entropy").outputs[1].type, DataType::kFloat32);
}

TEST(MixedPrecision, ScalesTheLossInFloat16) {
  const OpGraph graph = mixed_precision(small_network(), DataType::kFloat16);
  EXPECT_THAT(inputs_of(graph, "loss_scale"), ElementsAre("softmax_cross_entropy:0"));
  EXPECT_EQ(find(graph, "loss_scale").kind, "add_losses");
  // Bfloat16 has the exponents of float32.
  EXPECT_EQ(num_ops(mixed_precision(small_network(), DataType::kBfloat16)) + 1, num_ops(graph));
}

TEST(MixedPrecision, GivesGradientsInTheTypeOfWhatTheyAreOf) {
  const OpGraph graph = training_graph(mixed_precision(small_network(), DataType::kFloat16),
                                       find_optimizer("momentum"));
  EXPECT_EQ(find(graph, "conv2d/grad_filter").outputs[0].type, DataType::kFloat16);
  EXPECT_THAT(inputs_of(graph, "conv2d/weights/update"),
              ElementsAre("conv2d/weights/cast/grad:0", "conv2d/weights:0"));
  const Op& cast = find(graph, "conv2d/weights/cast/grad");
  EXPECT_EQ(cast.outputs[0].type, DataType::kFloat32);
  EXPECT_EQ(find(graph, "batch_norm/grad").outputs[0].type, DataType::kFloat16);
  EXPECT_EQ(find(graph, "batch_norm/grad").outputs[1].type, DataType::kFloat32);
  EXPECT_EQ(find(graph, "softmax_cross_entropy/grad").outputs[0].type, DataType::kFloat32);
  // A gradient, its cast and the update share a device. Slots are float32.
  EXPECT_EQ(cast.colocation, "conv2d/grad_filter");
  EXPECT_EQ(find(graph, "conv2d/weights/update").colocation, "conv2d/grad_filter");
  EXPECT_EQ(find(graph, "conv2d/weights/update").persistent_bytes, 4 * 4 * 27);
}

TEST(MixedPrecision, SharesOneCastOfWeightsThatSeveralOpsRead) {
  ModelBuilder net("shared");
  const Tensor weights = net.variable("weights", {4, 4});
  const Tensor x = net.matmul(net.matmul(net.input("x", {2, 4}), weights), weights);
  net.softmax_cross_entropy(x, net.input("labels", {2}, DataType::kInt32));
  const OpGraph graph = training_graph(mixed_precision(std::move(net).finish(), DataType::kFloat16),
                                       find_optimizer("sgd"));
  EXPECT_THAT(inputs_of(graph, "matmul"), ElementsAre("x/cast:0", "weights/cast:0"));
  EXPECT_THAT(inputs_of(graph, "matmul_2"), ElementsAre("matmul:0", "weights/cast:0"));
  EXPECT_EQ(find(graph, "weights/cast/grad_sum").outputs[0].type, DataType::kFloat16);
  EXPECT_THAT(inputs_of(graph, "weights/cast/grad"), ElementsAre("weights/cast/grad_sum:0"));
}

TEST(MixedPrecision, LooksUpRowsOfTablesInFloat32) {
  ModelBuilder net("words");
  const Tensor table = net.variable("table", {1000, 8});
  const Tensor rows = net.embedding(table, net.input("ids", {5}, DataType::kInt32));
  net.softmax_cross_entropy(rows, net.input("labels", {5}, DataType::kInt32));
  const OpGraph graph = mixed_precision(std::move(net).finish(), DataType::kFloat16);
  EXPECT_THAT(inputs_of(graph, "embedding"), ElementsAre("table:0", "ids:0"));
  EXPECT_EQ(find(graph, "embedding").outputs[0].bytes, 2 * 5 * 8);
  EXPECT_EQ(find(graph, "embedding").bytes_read, 4 * 5 * 8 + 4 * 5);
  EXPECT_EQ(find(graph, "embedding").bytes_written, 2 * 5 * 8);
}

// Every model takes `dtype`, holds the same parameters and slots, and moves fewer bytes.
TEST(MixedPrecision, OfEveryModelKeepsItsParameters) {
  for (const std::string model :
       {"resnet-50:batch=2", "inception-v3:batch=2", "vgg-16:batch=2", "unet:batch=1,image=188",
        "bert-base:batch=1,sequence=32", "gpt2-small:batch=1,sequence=32", "vit:batch=1",
        "t5:batch=1,sequence=16", "nmt:batch=2,steps=3", "rnnlm:batch=2,steps=3", "dlrm:batch=4",
        "wavenet:batch=1", "moe-transformer:batch=1", "transformer-xl:batch=1",
        "nasnet-a-mobile:batch=1", "amoebanet:batch=1", "cifar10:member=1,batch=2",
        "ptb:member=1,batch=2,steps=2"}) {
    const GraphTotals full = totals(load_graph(model));
    for (const char* type : {"float16", "bfloat16"}) {
      const OpGraph graph = load_graph(model + ",dtype=" + type);
      const GraphTotals mixed = totals(graph);
      EXPECT_EQ(mixed.parameters, full.parameters) << model;
      EXPECT_EQ(mixed.persistent_bytes, full.persistent_bytes) << model;
      for (const auto op : boost::make_iterator_range(boost::vertices(graph))) {
        EXPECT_GE(graph[op].bytes_read, 0) << model << ' ' << graph[op].name;
      }
    }
  }
}

}  // namespace
}  // namespace emplace::mixed_precision_test
