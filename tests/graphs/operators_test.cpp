// The library of operators, against closed forms and figures that frameworks document.

#include "graphs/src/operators/operators.hpp"

#include "graphs/src/formats/traces/aten_work.hpp"
#include "graphs/src/formats/traces/pytorch_trace.hpp"

#include <emplace/base/error.hpp>
#include <emplace/graphs/graph_json.hpp>
#include <emplace/graphs/model_builder.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/errors.hpp>

#include <array>
#include <variant>

namespace emplace::operators_test {
namespace {

using operators::Shape;
using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

Output tensor(Shape shape) { return {.shape = std::move(shape)}; }

Output make_output(const Shape& shape, DataType type) {
  std::int64_t bytes = size_of(type);
  for (const std::int64_t extent : shape) {
    bytes *= extent;
  }
  return {.shape = shape, .type = type, .bytes = bytes};
}

Shape infer(std::string_view name, const Attributes& attributes, const Shape& x, const Shape& w) {
  return operators::infer(name, attributes, std::array{tensor(x), tensor(w)})[0].shape;
}

Op conv(const ConvAttributes& attributes, const Shape& x, const Shape& w) {
  Op op;
  operators::define(op, "conv", attributes, std::array{tensor(x), tensor(w)});
  return op;
}

TEST(Operators, ConvolutionsHaveTheShapesAndFlopsOfTheirClosedForm) {
  const ConvAttributes strided{
      .window = {.strides = {2, 2}, .dilations = {1, 1}, .pads = {3, 3, 3, 3}}};
  const Op stem = conv(strided, {32, 3, 224, 224}, {64, 3, 7, 7});  // of ResNet-50
  EXPECT_THAT(stem.outputs[0].shape, ElementsAre(32, 64, 112, 112));
  EXPECT_EQ(stem.flops, std::int64_t{2} * 32 * 64 * 112 * 112 * 3 * 7 * 7);
  EXPECT_EQ(stem.kind, "conv2d");
  EXPECT_THAT(stem.shape, ElementsAre(32, 3, 224, 224, 64, 7, 7, 2, 2, 1, 112, 112));

  const ConvAttributes dilated{.window = {.dilations = {2, 2}}};
  EXPECT_THAT(infer("conv", dilated, {1, 4, 9, 9}, {5, 4, 3, 3}), ElementsAre(1, 5, 5, 5));
}

TEST(Operators, GroupsOfChannelsDecideTheKind) {
  const Shape x{2, 8, 10, 10};
  const Window window{.strides = {1, 1}, .dilations = {1, 1}, .pads = {1, 1, 1, 1}};
  const Op grouped = conv({.window = window, .group = 2}, x, {16, 4, 3, 3});
  EXPECT_EQ(grouped.kind, "grouped_conv");
  EXPECT_EQ(grouped.flops, 2 * 2 * 16 * 10 * 10 * 4 * 9);
  const Op depthwise = conv({.window = window, .group = 8}, x, {8, 1, 3, 3});
  EXPECT_EQ(depthwise.kind, "depthwise_conv2d");
  EXPECT_EQ(depthwise.flops, 2 * 2 * 8 * 10 * 10 * 9);
  EXPECT_EQ(conv({.window = window, .group = 8}, x, {16, 1, 3, 3}).kind, "grouped_conv");
  EXPECT_EQ(conv({}, {2, 8, 6, 6, 6}, {16, 8, 3, 3, 3}).kind, "conv");
}

TEST(Operators, ALineIsAMapOfHeightOne) {
  const Op line =
      conv({.window = {.strides = {2}, .dilations = {1}, .pads = {1, 1}}}, {4, 8, 20}, {16, 8, 3});
  EXPECT_THAT(line.outputs[0].shape, ElementsAre(4, 16, 10));
  EXPECT_EQ(line.kind, "conv2d");
  EXPECT_THAT(line.shape, ElementsAre(4, 8, 1, 20, 16, 1, 3, 1, 2, 1, 1, 10));
}

// torch.nn.ConvTranspose2d: (H - 1) stride - 2 padding + dilation (kernel - 1) + output_padding
// + 1.
TEST(Operators, ATransposedConvolutionUndoesTheShapesOfAConvolution) {
  const ConvAttributes attributes{.window = {.strides = {2, 2},
                                             .dilations = {1, 1},
                                             .pads = {1, 1, 0, 0}}};  // output_padding 1
  EXPECT_THAT(infer("conv_transpose", attributes, {1, 16, 12, 12}, {16, 33, 3, 3}),
              ElementsAre(1, 33, 24, 24));
  Op op;
  operators::define(op, "conv_transpose", attributes,
                    std::array{tensor({1, 16, 12, 12}), tensor({16, 33, 3, 3})});
  EXPECT_EQ(op.kind, "conv2d_transpose");
  EXPECT_EQ(op.flops, 2 * 16 * 12 * 12 * 33 * 9);
  EXPECT_THAT(infer("conv", attributes, {1, 33, 24, 24}, {16, 33, 3, 3}),
              ElementsAre(1, 16, 12, 12));
}

TEST(Operators, APoolBeginsItsLastWindowWithinTheMap) {
  PoolAttributes pool{.kernel_shape = {2, 2}, .window = {.strides = {2, 2}}};
  EXPECT_THAT(operators::infer("max_pool", pool, std::array{tensor({1, 1, 5, 5})})[0].shape,
              ElementsAre(1, 1, 2, 2));
  pool.ceil_mode = true;
  EXPECT_THAT(operators::infer("max_pool", pool, std::array{tensor({1, 1, 5, 5})})[0].shape,
              ElementsAre(1, 1, 3, 3));
  pool.window = {.strides = {3, 3}, .dilations = {1, 1}, .pads = {0, 0, 1, 1}};
  // A third window would begin at 6, in the padding behind the map.
  EXPECT_THAT(operators::infer("max_pool", pool, std::array{tensor({1, 1, 6, 6})})[0].shape,
              ElementsAre(1, 1, 2, 2));
}

TEST(Operators, AnAdaptivePoolOverWholeMapsIsThatOfOnnx) {
  const PoolAttributes pool = operators::adaptive_pool(std::array<std::int64_t, 2>{7, 5},
                                                       std::array<std::int64_t, 2>{1, 1});
  EXPECT_THAT(pool.kernel_shape, ElementsAre(7, 5));
  EXPECT_THAT(pool.window.strides, ElementsAre(1, 1));
}

TEST(Operators, RefuseWhatDoesNotFit) {
  EXPECT_THAT(error_of(ErrorCode::kFormat,
                       [] {
                         infer("conv", ConvAttributes{}, {1, 3, 8, 8}, {4, 4, 3, 3});
                       }),
              HasSubstr("maps [1, 3, 8, 8] and filters [4, 4, 3, 3] of 1 groups do not fit"));
  EXPECT_THAT(error_of(ErrorCode::kFormat,
                       [] {
                         infer("conv", ConvAttributes{}, {1, 3, 2, 2}, {4, 3, 3, 3});
                       }),
              HasSubstr("a window of 3 does not fit into [2, 2]"));
  EXPECT_THAT(error_of(ErrorCode::kFormat,
                       [] {
                         infer("conv", ConvAttributes{.window = {.strides = {0, 1}}}, {1, 3, 8, 8},
                               {4, 3, 3, 3});
                       }),
              HasSubstr("expected window, stride and dilation of at least 1, found 3, 0, 1"));
}

// What a trace of PyTorch says of an operator.
Op traced(std::string name, std::string kind, const std::vector<Shape>& inputs, const Shape& result,
          std::vector<Shape> settings) {
  pytorch::TracedNode node{.name = std::move(name), .settings = std::move(settings)};
  const auto use = [](const Shape& shape) {
    std::int64_t elements = 1;
    for (const std::int64_t extent : shape) {
      elements *= extent;
    }
    return pytorch::TensorUse{.elements = elements, .element_bytes = 4, .shape = shape};
  };
  for (const Shape& shape : inputs) {
    node.inputs.push_back(use(shape));
  }
  node.outputs = {use(result)};
  Op op{.kind = std::move(kind)};
  pytorch::count_work(op, node);
  return op;
}

void expect_same(const Op& op, const Op& expected) {
  EXPECT_EQ(op.kind, expected.kind);
  EXPECT_EQ(op.shape, expected.shape);
  EXPECT_EQ(op.flops, expected.flops);
  EXPECT_GT(op.flops, 0);
}

TEST(Operators, ATraceAndTheModelBuilderAgree) {
  ModelBuilder net("net");
  const Tensor x = net.input("x", {2, 3, 16, 16});
  const Tensor y = net.conv2d(x, {.filters = 8, .kernel = {3, 3}, .padding = Padding::kValid});
  const Tensor largest = net.max_pool(y, {.kernel = 2});
  const Tensor mean = net.global_avg_pool(largest);
  const OpGraph graph = std::move(net).finish();

  expect_same(traced("aten::conv2d", "conv2d", {{2, 3, 16, 16}, {8, 3, 3, 3}}, {2, 8, 14, 14},
                     {{1, 1}, {0, 0}, {1, 1}}),
              graph[y.op]);
  const std::vector<Shape> window = {{2, 2}, {2, 2}, {0, 0}, {1, 1}};
  expect_same(traced("aten::max_pool2d", "max_pool", {{2, 8, 14, 14}}, {2, 8, 7, 7}, window),
              graph[largest.op]);
  expect_same(
      traced("aten::adaptive_avg_pool2d", "avg_pool", {{2, 8, 7, 7}}, {2, 8, 1, 1}, {{1, 1}}),
      graph[mean.op]);
  const Op gradient = traced("aten::max_pool2d_with_indices_backward", "max_pool_backward",
                             {{2, 8, 7, 7}, {2, 8, 14, 14}}, {2, 8, 14, 14}, window);
  EXPECT_EQ(gradient.shape, graph[largest.op].shape);
  EXPECT_EQ(gradient.flops, 2 * 8 * 7 * 7 * (4 + 1));
}

// --- Other families ---

Op counted(std::string_view name, Attributes attributes, const std::vector<Shape>& inputs,
           const Shape& result) {
  std::vector<Output> values;
  for (const Shape& shape : inputs) {
    values.push_back(make_output(shape, DataType::kFloat32));
  }
  Op op;
  operators::count(op, name, std::move(attributes), values,
                   std::array{make_output(result, DataType::kFloat32)});
  return op;
}

TEST(Operators, ASumIsOfOneShapeOrBroadcastOrWithABias) {
  const Shape x{2, 8, 4, 5};
  EXPECT_EQ(counted("add", {}, {x, x}, x).kind, "add");
  EXPECT_EQ(counted("add", {}, {x, {2, 8, 1, 5}}, x).kind, "broadcast_add");
  const Op rows = counted("add", {}, {x, {5}}, x);
  EXPECT_EQ(rows.kind, "bias_add");
  EXPECT_THAT(rows.shape, ElementsAre(64, 5));
  const Op channels = counted("add", {}, {x, {8, 1, 1}}, x);
  EXPECT_EQ(channels.kind, "bias_add");
  EXPECT_THAT(channels.shape, ElementsAre(2, 8, 20));
  EXPECT_EQ(counted("bias_add", AxisAttributes{.axis = 1}, {x, {8}}, x).shape, channels.shape);
  EXPECT_EQ(channels.flops, 320);
}

TEST(Operators, AConstantSideLeavesAFunctionOfOneNumber) {
  EXPECT_EQ(operators::with_constant("multiply", true), "scale");
  EXPECT_EQ(operators::with_constant("div", false), "scale");
  EXPECT_EQ(operators::with_constant("div", true), "reciprocal");
  EXPECT_EQ(operators::with_constant("subtract", false), "add");
  EXPECT_EQ(operators::with_constant("subtract", true), "subtract");
  EXPECT_EQ(operators::with_constant("pow", true), "exp");
  EXPECT_EQ(operators::with_constant("max", true), "clip");
}

TEST(Operators, ProductsAreOneOrABatchWhateverIsStoredTransposed) {
  const Op one = counted("matmul", {}, {{4, 6, 10}, {10, 7}}, {4, 6, 7});
  EXPECT_EQ(one.kind, "matmul");
  EXPECT_THAT(one.shape, ElementsAre(24, 7, 10));
  EXPECT_EQ(one.flops, 2 * 24 * 7 * 10);
  const Op batch = counted("matmul", GemmAttributes{.trans_b = true},
                           {{4, 3, 6, 10}, {4, 3, 7, 10}}, {4, 3, 6, 7});
  EXPECT_EQ(batch.kind, "batch_matmul");
  EXPECT_THAT(batch.shape, ElementsAre(12, 6, 7, 10));
  EXPECT_EQ(counted("einsum", EinsumAttributes{.equation = "bhqd,bhkd->bhqk"},
                    {{4, 3, 6, 10}, {4, 3, 7, 10}}, {4, 3, 6, 7})
                .shape,
            batch.shape);
  EXPECT_THAT(error_of(ErrorCode::kFormat,
                       [] {
                         infer("matmul", {}, {2, 3}, {4, 5});
                       }),
              HasSubstr("cannot multiply 3 columns by 4 rows"));
}

// Dao et al. 2022, FlashAttention, algorithm 4: five products of the backward pass.
TEST(Operators, AttentionComputesTheScoresAgainForItsGradient) {
  const Shape q{2, 8, 128, 64};
  const Shape k{2, 2, 256, 64};
  const std::int64_t scores = std::int64_t{2} * 8 * 128 * 256;
  const Op forward = counted("attention", {}, {q, k, k}, q);
  EXPECT_THAT(forward.shape, ElementsAre(2, 8, 128, 256, 64, 64));
  EXPECT_EQ(forward.flops, scores * (4 * 64 + 5));
  const Op backward = counted("attention_backward", {}, {q, q, k, k}, q);
  EXPECT_EQ(backward.flops, scores * (10 * 64 + 4));
}

TEST(Operators, InferenceOfABatchNormReadsItsInputOnce) {
  const Shape x{4, 16, 8, 8};
  const Op training = counted("batch_norm", {}, {x, {2, 16}}, x);
  const Op inference = counted("batch_norm_inference", {}, {x, {2, 16}}, x);
  EXPECT_EQ(training.flops, 5 * 4096);
  EXPECT_EQ(training.bytes_read, 4096 * 4);  // beyond once
  EXPECT_EQ(inference.flops, 2 * 4096);
  EXPECT_EQ(inference.bytes_read, 0);
}

TEST(Operators, GroupsOfANormAreRows) {
  const Op op =
      counted("group_norm", GroupNormAttributes{.num_groups = 4}, {{2, 16, 5, 5}}, {2, 16, 5, 5});
  EXPECT_THAT(op.shape, ElementsAre(8, 100));
  EXPECT_EQ(op.flops, 7 * 800);
}

TEST(Operators, AMeanOverWholeMapsIsAPool) {
  const Op op = counted("reduce_mean", ReduceAttributes{.axes = {-1, -2}}, {{2, 3, 7, 7}}, {2, 3});
  EXPECT_EQ(op.kind, "avg_pool");
  EXPECT_THAT(op.shape, ElementsAre(2, 3, 7, 7, 7, 7, 1, 1, 1));
  EXPECT_EQ(std::get<PoolAttributes>(op.attributes).kernel_shape, (Shape{7, 7}));
  EXPECT_EQ(counted("reduce_mean", ReduceAttributes{.axes = {1}}, {{2, 3, 7, 7}}, {2, 7, 7}).kind,
            "reduce_mean");
}

TEST(Operators, TheGradientOfAFunctionIsCountedByItsName) {
  const Shape x{3, 4};
  EXPECT_EQ(counted("tanh_backward", {}, {x, x}, x).flops, 3 * 12);
  EXPECT_EQ(counted("exp_backward", {}, {x, x}, x).flops, 12);
  EXPECT_EQ(counted("reduce_variance_backward", {}, {{3, 1}, x, {3, 1}}, x).flops, 3 * 12);
  EXPECT_FALSE(operators::is_counted("frobnicate_backward"));
}

TEST(Operators, EachIsFoundByItsKindAndEachDerivativeHasAGradient) {
  for (const auto& [name, row] : operators::all()) {
    EXPECT_EQ(name, row->kind.name);
    if (row->derivative.flops > 0) {
      EXPECT_NE(row->gradient, nullptr) << name;
      EXPECT_TRUE(operators::is_counted(std::string(name) + "_backward")) << name;
    }
    if (row->from_key != nullptr) {
      EXPECT_FALSE(std::holds_alternative<std::monostate>(row->from_key({}))) << name;
    }
  }
}

OpGraph small_network() {
  ModelBuilder net("small");
  const Tensor x = net.input("image", {2, 3, 16, 16});
  const Tensor y = net.conv2d(x, {.filters = 8, .kernel = {3, 3}, .stride = 2});
  net.max_pool(net.depthwise_conv2d(y, {.kernel = {3, 3}}), {.kernel = 2});
  return std::move(net).finish();
}

TEST(Operators, AttributesAreKeptInFiles) {
  const OpGraph graph = small_network();
  const OpGraph read = read_graph_json(write_graph_json(graph), "small.json");
  for (OpId op = 0; op < num_ops(graph); ++op) {
    EXPECT_EQ(read[op].attributes, graph[op].attributes) << graph[op].name;
  }
  EXPECT_THAT(std::get<ConvAttributes>(read[2].attributes).window.pads, ElementsAre(0, 0, 1, 1));
}

// What a file of version 1 has is the key; the padding that fits it is the same.
TEST(Operators, FilesWithoutAttributesGetThoseOfTheKey) {
  const OpGraph graph = small_network();
  for (OpId op = 0; op < num_ops(graph); ++op) {
    EXPECT_EQ(operators::attributes_from_key(graph[op]), graph[op].attributes) << graph[op].name;
  }
}

TEST(Operators, AttributesOfOtherKindsAreMistakes) {
  const auto file = [](std::string_view kind, std::string_view attributes) {
    return fmt::format(
        R"({{"schema": "emplace-graph", "version": 2, "edges": [], "ops": [{{"name": "a", )"
        R"("kind": "{}", "attributes": {}}}]}})",
        kind, attributes);
  };
  const auto mistake = [&](std::string_view kind, std::string_view attributes) {
    return error_of(ErrorCode::kFormat, [&] { read_graph_json(file(kind, attributes), "x.json"); });
  };
  EXPECT_THAT(mistake("relu", R"({"group": 2})"),
              HasSubstr("/ops/0/attributes: ops of kind 'relu' have no attributes"));
  EXPECT_THAT(mistake("conv2d", R"({"groups": 2})"), HasSubstr("did you mean 'group'"));
  EXPECT_THAT(mistake("conv2d", R"({"group": 0})"),
              HasSubstr("/ops/0/attributes/group: expected a whole number of at least 1"));
}

}  // namespace
}  // namespace emplace::operators_test
