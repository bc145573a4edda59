// Training graphs of imported models: the FLOPs of each kind of op's gradients against closed
// forms, the layers that exporters take apart, and the losses.

#ifdef EMPLACE_HAS_LIBONNX

#include <emplace/graphs/graph_json.hpp>

#include <graphs/onnx_model.hpp>
#include <support/graphs.hpp>

#include <map>
#include <span>

namespace emplace::onnx_training_test {
namespace {

using test::count_kinds;
using test::error_of;
using test::find;
using test::flops_of;
using test::import;
using test::model;
using test::Weight;
using testing::ElementsAre;
using testing::HasSubstr;

// The graph, which is the same when it was written and read again.
OpGraph trained(const std::string& text, const std::vector<Weight>& weights, int opset = 17) {
  OpGraph graph = import(model(text, weights, opset), ":training=true,optimizer=sgd");
  test::expect_equal(read_graph_json(write_graph_json(graph), "x.json"), graph);
  return graph;
}

// --- One op between a product with weights and the loss ---

// a = x w is [4, 6]; `node` makes y of it, and the loss is on y.
struct Case {
  std::string node;
  std::map<std::string, std::int64_t> flops;  // of the gradient's ops, by kind
  std::vector<Weight> weights{};
  int opset = 17;
};

void expect_flops(std::span<const Case> cases) {
  for (const Case& one : cases) {
    std::vector<Weight> weights = one.weights;
    weights.push_back({"w", {3, 6}});
    const OpGraph graph =
        trained("g (float[4, 3] x) => (float[N] y) { a = MatMul (x, w) " + one.node + " }", weights,
                one.opset);
    for (const auto& [kind, flops] : one.flops) {
      EXPECT_GT(count_kinds(graph)[kind], 0) << one.node << ": " << kind;
      EXPECT_EQ(flops_of(graph, {kind}), flops) << one.node << ": " << kind;
    }
    EXPECT_GE(count_kinds(graph)["optimizer_update"], 1) << one.node;
  }
}

TEST(OnnxTraining, HasARuleForEachFunction) {
  constexpr std::int64_t kCount = 24;
  const Weight same{"c", {4, 6}};
  const Weight column{"c", {4, 1}};
  const Case cases[] = {
      {"y = Abs (a)", {{"abs_backward", 2 * kCount}}},
      {"y = Clip (a)", {{"clip_backward", 3 * kCount}}},
      {"y = Cos (a)", {{"cos_backward", 3 * kCount}}},
      {"y = Elu (a)", {{"elu_backward", 2 * kCount}}},
      {"y = Erf (a)", {{"erf_backward", 5 * kCount}}},
      {"y = Exp (a)", {{"exp_backward", kCount}}},
      {"y = Gelu (a)", {{"gelu_backward", 11 * kCount}}, {}, 20},
      {"y = HardSigmoid (a)", {{"hard_sigmoid_backward", 2 * kCount}}},
      {"y = HardSwish (a)", {{"hard_swish_backward", 4 * kCount}}},
      {"y = LeakyRelu (a)", {{"leaky_relu_backward", kCount}}},
      {"y = Log (a)", {{"log_backward", kCount}}},
      {"y = Mish (a)", {{"mish_backward", 8 * kCount}}, {}, 18},
      {"y = Neg (a)", {{"neg", 2 * kCount}}},  // and the forward op
      {"y = Reciprocal (a)", {{"reciprocal_backward", 3 * kCount}}},
      {"y = Sin (a)", {{"sin_backward", 2 * kCount}}},
      {"y = Softplus (a)", {{"softplus_backward", 2 * kCount}}},
      {"y = Sqrt (a)", {{"sqrt_backward", 2 * kCount}}},
      {"y = Cast <to = 10> (a)", {{"cast", 2 * kCount}}},
      {"y = Sub (c, a)", {{"scale", kCount}}, {same}},
      {"y = Div (a, c)", {{"div_backward", 3 * kCount}, {"div", 2 * kCount}}, {same}},
      {"y = Div (a, c)",
       {{"div_backward", 3 * kCount}, {"broadcast_div", 2 * kCount}, {"reduce_sum", kCount}},
       {column}},
      {"y = Mul (a, c)",
       {{"multiply", kCount}, {"broadcast_multiply", 2 * kCount}, {"reduce_sum", kCount}},
       {column}},
      {"y = Add (c, a)",
       {{"broadcast_add", 4 * kCount}, {"reduce_sum", 2 * 96}},
       {{"c", {4, 1, 6}}}},
      {"b = Max (a, c) y = Min (b, c)", {{"max_backward", 4 * kCount}}, {same}},
      {"two = Constant <value = float {2.0}> () y = Pow (a, two)",
       {{"pow", kCount}, {"pow_backward", 3 * kCount}}},
      {"y = PRelu (a, c)",
       {{"prelu_backward", kCount}, {"prelu_backward_slope", 2 * kCount}, {"reduce_sum", kCount}},
       {{"c", {6}}}},
      {"b = Greater (a, c) y = Where (b, a, c)", {{"where", 0}, {"greater", kCount}}, {same}},
  };
  expect_flops(cases);
}

TEST(OnnxTraining, HasARuleForEachReductionAndMovement) {
  const Weight pads{"p", {4}, onnx::TensorProto::INT64, {0, 1, 0, 2}};
  const Weight one{"one", {1}, onnx::TensorProto::INT64, {1}};
  const Weight three{"s", {3}, onnx::TensorProto::INT64, {3, 4, 6}};
  const Weight two_two{"s", {2}, onnx::TensorProto::INT64, {2, 2}};
  const Weight ids{"s", {3}, onnx::TensorProto::INT64, {0, 1, 1}};
  const Case cases[] = {
      {"y = ReduceMean <axes = [1]> (a)", {{"reduce_mean", 24}, {"reduce_mean_backward", 24}}},
      {"y = ReduceMean (a, one)", {{"reduce_mean_backward", 24}}, {one}, 18},
      {"y = ReduceSum (a, one)", {{"reduce_sum", 24}, {"expand", 0}}, {one}},
      {"y = ReduceMax <axes = [1]> (a)", {{"reduce_max_backward", 24}}},
      {"y = ReduceMin <axes = [1]> (a)", {{"reduce_max_backward", 24}}},
      {"y = ReduceL2 <axes = [1]> (a)", {{"reduce_l2_backward", 48}}},
      {"y = ReduceProd <axes = [1]> (a)", {{"reduce_prod_backward", 72}}},
      {"y = ReduceLogSumExp <axes = [1]> (a)", {{"reduce_log_sum_exp_backward", 72}}},
      {"b = LogSoftmax (a) y = Relu (b)", {{"log_softmax_backward", 96}}},
      {"y = CumSum (a, one)", {{"cum_sum", 48}}, {{"one", {}, onnx::TensorProto::INT64, {1}}}},
      {"y = Pad (a, p)", {{"pad", 0}, {"slice", 0}}, {pads}},
      {"y = Expand (a, s)", {{"expand_view", 0}, {"reduce_sum", 72}}, {three}},
      {"y = Tile (a, s)", {{"tile", 0}, {"reduce_sum", 96}}, {two_two}},
      {"y = Gather (a, s)", {{"gather", 0}, {"gather_backward", 18}}, {ids}},
      {"y = Trilu (a)", {{"trilu", 0}}},
      {R"(y = Einsum <equation = "ij,kj->ik"> (a, c))",
       {{"matmul", 2 * (2 * 4 * 3 * 6) + 3 * (2 * 4 * 6 * 5)}},
       {{"c", {5, 6}}}},
  };
  expect_flops(cases);
}

// Flat steps and choices hand no gradient on: what is before them alone is not trained.
TEST(OnnxTraining, SamplesMapsAtPlaces) {
  const OpGraph graph = import(model(R"(g (float[2, 3, 8, 8] x, float[2, 4, 4, 2] grid)
      => (float[N] y) {
      maps = Conv (x, w)
      y = GridSample (maps, grid)
    })",
                                     {{"w", {5, 3, 1, 1}}}, 17),
                               ":training=true");
  // 7 FLOPs for each of 2 x 5 x 4 x 4 numbers, and twice as many back.
  EXPECT_EQ(flops_of(graph, {"grid_sample"}), 7 * 160);
  EXPECT_EQ(flops_of(graph, {"grid_sample_backward"}), 2 * 7 * 160);
}

TEST(OnnxTraining, StopsAtWhatHasNoDerivative) {
  const OpGraph graph = trained(R"(g (float[4, 3] x) => (float[N] y) {
      a = MatMul (x, w)
      b = Floor (a)
      c = ArgMax <axis = 1> (b)
      d = Cast <to = 1> (c)
      y = Mul (d, v)
    })",
                                {{"w", {3, 6}}, {"v", {4, 6}}});
  EXPECT_EQ(count_kinds(graph)["optimizer_update"], 1);
}

// --- Layers ---

TEST(OnnxTraining, CountsTheGradientsOfConvolutions) {
  const OpGraph graph = trained(R"(g (float[2, 8, 10, 10] x) => (float[N] y) {
      a = Conv <pads = [1, 1, 1, 1]> (x, first)
      b = Conv <group = 4, pads = [1, 1, 1, 1]> (a, pairs)
      c = ConvTranspose <group = 2, strides = [2, 2]> (b, up)
      d = Resize <mode = "nearest"> (c, , factors)
      y = MaxPool <kernel_shape = [2, 2], strides = [2, 1]> (d)
    })",
                                {{"first", {8, 8, 3, 3}},
                                 {"pairs", {8, 2, 3, 3}},
                                 {"up", {8, 2, 2, 2}},
                                 {"factors", {4}, onnx::TensorProto::FLOAT, {}, {1, 1, 2, 2}}});
  const std::int64_t first = 2LL * (2 * 8 * 10 * 10) * 8 * 9;
  const std::int64_t pairs = 2LL * (2 * 8 * 10 * 10) * 2 * 9;
  const std::int64_t up = 2LL * (2 * 8 * 10 * 10) * 2 * 4;
  EXPECT_EQ(flops_of(graph, {"conv2d_backward_filter"}), first);
  EXPECT_EQ(flops_of(graph, {"conv2d_backward_data"}), 0);  // the image needs none
  // The gradients of a transposed convolution are a convolution and the gradient of its filters.
  EXPECT_EQ(flops_of(graph, {"grouped_conv"}), pairs + up);
  EXPECT_EQ(flops_of(graph, {"grouped_conv_backward_filter"}), pairs + up);
  EXPECT_EQ(flops_of(graph, {"grouped_conv_backward_data"}), pairs);
  EXPECT_EQ(flops_of(graph, {"resize_backward"}), 2 * 4 * 40 * 40);
  EXPECT_EQ(count_kinds(graph)["max_pool_nd_backward"], 1);  // strides differ
  EXPECT_EQ(totals(graph).parameters, 8 * 8 * 9 + 8 * 2 * 9 + 8 * 2 * 4);
}

// Maps of one and of three dimensions: the former are maps of height 1.
TEST(OnnxTraining, KnowsConvolutionsOfOneAndThreeDimensions) {
  const OpGraph sequence = trained(R"(g (float[2, 8, 20] x) => (float[N] y) {
      a = Conv <strides = [2], dilations = [3]> (x, w)
      y = AveragePool <kernel_shape = [3]> (a)
    })",
                                   {{"w", {16, 8, 5}}});
  EXPECT_THAT(find(sequence, "conv").shape, ElementsAre(2, 8, 1, 20, 16, 1, 5, 1, 2, 3, 1, 4));
  EXPECT_EQ(flops_of(sequence, {"conv2d_backward_filter"}), 2 * (2 * 16 * 4) * 8 * 5);
  EXPECT_THAT(find(sequence, "average_pool").shape, ElementsAre(2, 16, 1, 4, 1, 3, 1, 1, 2));
  const OpGraph video = trained(R"(g (float[2, 3, 4, 8, 8] x) => (float[N] y) {
      a = Conv <pads = [1, 1, 1, 1, 1, 1]> (x, w)
      y = MaxPool <kernel_shape = [2, 2, 2], strides = [2, 2, 2]> (a)
    })",
                                {{"w", {6, 3, 3, 3, 3}}});
  EXPECT_EQ(flops_of(video, {"conv_backward_filter"}), 2LL * (2 * 6 * 4 * 8 * 8) * 3 * 27);
  EXPECT_EQ(flops_of(video, {"max_pool_nd"}), 7 * 2 * 6 * 2 * 4 * 4);
}

TEST(OnnxTraining, CountsTheGradientsOfNormalizations) {
  const OpGraph graph =
      trained(R"(g (float[2, 8, 10, 10] x) => (float[N] y) {
      a = Conv (x, w)
      b = GroupNormalization <num_groups = 4> (a, s, o)
      c = InstanceNormalization (b, t, p)
      y = LRN <size = 5> (c)
    })",
              {{"w", {8, 8, 1, 1}}, {"s", {8}}, {"o", {8}}, {"t", {8}}, {"p", {8}}}, 21);
  EXPECT_EQ(flops_of(graph, {"group_norm_backward", "instance_norm_backward"}), 2 * 13 * 1600);
  EXPECT_THAT(find(graph, "group_normalization").shape, ElementsAre(8, 200));
  EXPECT_THAT(find(graph, "instance_normalization").shape, ElementsAre(16, 100));
  EXPECT_EQ(flops_of(graph, {"lrn"}), 9 * 1600);
  EXPECT_EQ(flops_of(graph, {"lrn_backward"}), 18 * 1600);
}

// T = 5, N = 3, I = 16, H = 32 in two layers: dW and dR of both, dx of the second only.
TEST(OnnxTraining, CountsTheGradientsOfRecurrentLayers) {
  const OpGraph graph = import(data_file("lstm.onnx"), ":training=true");
  constexpr std::int64_t kFirst = 2LL * 15 * 128 * 16;
  constexpr std::int64_t kState = 2LL * 15 * 128 * 32;
  constexpr std::int64_t kBias = 14LL * 256;
  EXPECT_EQ(flops_of(graph, {"lstm_backward"}),
            (kFirst + 2 * kState + kBias) + (2 * kState + 2 * kState + kBias) + 2 * 23 * 15 * 32);
  const OpGraph gru = trained(
      "g (float[5, 3, 16] x) => (float[N] y) { y, h = GRU "
      "<hidden_size = 32> (x, w, r) }",
      {{"w", {1, 96, 16}}, {"r", {1, 96, 32}}});
  EXPECT_EQ(flops_of(gru, {"gru"}), 2 * 15 * 96 * (16 + 32) + 12 * 15 * 32);
  EXPECT_EQ(flops_of(gru, {"gru_backward"}), 2 * 15 * 96 * (16 + 2 * 32) + 15 * 15 * 32);
}

// --- Layers that exporters take apart ---

// Two encoder layers: before opset 17 a normalization is 9 nodes; GELU is 5.
TEST(OnnxTraining, PutsNormalizationsAndGelusTogether) {
  constexpr std::int64_t kTokens = 30;
  for (const std::string name : {"transformer_opset13.onnx", "transformer_opset17.onnx"}) {
    const OpGraph graph = import(data_file(name), ":batch=3,seq=10,training=true");
    auto counts = count_kinds(graph);
    EXPECT_EQ(counts["layer_norm"], 4) << name;
    EXPECT_EQ(counts["gelu"], 2) << name;
    for (const char* gone : {"erf", "sqrt", "pow", "div", "reduce_mean"}) {
      EXPECT_EQ(counts[gone], 0) << name << ": " << gone;
    }
    EXPECT_EQ(flops_of(graph, {"layer_norm_backward"}), 4 * 13 * kTokens * 32) << name;
    EXPECT_EQ(flops_of(graph, {"gelu_backward"}), 2 * 11 * kTokens * 64) << name;
    EXPECT_EQ(totals(graph).parameters, 23588) << name;
    // Every product has two gradients; the first reads what an embedding made, which is trained.
    EXPECT_EQ(counts["matmul"], 3 * (2 * 4 + 1)) << name;
  }
}

TEST(OnnxTraining, PutsOtherLayersTogether) {
  const std::vector<Weight> weights{{"w", {6, 6}}, {"scale", {6}}};
  const OpGraph rms = trained(R"(g (float[4, 6] x) => (float[N] y) {
      a = MatMul (x, w)
      two = Constant <value = float {2.0}> ()
      squares = Pow (a, two)
      mean = ReduceMean <axes = [-1]> (squares)
      least = Constant <value = float {0.00001}> ()
      shifted = Add (mean, least)
      root = Sqrt (shifted)
      inverse = Reciprocal (root)
      rows = Mul (a, inverse)
      y = Mul (scale, rows)
    })",
                              weights);
  EXPECT_EQ(count_kinds(rms)["rms_norm"], 1);
  EXPECT_EQ(flops_of(rms, {"rms_norm_backward"}), 9 * 24);
  EXPECT_EQ(count_kinds(rms)["multiply"] + count_kinds(rms)["broadcast_multiply"], 0);
  const OpGraph gates = trained(R"(g (float[4, 6] x) => (float[N] y) {
      a = MatMul (x, w)
      s = Sigmoid (a)
      b = Mul (a, s)
      h = HardSigmoid (b)
      y = Mul (h, b)
    })",
                                weights);
  EXPECT_EQ(count_kinds(gates)["silu_backward"], 1);
  EXPECT_EQ(count_kinds(gates)["hard_swish_backward"], 1);
  // Groups of 2 channels, and GELU by tanh, as PyTorch's exporters write them.
  const OpGraph maps = trained(R"(g (float[2, 6, 4, 4] x) => (float[2, 6, 4, 4] y)
    <int64[3] groups = {0, 3, -1}, int64[4] maps = {2, 6, 4, 4}, float a1 = {0.044715}, float a2 = {0.79788456},
     float one = {1}, float half = {0.5}> {
      ones = Constant <value = float[3] {1, 1, 1}> ()
      zeros = Constant <value = float[3] {0, 0, 0}> ()
      a = Reshape (x, groups)
      b = InstanceNormalization (a, ones, zeros)
      c = Reshape (b, maps)
      d = Mul (c, scale)
      n = Add (d, offset)
      n2 = Mul (n, n)
      n3 = Mul (n, n2)
      t1 = Mul (a1, n3)
      t2 = Add (n, t1)
      t3 = Mul (a2, t2)
      t4 = Tanh (t3)
      t5 = Add (one, t4)
      t6 = Mul (n, t5)
      y = Mul (half, t6)
    })",
                               {{"scale", {6, 1, 1}}, {"offset", {6, 1, 1}}});
  EXPECT_EQ(count_kinds(maps)["group_norm_backward"], 1);
  EXPECT_EQ(count_kinds(maps)["gelu_backward"], 1);
  EXPECT_EQ(count_kinds(maps)["multiply"] + count_kinds(maps)["scale"], 0);
  EXPECT_EQ(totals(maps).parameters, 12);
  // What others read must be there.
  const OpGraph shared = trained(R"(g (float[4, 6] x) => (float[N] y) {
      a = MatMul (x, w)
      s = Sigmoid (a)
      b = Mul (a, s)
      y = Add (b, s)
    })",
                                 weights);
  EXPECT_EQ(count_kinds(shared)["sigmoid"], 1);
  EXPECT_EQ(count_kinds(shared)["silu"], 0);
}

// Parameters as PyTorch counts them; FLOPs by hand, a row of text or a map a line.
TEST(OnnxTraining, CountsWhatPyTorchWrote) {
  const OpGraph gpt = import(data_file("gpt_opset14.onnx"), ":batch=2,seq=8,training=true");
  auto counts = count_kinds(gpt);
  EXPECT_EQ(totals(gpt).parameters, 33920);
  EXPECT_EQ(counts["gelu"], 2);
  EXPECT_EQ(counts["layer_norm_backward"], 5);
  EXPECT_EQ(counts["where"], 4);  // the mask, and its gradient, of each block
  EXPECT_EQ(flops_of(gpt, {"matmul"}),
            3LL * 2 * 16 * (2 * (32 * 96 + 32 * 32 + 2 * 32 * 128) + 32 * 100));
  EXPECT_EQ(flops_of(gpt, {"batch_matmul"}), 3LL * 2 * 2 * (2 * 2 * 4 * 8 * 8 * 8));
  EXPECT_EQ(counts["optimizer_update"], counts["variable"]);

  const OpGraph unet =
      import(data_file("unet_opset11.onnx"), ":batch=2,rows=33,columns=35,training=true");
  counts = count_kinds(unet);
  EXPECT_EQ(totals(unet).parameters, 4041);
  EXPECT_EQ(counts["optimizer_update"], counts["variable"]);
  EXPECT_EQ(flops_of(unet, {"conv2d"}),
            2LL * 2 * (33 * 35 * (16 * 27 + 5 * 32) + (4 * 16 + 16 * 4)) +
                2LL * 2 * 32 * 34 * 32 * 16);  // and the transposed one's gradient of its data
  EXPECT_EQ(flops_of(unet, {"conv2d_transpose"}), 2LL * 2 * 32 * 34 * 32 * 16);
  EXPECT_EQ(flops_of(unet, {"grouped_conv"}), 2LL * 2 * 16 * 17 * 32 * 4 * 9);
  EXPECT_EQ(flops_of(unet, {"resize"}), 7LL * 2 * 5 * 66 * 70);
  EXPECT_EQ(counts["pad"], 1);
  EXPECT_EQ(counts["hard_swish"], 1);
  EXPECT_EQ(counts["group_norm_backward"], 1);
}

// --- The loss ---

TEST(OnnxTraining, PutsTheLossOnLogits) {
  const std::vector<Weight> weights{{"w", {3, 6}}};
  const auto kinds = [&](const std::string& shape, const std::string& rest) {
    return count_kinds(trained("g (float" + shape + " x) => (float[N] y" +
                                   (rest.find("z =") == std::string::npos ? "" : ", float[N] z") +
                                   ") { a = MatMul (x, w) " + rest + " }",
                               weights));
  };
  auto ends_in_softmax = kinds("[4, 3]", "y = Softmax (a)");
  EXPECT_EQ(ends_in_softmax["softmax"], 0);
  EXPECT_EQ(ends_in_softmax["softmax_cross_entropy"], 1);
  auto ends_in_sigmoid = kinds("[4, 3]", "y = Sigmoid (a)");
  EXPECT_EQ(ends_in_sigmoid["sigmoid"], 0);
  EXPECT_EQ(ends_in_sigmoid["sigmoid_cross_entropy"], 1);
  auto one_number = kinds("[4, 3]", "y = ReduceMean <keepdims = 0> (a)");
  EXPECT_EQ(one_number["mean_squared_error"], 1);
  auto two_heads = kinds("[4, 3]", "y = Relu (a) z = Tanh (a)");
  EXPECT_EQ(two_heads["softmax_cross_entropy"], 2);
  EXPECT_EQ(two_heads["add_losses"], 1);
  // A state beside the classes has no loss.
  auto with_state = kinds("[4, 3]", "y = Relu (a) z = ReduceMean <axes = [1]> (a)");
  EXPECT_EQ(with_state["softmax_cross_entropy"], 1);
  EXPECT_EQ(with_state["reduce_mean_backward"], 0);
  const OpGraph maps =
      trained("g (float[2, 3, 8, 8] x) => (float[N] y) { y = Conv (x, w) }", {{"w", {5, 3, 1, 1}}});
  EXPECT_THAT(find(maps, "loss/softmax_cross_entropy").shape, ElementsAre(2 * 8 * 8, 5));
  EXPECT_THAT(
      error_of(model("g (int64[4] x) => (int64[N] y) { y = Identity (x) }"), ":training=true"),
      HasSubstr("must have a result of real numbers"));
}

// --- Quantized and fused layers ---

// Statistics have as many classes as the result, but nobody trains on them.
TEST(OnnxTraining, PutsNoLossOnStatistics) {
  for (const std::string results : {"float[2, 3, 4, 5] Y, float[2, 3, 1, 1] M, float[2, 3, 1, 1] D",
                                    "float[2, 3, 1, 1] M, float[2, 3, 4, 5] Y"}) {
    const OpGraph graph =
        import(model("g (float[2, 3, 4, 5] x) => (" + results +
                         ") { Y, M, D = LayerNormalization <axis = 2> (x, s, b) }",
                     {{"s", {4, 5}}, {"b", {4, 5}}}),
               ":training=true");
    EXPECT_EQ(count_kinds(graph)["softmax_cross_entropy"], 1);
    EXPECT_EQ(count_kinds(graph)["layer_norm_backward"], 1);
    EXPECT_EQ(count_kinds(graph)["add_losses"], 0);
  }
}

TEST(OnnxTraining, CountsQuantizedLayers) {
  const std::vector<Weight> scales{{"s", {}, onnx::TensorProto::FLOAT, {}, {1}},
                                   {"z", {}, onnx::TensorProto::INT8},
                                   {"w", {8, 3, 3, 3}, onnx::TensorProto::INT8},
                                   {"m", {5, 7}, onnx::TensorProto::INT8},
                                   {"b", {8}, onnx::TensorProto::INT32}};
  const OpGraph graph = import(model(R"(g (float[2, 3, 10, 10] x, float[4, 5] v) => (float[N] y) {
      q = QuantizeLinear (x, s, z)
      c = QLinearConv (q, s, z, w, s, z, s, z, b)
      y = DequantizeLinear (c, s, z)
      r, rs, rz = DynamicQuantizeLinear (v)
      p = MatMulInteger (r, m)
      k = QLinearMatMul (r, s, z, m, s, z, s, z)
      i = ConvInteger (q, w)
    })",
                                     scales));
  EXPECT_EQ(flops_of(graph, {"conv2d"}), 2 * (2LL * (2 * 8 * 8 * 8) * 27));
  EXPECT_EQ(flops_of(graph, {"matmul"}), 2 * (2 * 4 * 7 * 5));
  EXPECT_EQ(flops_of(graph, {"bias_add"}), 2 * 8 * 8 * 8);
  EXPECT_EQ(find(graph, "w").kind, "constant");
  EXPECT_EQ(find(graph, "w").persistent_bytes, 8 * 27);
  EXPECT_EQ(graph[boost::graph_bundle].source.find("no FLOPs"), std::string::npos);
}

TEST(OnnxTraining, CountsTheLayersOfOnnxRuntime) {
  onnx::ModelProto proto = test::parse_model(
      R"(g (float[2, 5, 16] x, float[2, 3, 8, 8] image, float[2, 9, 16] memory) => (float[N] y) {
      a = Attention <num_heads = 4> (x, qkv, qkv_bias)
      n = SkipLayerNormalization (a, x, scale, offset)
      f = FusedMatMul <transB = 1> (n, square)
      g = BiasGelu (f, scale)
      y = MultiHeadAttention <num_heads = 2> (g, memory, memory)
      c = FusedConv <activation = "Relu"> (image, filters, filter_bias)
    })",
      {{"qkv", {16, 48}},
       {"qkv_bias", {48}},
       {"scale", {16}},
       {"offset", {16}},
       {"square", {16, 16}},
       {"filters", {8, 3, 3, 3}},
       {"filter_bias", {8}}});
  for (onnx::NodeProto& node : *proto.mutable_graph()->mutable_node()) {
    node.set_domain("com.microsoft");
  }
  const OpGraph graph = import(proto.SerializeAsString(), ":training=true");
  EXPECT_EQ(find(graph, "attention/projection").flops, 2 * 10 * 16 * 48);
  // Scores and sums of 5 x 5 in widths of 16, softmax of 4 heads.
  EXPECT_EQ(find(graph, "attention").flops, 2 * (2 * 2 * 25 * 16) + 5 * 2 * 4 * 25);
  EXPECT_EQ(find(graph, "multi_head_attention").flops, 2 * (2 * 2 * 45 * 16) + 5 * 2 * 2 * 45);
  // The scores again, and each product's two gradients.
  EXPECT_EQ(flops_of(graph, {"attention_backward"}),
            2 * 4 * 25 * (6 * 4 + 4 * 4 + 4) + 2 * 2 * 45 * (6 * 8 + 4 * 8 + 4));
  EXPECT_EQ(find(graph, "skip_layer_normalization").flops, 7 * 160);
  EXPECT_EQ(flops_of(graph, {"gelu", "gelu_backward"}), (5 + 11) * 160);
  EXPECT_EQ(find(graph, "fused_mat_mul").flops, 2 * 10 * 16 * 16);
  EXPECT_EQ(find(graph, "fused_conv").flops, 2 * (2 * 8 * 6 * 6) * 27);
  EXPECT_EQ(find(graph, "fused_conv/activation").kind, "relu");
}

}  // namespace
}  // namespace emplace::onnx_training_test

#endif
