#include "support/errors.hpp"

#include <emplace/graphs/graph_format.hpp>
#include <emplace/graphs/model_builder.hpp>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <graphs/read_format.hpp>
#include <gtest/gtest.h>
#include <support/graphs.hpp>

#ifdef EMPLACE_HAS_LIBONNX
#include <graphs/onnx_model.hpp>
#endif

#include <algorithm>
#include <array>
#include <initializer_list>

namespace emplace::onnx_test {
namespace {

using test::count_kinds;
using test::find;
using testing::HasSubstr;
#ifdef EMPLACE_HAS_LIBONNX
using test::error_of;
using test::flops_of;
using test::import;
using test::model;
#endif

#ifndef EMPLACE_WITH_PROTOBUF

TEST(Onnx, SaysHowToGetItWhereItIsNotBuiltIn) {
  EXPECT_THAT(error_of_reading("onnx", ""), HasSubstr("EMPLACE_WITH_PROTOBUF=ON"));
}

#elif defined(EMPLACE_HAS_LIBONNX)

// --- Models that PyTorch wrote ---

// torchvision's documentation: 25,557,032 and 11,689,512 parameters, 4.09 and 1.81 billion
// multiply-adds for one image.
TEST(Onnx, CountsWhatIsPublishedOfResNets) {
  const OpGraph resnet50 = import(data_file("resnet50.onnx"), ":dimensions=batch:1");
  EXPECT_EQ(totals(resnet50).parameters, 25557032);
  EXPECT_NEAR(static_cast<double>(flops_of(resnet50, {"conv2d", "matmul"})) / 2, 4.09e9, 0.005e9);
  const OpGraph resnet18 = import(data_file("resnet18.onnx"), ":dimensions=batch:1");
  EXPECT_EQ(totals(resnet18).parameters, 11689512);
  EXPECT_NEAR(static_cast<double>(flops_of(resnet18, {"conv2d", "matmul"})) / 2, 1.81e9, 0.005e9);
  EXPECT_EQ(count_kinds(resnet18)["conv2d"], 20);
  EXPECT_EQ(count_kinds(resnet18)["batch_norm"], 20);
  EXPECT_EQ(count_kinds(resnet18)["add"], 8);  // one for each residual block
}

TEST(Onnx, ScalesWithTheSizesThatTheUserGives) {
  const std::string bytes = data_file("resnet18.onnx");
  EXPECT_EQ(32 * totals(import(bytes, ":dimensions=batch:1")).flops,
            totals(import(bytes, ":dimensions=batch:32")).flops);
}

// Each convolution but the first has two gradients of its own cost.
TEST(Onnx, DerivesTheTrainingGraph) {
  const std::string bytes = data_file("resnet18.onnx");
  const OpGraph graph = import(bytes, ":dimensions=batch:8,training=true,optimizer=momentum");
  auto counts = count_kinds(graph);
  EXPECT_EQ(counts["softmax_cross_entropy"], 1);
  EXPECT_EQ(counts["conv2d_backward_filter"], 20);
  EXPECT_EQ(counts["conv2d_backward_data"], 19);
  EXPECT_EQ(counts["optimizer_update"], counts["variable"]);
  EXPECT_EQ(flops_of(graph, {"conv2d_backward_filter"}), flops_of(graph, {"conv2d"}));
  EXPECT_EQ(flops_of(graph, {"conv2d"}) - flops_of(graph, {"conv2d_backward_data"}),
            2LL * 8 * 64 * 112 * 112 * 3 * 7 * 7);
  EXPECT_EQ(totals(graph).parameters, 11689512);
}

// Widths 32, 96 and 64, 4 heads of 8; two layers, then 100 classes; tokens: 3 x 10.
TEST(Onnx, TrainsOnABatchInParts) {
  const std::string bytes = data_file("resnet18.onnx");
  const auto trained = [&](const std::string& parameters) {
    return import(bytes, ":batch=8,training=true" + parameters);
  };
  const OpGraph whole = trained("");
  const OpGraph pipeline = trained(",micro-batches=4");
  EXPECT_EQ(totals(pipeline).parameters, totals(whole).parameters);
  EXPECT_EQ(flops_of(pipeline, {"conv2d"}), flops_of(whole, {"conv2d"}));
  EXPECT_EQ(count_kinds(pipeline)["conv2d"], 4 * count_kinds(whole)["conv2d"]);
  const OpGraph replicated = trained(",replicas=2");
  EXPECT_EQ(totals(replicated).parameters, 2 * totals(whole).parameters);
  EXPECT_EQ(count_kinds(replicated)["flatten_dense_tensors"] % 2, 0);
  EXPECT_GT(totals(trained(",recompute=*")).flops, totals(whole).flops);
  EXPECT_THAT(
      error_of(ErrorCode::kUsage, [&] { trained(",micro-batches=4,batch-dimension=images"); }),
      HasSubstr("parts of the batch need its size: expected 'images'"));
}

TEST(Onnx, CountsATransformerWhoseShapesAreComputed) {
  constexpr std::int64_t kTokens = 30;
  constexpr std::int64_t kDense = kTokens * (2 * (32 * 96 + 32 * 32 + 2 * 32 * 64) + 32 * 100);
  constexpr std::int64_t kAttention = std::int64_t{2} * 2 * 3 * 4 * 10 * 10 * 8;
  for (const std::string name : {"transformer_opset13.onnx", "transformer_opset17.onnx"}) {
    const OpGraph graph = import(data_file(name), ":dimensions=batch:3;seq:10");
    EXPECT_EQ(totals(graph).parameters, 23588) << name;  // by PyTorch: sum of numel()
    EXPECT_EQ(flops_of(graph, {"matmul"}), 2 * kDense) << name;
    EXPECT_EQ(flops_of(graph, {"batch_matmul"}), 2 * kAttention) << name;
    auto counts = count_kinds(graph);
    for (const std::string gone : {"shape", "concat", "gather", "constant", "cast", "mul", "div"}) {
      EXPECT_EQ(counts[gone], 0) << name << ": " << gone;
    }
  }
}

TEST(Onnx, CountsAnLstm) {
  const OpGraph graph = import(data_file("lstm.onnx"));
  // Two layers of 32 on 16 numbers, with two biases each; 5 steps of 3 sequences.
  EXPECT_EQ(totals(graph).parameters, 128 * (16 + 32 + 2) + 128 * (32 + 32 + 2));
  EXPECT_EQ(flops_of(graph, {"lstm"}), 2 * 5 * 3 * 128 * (16 + 32 + 32 + 32) + 2 * 13 * 5 * 3 * 32);
}

TEST(Onnx, TakesScopesFromTheNamesOfNodes) {
  const OpGraph graph = import(data_file("resnet18.onnx"), ":dimensions=batch:1");
  EXPECT_EQ(find(graph, "/layer1/layer1.0/conv1/Conv").scope, "layer1/layer1.0/conv1");
  EXPECT_EQ(find(graph, "layer1.0.conv1.weight").scope, "layer1/layer1.0/conv1");
}

// --- What becomes of a model ---

// An imported layer must look like one of ours, for profiles to know it.
void expect_alike(const OpGraph& theirs, const OpGraph& ours,
                  std::initializer_list<std::string_view> kinds) {
  for (const std::string_view kind : kinds) {
    const auto find = [&](const OpGraph& graph) {
      OpId op = 0;
      while (op < num_ops(graph) && graph[static_cast<std::size_t>(op)].kind != kind) {
        ++op;
      }
      return op < num_ops(graph) ? graph[static_cast<std::size_t>(op)] : Op{.name = "none"};
    };
    EXPECT_EQ(find(theirs).kind, kind);
    EXPECT_EQ(find(theirs).shape, find(ours).shape) << kind;
    EXPECT_EQ(find(theirs).flops, find(ours).flops) << kind;
    EXPECT_EQ(find(theirs).bytes_read, find(ours).bytes_read) << kind;
    EXPECT_EQ(find(theirs).bytes_written, find(ours).bytes_written) << kind;
    EXPECT_EQ(find(theirs).persistent_bytes, find(ours).persistent_bytes) << kind;
  }
  EXPECT_EQ(totals(theirs).parameters, totals(ours).parameters);
  EXPECT_EQ(totals(theirs).persistent_bytes, totals(ours).persistent_bytes);
}

TEST(Onnx, GivesOpsTheShapesOfTheBuilders) {
  ModelBuilder net("ours");
  const Tensor image = net.input("x", {2, 3, 32, 32});
  const Tensor maps = net.conv2d(image, {.filters = 8, .kernel = {3, 3}, .stride = 2});
  const Tensor pooled = net.max_pool(net.relu(net.batch_norm(maps)), {.kernel = 2, .stride = 2});
  net.softmax(net.dense(net.global_avg_pool(pooled), 10));
  const OpGraph ours = std::move(net).finish();

  const OpGraph theirs = import(model(R"(g (float[2, 3, 32, 32] x) => (float[2, 10] y) {
      a = Conv <strides = [2, 2], pads = [0, 0, 1, 1]> (x, filters)
      b = BatchNormalization <training_mode = 1> (a, scale, offset, mean, variance)
      c = Relu (b)
      d = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (c)
      e = GlobalAveragePool (d)
      f = Flatten (e)
      h = Gemm (f, w, bias)
      y = Softmax (h)
    })",
                                      {{"filters", {8, 3, 3, 3}},
                                       {"scale", {8}},
                                       {"offset", {8}},
                                       {"mean", {8}},
                                       {"variance", {8}},
                                       {"w", {8, 10}},
                                       {"bias", {10}}}));
  expect_alike(
      theirs, ours,
      {"conv2d", "batch_norm", "relu", "max_pool", "avg_pool", "matmul", "bias_add", "softmax"});
}

TEST(Onnx, GivesOpsOfTodaysLayersTheShapesOfTheBuilders) {
  ModelBuilder net("ours");
  Tensor x = net.depthwise_conv2d(net.input("x", {2, 8, 10, 10}), {.kernel = {3, 3}});
  x = net.channel_bias_add(x);
  x = net.conv2d_transpose(x, {.filters = 4, .kernel = {2, 2}, .stride = 2});
  x = net.layer_norm(net.reshape(x, {2, 20, 80}));
  x = net.reshape(x, {2, 80, 20});
  net.batch_matmul(x, x, {.right = true});
  const OpGraph ours = std::move(net).finish();

  const OpGraph theirs = import(model(R"(g (float[2, 8, 10, 10] x) => (float[2, 80, 80] y) {
      shape = Constant <value = int64[3] {2, 20, 80}> ()
      a = Conv <group = 8, pads = [1, 1, 1, 1]> (x, filters, bias)
      b = ConvTranspose <strides = [2, 2]> (a, up)
      c = Reshape (b, shape)
      d = LayerNormalization (c, scale, offset)
      e = Transpose <perm = [0, 2, 1]> (d)
      y = MatMul (e, d)
    })",
                                      {{"filters", {8, 1, 3, 3}},
                                       {"bias", {8}},
                                       {"up", {8, 4, 2, 2}},
                                       {"scale", {80}},
                                       {"offset", {80}}}));
  expect_alike(theirs, ours,
               {"depthwise_conv2d", "bias_add", "conv2d_transpose", "reshape", "layer_norm",
                "batch_matmul"});
}

// By moving statistics where the model is not trained: a multiply-add for each number.
TEST(Onnx, NormalizesAsTheModelIsUsed) {
  const std::string bytes =
      model(R"(g (float[2, 8, 4, 5] x) => (float[2, 8, 4, 5] y) {
      y = BatchNormalization (x, scale, offset, mean, variance)
    })",
            {{"scale", {8}}, {"offset", {8}}, {"mean", {8}}, {"variance", {8}}});
  const OpGraph graph = import(bytes);
  const Op& used = find(graph, "batch_normalization");
  EXPECT_EQ(used.kind, "batch_norm_inference");
  EXPECT_EQ(used.shape, (std::vector<std::int64_t>{2, 8, 20}));
  EXPECT_EQ(used.flops, 2 * 320);
  EXPECT_EQ(used.persistent_bytes, 64);
  EXPECT_EQ(used.bytes_read, 4 * 320 + 64 + 64);  // maps, scale and offset, statistics
  EXPECT_EQ(used.bytes_written, 4 * 320);
  const OpGraph training = import(bytes, ":training=true");
  const Op& trained = find(training, "batch_normalization");
  EXPECT_EQ(trained.kind, "batch_norm");
  EXPECT_EQ(trained.flops, 5 * 320);
}

// The same op, however a model says it.
TEST(Onnx, GivesOneOpToWhatIsOne) {
  const OpGraph graph = import(model(R"(g (float[2, 8, 6, 6] x) => (float[2, 8, 1, 1] y) {
      a = Neg (x)
      b = ReduceMean <axes = [-1, 2]> (a)
      c = GlobalAveragePool (x)
      d = Einsum <equation = "nchw,kc->nkhw"> (x, w)
    })",
                                     {{"w", {4, 8}}}));
  EXPECT_EQ(find(graph, "neg").kind, "neg");
  EXPECT_EQ(find(graph, "reduce_mean").kind, "avg_pool");
  EXPECT_EQ(find(graph, "reduce_mean").shape, find(graph, "global_average_pool").shape);
  EXPECT_EQ(find(graph, "reduce_mean").flops, find(graph, "global_average_pool").flops);
  EXPECT_EQ(find(graph, "einsum").kind, "matmul");
  EXPECT_EQ(find(graph, "einsum").flops, 2LL * 2 * 36 * 8 * 4);
}

TEST(Onnx, LetsAVariableLiveWithItsFirstReader) {
  const OpGraph graph = import(model(R"(g (float[4, 8] x) => (float[4, 8] y) {
      a = MatMul (x, w)
      v = Identity (w)
      y = MatMul (a, v)
    })",
                                     {{"w", {8, 8}}, {"unused", {1000}}}));
  ASSERT_EQ(num_ops(graph), 4);  // the input, one variable, two products
  const Op& variable = find(graph, "w");
  EXPECT_EQ(variable.kind, "variable");
  EXPECT_EQ(variable.persistent_bytes, 256);
  EXPECT_TRUE(variable.outputs[0].persistent);
  EXPECT_EQ(find(graph, "mat_mul").colocation, variable.colocation);
  EXPECT_EQ(find(graph, "mat_mul_2").colocation, "");
}

TEST(Onnx, MakesNoOpOfWhatIsKnownBeforeTheStep) {
  const OpGraph graph = import(model(R"(g (float[N, 6] x) => (float[M, 3] y) {
      shape = Shape (x)
      zero = Constant <value = int64 {0}> ()
      n = Gather (shape, zero)
      two = Constant <value = int64 {2}> ()
      rows = Mul (n, two)
      axis = Constant <value = int64[1] {0}> ()
      first = Unsqueeze (rows, axis)
      rest = Constant <value = int64[1] {-1}> ()
      target = Concat <axis = 0> (first, rest)
      a = Reshape (x, target)
      half = Constant <value = float {0.5}> ()
      y = Mul (a, half)
    })"),
                               ":dimensions=N:7");
  ASSERT_EQ(num_ops(graph), 3);
  EXPECT_EQ(graph[1].kind, "reshape");
  EXPECT_EQ(graph[1].outputs[0].shape, (std::vector<std::int64_t>{14, 3}));
  EXPECT_EQ(graph[2].kind, "scale");
  EXPECT_EQ(graph[2].flops, 42);
}

TEST(Onnx, KeepsALargeTableOfConstants) {
  std::vector<std::int64_t> positions(20, 1);
  const OpGraph graph =
      import(model("g (float[4, 8] x) => (float[20, 8] y) { y = Gather (x, ids) }",
                   {{"ids", {20}, onnx::TensorProto::INT64, positions}}));
  const Op& table = find(graph, "ids");
  EXPECT_EQ(table.kind, "constant");
  EXPECT_EQ(table.persistent_bytes, 160);
  EXPECT_EQ(table.parameters, 0);
}

TEST(Onnx, ReadsOfATableOnlyTheRowsThatAreLookedUp) {
  const OpGraph graph =
      import(model("g (int64[3, 5] ids) => (float[3, 5, 16] y) { y = Gather (table, ids) }",
                   {{"table", {1000, 16}}}));
  const Op& lookup = find(graph, "gather");
  EXPECT_EQ(lookup.kind, "embedding");
  EXPECT_EQ(lookup.shape, (std::vector<std::int64_t>{15, 1000, 16}));
  EXPECT_EQ(lookup.bytes_read, 15 * 8 + 15 * 16 * 4);
}

TEST(Onnx, TellsBiasesFromOtherSums) {
  const OpGraph graph =
      import(model(R"(g (float[4, 5, 6] x, float[4, 5, 6] z) => (float[4, 5, 6] y) {
      a = Add (x, z)
      b = Add (bias, a)
      c = Add (b, column)
      one = Constant <value = float {1.0}> ()
      d = Add (c, one)
      y = Add (d, corners)
    })",
                   {{"bias", {1, 6}}, {"column", {5, 1}}, {"corners", {4, 1, 6}}}));
  EXPECT_EQ(find(graph, "add").kind, "add");
  EXPECT_EQ(find(graph, "add_2").kind, "bias_add");
  EXPECT_EQ(find(graph, "add_2").shape, (std::vector<std::int64_t>{20, 6}));
  EXPECT_EQ(find(graph, "add_3").kind, "bias_add");  // a number for each channel
  EXPECT_EQ(find(graph, "add_3").shape, (std::vector<std::int64_t>{4, 5, 6}));
  EXPECT_EQ(find(graph, "add_4").kind, "add");
  EXPECT_EQ(find(graph, "add_5").kind, "broadcast_add");
}

TEST(Onnx, CountsConvolutionsThatAreNotOurs) {
  const OpGraph graph = import(model(R"(g (float[2, 8, 10, 10] x) => (float[2, 8, 20, 20] y) {
      a = Conv <group = 4, pads = [1, 1, 1, 1]> (x, pairs)
      y = ConvTranspose <group = 2, strides = [2, 2]> (a, up)
    })",
                                     {{"pairs", {8, 2, 3, 3}}, {"up", {8, 2, 2, 2}}}));
  EXPECT_EQ(find(graph, "conv").kind, "grouped_conv");
  EXPECT_EQ(find(graph, "conv").flops, 2 * (2 * 8 * 10 * 10) * 2 * 9);
  EXPECT_EQ(find(graph, "conv_transpose").kind, "conv_transpose");
  EXPECT_EQ(find(graph, "conv_transpose").flops, 2 * (2 * 8 * 10 * 10) * 2 * 2 * 2);
}

TEST(Onnx, GivesAnUnknownOperatorItsNameAndNoFlops) {
  const OpGraph graph = import(model(R"(g (float[2, 8] x) => (float[2, 8] y) {
      y = BlackmanWindow (x)
    })"));
  EXPECT_EQ(graph[1].kind, "blackman_window");
  EXPECT_EQ(graph[1].flops, 0);
  EXPECT_EQ(graph[1].bytes_read, 64);
  EXPECT_THAT(graph[boost::graph_bundle].source,
              HasSubstr("no FLOPs are counted of BlackmanWindow (1)"));
}

// Mul of another domain is another operator: no product, and perhaps of one input.
TEST(Onnx, FusesOnlyStandardOperators) {
  onnx::ModelProto proto = test::parse_model(R"(g (float[2, 3] x) => (float[2, 3] y) {
      s = Sigmoid (x)
      y = Mul (s, x)
    })");
  EXPECT_EQ(count_kinds(import(proto.SerializeAsString()))["silu"], 1);
  onnx::NodeProto& product = *proto.mutable_graph()->mutable_node(1);
  product.set_domain("custom");
  const OpGraph graph = import(proto.SerializeAsString());
  EXPECT_EQ(count_kinds(graph)["sigmoid"], 1);
  EXPECT_EQ(count_kinds(graph)["mul"], 1);
  EXPECT_THAT(graph[boost::graph_bundle].source, HasSubstr("no FLOPs are counted of Mul (1)"));
  product.mutable_input()->RemoveLast();
  EXPECT_EQ(count_kinds(import(proto.SerializeAsString()))["mul"], 1);
}

// Shape of another domain may read every element: it depends on what enters the step.
TEST(Onnx, KnowsOnlyTheShapesThatStandardOperatorsTell) {
  onnx::ModelProto proto = test::parse_model(R"(g (float[2, 3] x) => (float[2, 3] y) {
      s = Shape (x)
      y = Expand (x, s)
    })");
  EXPECT_EQ(count_kinds(import(proto.SerializeAsString()))["shape"], 0);
  onnx::ModelProto custom = test::parse_model(R"(g (float[2, 3] x) => (float[2, 3] y) {
      y = Shape (x)
    })");
  custom.mutable_graph()->mutable_node(0)->set_domain("custom");
  EXPECT_EQ(count_kinds(import(custom.SerializeAsString()))["shape"], 1);
}

// Of t tensors of 10 numbers each: (t - 1) 10 FLOPs, and a division more for means.
TEST(Onnx, CountsOperatorsOnSeveralTensors) {
  const OpGraph graph = import(model(R"(g (float[10] a, float[10] b, float[10] c) => (float[10] y) {
      d = Sum (a, b, c)
      e = Max (d, b, c)
      f = Min (e, a, b, c)
      h = Mean (f, b, c)
      i = Sum (h, a)
      y = Mean (i)
    })"));
  EXPECT_EQ(find(graph, "sum").flops, 2 * 10);
  EXPECT_EQ(find(graph, "max").flops, 2 * 10);
  EXPECT_EQ(find(graph, "min").flops, 3 * 10);
  EXPECT_EQ(find(graph, "mean").flops, 3 * 10);
  EXPECT_EQ(find(graph, "sum_2").flops, 10);
  EXPECT_EQ(find(graph, "mean_2").flops, 10);
}

// Each name once took as long as all before it: minutes.
TEST(Onnx, NumbersManyNodesWithoutNames) {
  constexpr int kNodes = 20'000;
  onnx::ModelProto proto = test::parse_model("g (float[4] x) => (float[N] y) { y = Relu (x) }");
  onnx::GraphProto& graph = *proto.mutable_graph();
  for (int i = 1; i < kNodes; ++i) {
    onnx::NodeProto& node = *graph.add_node();
    node.set_op_type("Relu");
    node.add_input(graph.node(i - 1).output(0));
    node.add_output(fmt::format("y{}", i));
  }
  const OpGraph chain = import(proto.SerializeAsString());
  ASSERT_EQ(num_ops(chain), kNodes + 1);
  EXPECT_EQ(chain[2].name, "relu_2");
  EXPECT_EQ(chain[kNodes].name, "relu_20000");
}

TEST(Onnx, DropsOutInTrainingOnly) {
  const std::string inference = "g (float[2, 8] x) => (float[2, 8] y) { y = Dropout (x) }";
  EXPECT_EQ(num_ops(import(model(inference))), 1);
  const OpGraph graph = import(model(R"(g (float[2, 8] x) => (float[2, 8] y) {
      ratio = Constant <value = float {0.5}> ()
      is_training = Constant <value = bool {1}> ()
      y = Dropout (x, ratio, is_training)
    })"));
  EXPECT_EQ(graph[1].kind, "dropout");
  EXPECT_EQ(graph[1].outputs[1].bytes, 16);
}

// --- What is refused ---

TEST(Onnx, ListsAllKindsThatCannotBeTrained) {
  EXPECT_THAT(error_of(model("g (float[2, 8] x) => (float[2, 8] y) { a = MatMul (x, w) "
                             "b = Hardmax (a) y = Hardmax (b) }",
                             {{"w", {8, 8}}}),
                       ":training=true"),
              HasSubstr("no gradient rule for these kinds of ops: hardmax (2)"));
}

TEST(Onnx, NamesTheDimensionsThatAreMissing) {
  const std::string bytes = data_file("transformer_opset17.onnx");
  const auto error_with = [&](const std::string& parameters) {
    return error_of(ErrorCode::kUsage, [&] { import(bytes, parameters); });
  };
  EXPECT_THAT(error_with(""), HasSubstr("folder/file.bin:batch=SIZE,seq=SIZE"));
  EXPECT_THAT(error_with(":batch=3"), HasSubstr("file.bin:seq=SIZE"));
  EXPECT_THAT(error_with(":dimensions=batch:3"), HasSubstr("file.bin:seq=SIZE"));
  EXPECT_THAT(error_with(":batch=3,seq=5,trainin=true"), HasSubstr("did you mean 'training'?"));
  EXPECT_THAT(error_with(":dimensions=batch:3;seq:5;sec:5"),
              HasSubstr("no parameter and no dimension is called 'sec'; did you mean 'seq'"));
  for (const std::string wrong :
       {"batch", "batch:", ":3", "batch:-1", "batch:3;batch:3", "batch:x"}) {
    EXPECT_THAT(error_with(":dimensions=" + wrong), HasSubstr("expected NAME:SIZE")) << wrong;
  }
}

// 0 is a size like any other: a cache of keys is empty before the first token.
TEST(Onnx, SizesMayBe0) {
  const std::string declared = model(R"(g (float[2, 0, 4] past, float[2, 3, 4] x) => (float[] y) {
      y = Concat <axis = 1> (past, x)
    })");
  EXPECT_EQ(num_ops(import(declared)), 3);
  EXPECT_THAT(find(import(declared), "concat").outputs[0].shape, testing::ElementsAre(2, 3, 4));
  const std::string symbolic = model(R"(g (float[2, N, 4] past, float[2, 3, 4] x) => (float[] y) {
      y = Concat <axis = 1> (past, x)
    })");
  for (const std::string parameters : {":N=0", ":dimensions=N:0"}) {
    EXPECT_THAT(find(import(symbolic, parameters), "concat").outputs[0].shape,
                testing::ElementsAre(2, 3, 4));
  }
}

// Exporters write -1 for what is open.
TEST(Onnx, ASizeBelow0IsOpen) {
  onnx::ModelProto proto =
      test::parse_model("g (float[2, 8] x) => (float[2, 8] y) { y = Relu (x) }");
  proto.mutable_graph()
      ->mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(0)
      ->set_dim_value(-1);
  EXPECT_THAT(error_of(proto.SerializeAsString()), HasSubstr("x.0=SIZE"));
  EXPECT_EQ(import(proto.SerializeAsString(), ":x.0=5")[1].flops, 40);
}

TEST(Onnx, ReadsModelsWithoutStandardOperators) {
  onnx::ModelProto proto = test::parse_model(R"(g (float[3, 4] x) => (float[3, 4] y) {
      y = Binarizer <threshold = 1.0> (x)
    })");
  proto.mutable_graph()->mutable_node(0)->set_domain("ai.onnx.ml");
  proto.mutable_opset_import(0)->set_domain("ai.onnx.ml");
  proto.mutable_opset_import(0)->set_version(1);
  const OpGraph graph = import(proto.SerializeAsString());
  EXPECT_THAT(find(graph, "binarizer").outputs[0].shape, testing::ElementsAre(3, 4));
  EXPECT_THAT(graph[boost::graph_bundle].source, testing::StartsWith("ONNX ai.onnx.ml 1;"));
  proto.mutable_graph()->mutable_node(0)->set_domain("");
  EXPECT_THAT(
      error_of(proto.SerializeAsString()),
      HasSubstr("(Binarizer): the model does not say which opset of the standard operators"));
}

TEST(Onnx, NamesTheInputsThatAreMissing) {
  const std::string head = "g (float[2, 8] x) => (float[2, 8] y) { ";
  expect_errors(
      "onnx",
      Mistakes{
          {model(head + "y = Resize (x, , , ) }"), "node '' (Resize): expected scales or sizes"},
          {model(head + "y = Gemm (x, , x) }"),
           "node '' (Gemm): expected an input 2, which is left out"},
          {model(head + "y = Add (x, ) }"),
           "node '' (Add): expected an input 2, which is left out"},
          {model(head + "y = Gemm (x) }"), "node '' (Gemm): expected at least 2 inputs, found 1"},
      });
}

TEST(Onnx, LayersThatAreCutShortAreErrors) {
  const std::string graph = R"(g (float[2, 6, 4, 4] x) => (float[N] y)
    <int64[3] groups = {0, 3, -1}, int64[4] maps = {2, 6, 4, 4}> {
      a = Reshape (x, groups)
      b = InstanceNormalization (a)
      y = Reshape (b, maps)
    })";
  EXPECT_THAT(error_of(model(graph)), HasSubstr("InstanceNormalization"));
}

TEST(Onnx, RefusesWhatItCannotRead) {
  const std::string head = "g (float[2, 8] x) => (float[2, 8] y) { ";
  onnx::ModelProto no_opset;
  no_opset.ParseFromString(model(head + "y = Relu (x) }"));
  no_opset.clear_opset_import();
  onnx::ModelProto strings;
  strings.ParseFromString(model(head + "y = Relu (x) }"));
  strings.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(
      onnx::TensorProto::STRING);
  onnx::ModelProto control_flow;
  control_flow.ParseFromString(model(head + "y = Relu (x) }"));
  onnx::AttributeProto& branch = *control_flow.mutable_graph()->mutable_node(0)->add_attribute();
  branch.set_name("then_branch");
  branch.mutable_g()->set_name("branch");
  onnx::ModelProto no_results;
  no_results.ParseFromString(model(head + "y = Relu (x) }"));
  no_results.mutable_graph()->mutable_node(0)->clear_output();
  const Mistakes mistakes = {
      {"", "not an ONNX model"},
      {"no protobuf", "not an ONNX model: expected a ModelProto with a graph, in binary"},
      {"ir_version: 8", "an ONNX model in the text format is not read"},
      {no_opset.SerializeAsString(), "does not say which opset"},
      {strings.SerializeAsString(), "tensors of STRING are not supported"},
      {control_flow.SerializeAsString(), "node '' (Relu): control flow is not supported"},
      {model(head + "y = Relu (z) }"), "reads 'z', which nothing before it makes"},
      {model(head + "y = Relu (z) z = Relu (x) }"), "reads 'z', which nothing before it makes"},
      {model(head + "y = Relu (x) y = Relu (x) }"), "'y' is made twice"},
      {model(head + "a = Relux (x) y = Relu (a) }"),
       "node '' (Relux): this operator is not known, and the file does not say what shape"},
      {model(head + "y = Relu () }"), "node '' (Relu): expected at least 1 inputs, found 0"},
      {model(head + "y = Mul (x) }"), "node '' (Mul): expected at least 2 inputs, found 1"},
      {no_results.SerializeAsString(), "node '' (Relu) has no results"},
      {model(head + "y = MatMul (x, x) }"),
       "node '' (MatMul): cannot multiply 8 columns by 2 rows"},
      {model(head + "y = Add (x, w) }", {{"w", {3}}}), "[2, 8] and [3] do not fit"},
      {model(head + "y = NonZero (x) z = Relu (y) }"),
       "node '' (NonZero): the shape of its result depends on the data"},
      {model("g (int64[2] s, float[2, 8] x) => (float[2, 8] y) { y = Reshape (x, s) }"),
       "node '' (Reshape): input 2, 's', decides on the shape of the result"},
      {model(head + "y = Add (x, w) }", {{"w", {-8}}}), "found -8"},
      {model(head + "y = Add (x, w) }", {{"w", {1LL << 40, 1LL << 40}}}), "does not fit 64 bits"},
      {model(head + "y = Add (x, w) }", {{"w", {1LL << 50}}}), "found 1125899906842624"},
      {model(head + "y = Add (x, w) }", {{"w", {8}, onnx::TensorProto::COMPLEX64}}), "COMPLEX64"},
      {model("g (float[1] x) => (float[N, M] y) { y = Expand (x, s) }",
             {{"s", {2}, onnx::TensorProto::INT64, {1LL << 40, 1LL << 40}}}),
       "does not fit 64 bits"},
  };
  expect_errors("onnx", mistakes);
}

#endif

}  // namespace
}  // namespace emplace::onnx_test
