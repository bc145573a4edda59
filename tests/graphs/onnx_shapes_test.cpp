// Shape inference and arithmetic on shapes, against what ONNX' own library infers and against
// closed forms.

#ifdef EMPLACE_HAS_LIBONNX

#include <graphs/onnx_model.hpp>
#include <onnx/shape_inference/implementation.h>
#include <support/graphs.hpp>

#include <utility>

namespace emplace::onnx_shapes_test {
namespace {

using test::error_of;
using test::find;
using test::import;
using test::last_op;
using test::model;
using test::Weight;
using testing::ElementsAre;
using testing::HasSubstr;
using Shape = std::vector<std::int64_t>;

Weight integers(std::string name, std::vector<std::int64_t> values) {
  const auto size = static_cast<std::int64_t>(values.size());
  return {std::move(name), {size}, onnx::TensorProto::INT64, std::move(values)};
}

// What ONNX' library says of the shape of the result `y`, or nothing where it does not know.
std::optional<Shape> shape_by_libonnx(onnx::ModelProto proto) {
  proto.mutable_graph()->mutable_output(0)->clear_type();
  onnx::shape_inference::InferShapes(proto);
  const auto& type = proto.graph().output(0).type().tensor_type();
  if (!type.has_shape()) {
    return std::nullopt;
  }
  Shape shape;
  for (const auto& dimension : type.shape().dim()) {
    if (!dimension.has_dim_value()) {
      return std::nullopt;
    }
    shape.push_back(dimension.dim_value());
  }
  return shape;
}

// One node over x [2, 8, 10, 12] or, where the case says so, over other inputs.
struct Case {
  std::string node;
  std::vector<Weight> weights{};
  std::string inputs = "float[2, 8, 10, 12] x";
  int opset = 17;
};

TEST(OnnxShapes, AreThoseOfTheLibrary) {
  const Weight filters{"w", {16, 8, 3, 3}};
  const Case cases[] = {
      {"y = Relu (x)"},
      {"y = Add (x, w)", {{"w", {10, 1}}}},
      {"y = Conv <strides = [2, 1], pads = [1, 0, 1, 2]> (x, w)", {filters}},
      {"y = Conv <dilations = [2, 3]> (x, w)", {filters}},
      {R"(y = Conv <auto_pad = "SAME_UPPER", strides = [3, 2]> (x, w))", {filters}},
      {R"(y = Conv <auto_pad = "VALID", strides = [3, 2]> (x, w))", {filters}},
      {"y = Conv <group = 4> (x, w)", {{"w", {16, 2, 3, 5}}}},
      {"y = ConvTranspose <strides = [2, 3], pads = [1, 0, 0, 1]> (x, w)", {{"w", {8, 4, 3, 5}}}},
      {"y = ConvTranspose <strides = [2, 2], output_padding = [1, 1], group = 2> (x, w)",
       {{"w", {8, 4, 3, 3}}}},
      {"y = ConvTranspose <strides = [2, 2], output_shape = [21, 25]> (x, w)",
       {{"w", {8, 4, 3, 3}}}},
      {"y = MaxPool <kernel_shape = [3, 2], strides = [2, 2], pads = [1, 0, 1, 0]> (x)"},
      {"y = AveragePool <kernel_shape = [3, 3], strides = [2, 2], ceil_mode = 1> (x)"},
      {R"(y = AveragePool <kernel_shape = [3, 3], strides = [2, 2], auto_pad = "SAME_LOWER"> (x))"},
      {"y = GlobalAveragePool (x)"},
      {"y = Gemm <transA = 1, transB = 1> (x, w)", {{"w", {5, 3}}}, "float[3, 4] x"},
      {"y = MatMul (x, w)", {{"w", {12, 5}}}},
      {"y = MatMul (x, w)", {{"w", {8, 12, 5}}}},
      {"y = MatMul (x, w)", {{"w", {12}}}},
      {"y = MatMul (w, x)", {{"w", {10}}}},
      {"y, h, c = LSTM <hidden_size = 5> (x, w, r)",
       {{"w", {1, 20, 4}}, {"r", {1, 20, 5}}},
       "float[3, 2, 4] x"},
      {R"(y, h = GRU <hidden_size = 5, direction = "bidirectional"> (x, w, r))",
       {{"w", {2, 15, 4}}, {"r", {2, 15, 5}}},
       "float[3, 2, 4] x"},
      {"y = ReduceMean <axes = [1, -1]> (x)"},
      {"y = ReduceMean <axes = [0, 2], keepdims = 0> (x)"},
      {"y = ReduceMax <keepdims = 0> (x)"},
      {"y = ReduceSum <keepdims = 0> (x, axes)", {integers("axes", {1, 2})}},
      {"y = ReduceSum <noop_with_empty_axes = 1> (x, axes)", {integers("axes", {2})}},
      {"y = ArgMax <axis = 2, keepdims = 0> (x)"},
      {"y = Concat <axis = -2> (x, x)"},
      {"y = Transpose <perm = [0, 2, 3, 1]> (x)"},
      {"y = Transpose (x)"},
      {"y = Reshape (x, s)", {integers("s", {0, -1, 4})}},
      {"y = Reshape (x, s)", {integers("s", {-1})}},
      {"y = Flatten <axis = 2> (x)"},
      {"y = Flatten <axis = -1> (x)"},
      {"y = Squeeze (x, axes)", {integers("axes", {1})}, "float[3, 1, 4, 1] x"},
      {"y = Squeeze (x)", {}, "float[3, 1, 4, 1] x"},
      {"y = Unsqueeze (x, axes)", {integers("axes", {0, -1, 3})}},
      {"y = Slice (x, s, e, a, t)",
       {integers("s", {1, -1}), integers("e", {INT64_MAX, INT64_MIN}), integers("a", {2, -1}),
        integers("t", {2, -3})}},
      {"y = Slice (x, s, e)", {integers("s", {0, 2, -3}), integers("e", {1, 100, -1})}},
      {"y, z = Split <axis = 1> (x, s)", {integers("s", {3, 5})}},
      {"y, z = Split <axis = 2> (x)"},
      {"y = Gather <axis = 2> (x, i)", {integers("i", {1, 2, 3})}},
      {"y = Gather <axis = 1> (x, i)", {}, "float[4, 5, 6] x, int64[2, 3] i"},
      {"y = GatherElements <axis = 1> (x, i)", {}, "float[4, 5] x, int64[4, 9] i"},
      {"y = GatherND (x, i)", {}, "float[4, 5, 6] x, int64[7, 2] i"},
      {"y = ScatterND (x, i, u)", {}, "float[4, 5] x, int64[7, 1] i, float[7, 5] u"},
      {"y = Expand (x, s)", {integers("s", {3, 1, 1, 10, 1})}, "float[2, 1, 12] x"},
      {"y = Tile (x, s)", {integers("s", {1, 2, 3, 1})}},
      {"y = Pad (x, p)", {integers("p", {0, 0, 1, 2, 0, 0, 3, -4})}},
      {"y = DepthToSpace <blocksize = 2> (x)"},
      {"y = SpaceToDepth <blocksize = 2> (x)"},
      {"y = Resize (x, , s)", {{"s", {4}, onnx::TensorProto::FLOAT, {}, {1, 1, 2.5, 0.3}}}},
      {"y = Resize (x, , , s)", {integers("s", {2, 8, 33, 7})}},
      {"y, i = TopK <axis = 1> (x, k)", {integers("k", {3})}},
      {"y = Where (c, x, z)", {}, "bool[3, 1] c, float[4] x, float[2, 1, 1] z"},
      {"y = Less (x, z)", {}, "float[3, 1] x, float[4] z"},
      {"y = Cast <to = 7> (x)"},
      {"y = Shape <start = 1, end = -1> (x)"},
      {"y = Softmax (x)"},
      {"y, m, d = LayerNormalization <axis = -2> (x, w)", {{"w", {10, 12}}}},
      {"y = QuantizeLinear (x, s, z)",
       {{"s", {}, onnx::TensorProto::FLOAT, {}, {1}}},
       "float[2, 3] x, uint8 z"},
      {"y = MatMulInteger (x, z)", {}, "uint8[2, 3] x, uint8[3, 4] z"},
      {"y = ConvInteger (x, z)", {}, "uint8[2, 3, 8, 8] x, uint8[4, 3, 3, 3] z"},
      {"y = SoftmaxCrossEntropyLoss (x, l)", {}, "float[4, 9] x, int64[4] l"},
      {"y = RandomNormalLike (x)"},
      {"y = Trilu (x)"},
      {"y = GridSample (x, g)", {}, "float[2, 3, 8, 8] x, float[2, 5, 6, 2] g"},
      {"y = Squeeze <axes = [1]> (x)", {}, "float[3, 1, 4] x", 11},
      {"y = Unsqueeze <axes = [0, 3]> (x)", {}, "float[3, 4] x", 11},
      {"y, z = Split <axis = 0, split = [1, 2]> (x)", {}, "float[3, 4] x", 11},
      {"y = Slice <starts = [1, 2], ends = [9223372036854775807, 5], axes = [1, 3]> (x)",
       {},
       "float[2, 8, 10, 12] x",
       9},
      {"y = Pad <pads = [1, 0, 2, 3]> (x)", {}, "float[3, 4] x", 10},
  };
  for (const Case& one : cases) {
    const auto proto = test::parse_model(
        "g (" + one.inputs + ") => (float[N] y) { " + one.node + " }", one.weights, one.opset);
    onnx::ModelProto ours = proto;
    // The library must name what it knows; initializers are inputs of its inference too.
    const auto expected = shape_by_libonnx(proto);
    ASSERT_TRUE(expected.has_value()) << one.node;
    const OpGraph graph = import(ours.SerializeAsString());
    const std::string label = one.node + " of opset " + std::to_string(one.opset);
    if (one.node.find("Shape <") == std::string::npos) {
      ASSERT_FALSE(last_op(graph).outputs.empty()) << label;
      EXPECT_EQ(last_op(graph).outputs[0].shape, *expected) << label;
    }
  }
}

// Where a later opset has inputs instead of attributes, or operators that the library lacks.
TEST(OnnxShapes, KnowOpsets18To21) {
  const std::string x = "g (float[2, 8, 10, 12] x) => (float[N] y) { ";
  const auto shape = [](const std::string& text, const std::vector<Weight>& weights, int opset) {
    return last_op(import(model(text, weights, opset))).outputs[0].shape;
  };
  EXPECT_THAT(shape(x + "y = ReduceMean (x, axes) }", {integers("axes", {-1, 1})}, 18),
              ElementsAre(2, 1, 10, 1));
  EXPECT_THAT(shape(x + "y = ReduceMax <keepdims = 0> (x, axes) }", {integers("axes", {0})}, 20),
              ElementsAre(8, 10, 12));
  EXPECT_THAT(shape(x + "y = Pad (x, p, , axes) }",
                    {integers("p", {1, 2, 3, 4}), integers("axes", {2, -1})}, 18),
              ElementsAre(2, 8, 14, 18));
  EXPECT_THAT(shape(x + "y = Resize <axes = [2, 3]> (x, , , s) }", {integers("s", {5, 6})}, 19),
              ElementsAre(2, 8, 5, 6));
  EXPECT_THAT(
      shape(
          x + R"(y = Resize <axes = [2, 3], keep_aspect_ratio_policy = "not_larger"> (x, , , s) })",
          {integers("s", {30, 30})}, 18),
      ElementsAre(2, 8, 25, 30));
  EXPECT_THAT(shape("g (int64[2, 3] x) => (float[N] y) { y = OneHot <axis = 1> (x, d, v) }",
                    {{"d", {}, onnx::TensorProto::INT64, {7}},
                     {"v", {2}, onnx::TensorProto::FLOAT, {}, {0, 1}}},
                    18),
              ElementsAre(2, 7, 3));
  EXPECT_THAT(shape(R"(g (float[2, 3, 4] x, float[2, 4, 5] z) => (float[N] y) {
                      y = Einsum <equation = "bij, bjk -> bki"> (x, z) })",
                    {}, 18),
              ElementsAre(2, 5, 3));
  EXPECT_THAT(shape(R"(g (float[2, 7, 3, 4] x, float[4, 5] z) => (float[N] y) {
                      y = Einsum <equation = "...ij,jk->...ik"> (x, z) })",
                    {}, 18),
              ElementsAre(2, 7, 3, 5));
  EXPECT_THAT(shape(R"(g (float[2, 3, 4, 5] x, float[2, 3, 5, 6] z) => (float[N] y) {
                      y = Einsum <equation = "...ij,...jk"> (x, z) })",
                    {}, 18),
              ElementsAre(2, 3, 4, 6));
  EXPECT_THAT(
      shape("g (float[4, 4] x) => (float[N] y) { y = Einsum <equation = \"ij,ik\"> (x, x) }", {},
            18),
      ElementsAre(4, 4));
  EXPECT_THAT(shape(x + "y = Gelu (x) }", {}, 20), ElementsAre(2, 8, 10, 12));
  EXPECT_THAT(shape(x + "y = GroupNormalization <num_groups = 4> (x, s, b) }",
                    {{"s", {8}}, {"b", {8}}}, 21),
              ElementsAre(2, 8, 10, 12));
  const OpGraph parts =
      import(model(x + "y, z, w = Split <axis = 3, num_outputs = 3> (x) }", {}, 18));
  EXPECT_THAT(last_op(parts).outputs[0].shape, ElementsAre(2, 8, 10, 4));
  const OpGraph uneven =
      import(model(x + "y, z, w = Split <axis = 2, num_outputs = 3> (x) }", {}, 18));
  EXPECT_THAT(last_op(uneven).outputs[2].shape, ElementsAre(2, 8, 2, 12));  // 4 + 4 + 2
}

TEST(OnnxShapes, KnowTheTypesOfOpset21) {
  const auto bytes_of = [](int type) {
    const Op op = find(import(model("g (float[4] x) => (float[N] y) { y = MatMul (x, w) }",
                                    {{"w", {4, 5}, type}}, 21)),
                       "w");
    return op.persistent_bytes;
  };
  EXPECT_EQ(bytes_of(onnx::TensorProto::BFLOAT16), 40);
  for (const int float8 : {17, 18, 19, 20}) {
    EXPECT_EQ(bytes_of(float8), 20);
  }
  for (const int int4 : {21, 22}) {
    EXPECT_EQ(bytes_of(int4), 10);
  }
}

// --- What is known before the step ---

// What torch.nn.functional.pad(x, (1, 2, 3, 4)) becomes: pads are made of a list by zeros behind
// it, pairs, their order turned around, and a transposition.
TEST(OnnxShapes, FoldThePadsOfTorch) {
  const OpGraph graph = import(model(R"(g (float[2, 3, 10, 12] x) => (float[N] y) {
      pads = Constant <value = int64[4] {1, 2, 3, 4}> ()
      four = Constant <value = int64[1] {4}> ()
      zeros = ConstantOfShape <value = int64[1] {0}> (four)
      list = Concat <axis = 0> (pads, zeros)
      pairs = Constant <value = int64[2] {-1, 2}> ()
      table = Reshape (list, pairs)
      last = Constant <value = int64[1] {-1}> ()
      first = Constant <value = int64[1] {-9223372036854775807}> ()
      axis = Constant <value = int64[1] {0}> ()
      turned = Slice (table, last, first, axis, last)
      columns = Transpose <perm = [1, 0]> (turned)
      flat = Reshape (columns, last)
      amounts = Cast <to = 7> (flat)
      y = Pad (x, amounts)
    })"));
  ASSERT_EQ(num_ops(graph), 2);
  EXPECT_THAT(graph[1].outputs[0].shape, ElementsAre(2, 3, 17, 15));
}

// Sizes by real numbers, as interpolation with a factor has them.
TEST(OnnxShapes, FoldRealNumbers) {
  const OpGraph graph = import(model(R"(g (float[2, 3, 10, 13] x) => (float[N] y) {
      shape = Shape (x)
      begin = Constant <value = int64[1] {2}> ()
      end = Constant <value = int64[1] {4}> ()
      maps = Slice (shape, begin, end)
      real = Cast <to = 1> (maps)
      factor = Constant <value = float {1.5}> ()
      product = Mul (real, factor)
      floor = Floor (product)
      sizes = Cast <to = 7> (floor)
      zero = Constant <value = int64[1] {0}> ()
      front = Slice (shape, zero, begin)
      target = Concat <axis = 0> (front, sizes)
      y = Resize <mode = "linear"> (x, , , target)
    })"));
  ASSERT_EQ(num_ops(graph), 2);
  EXPECT_THAT(graph[1].outputs[0].shape, ElementsAre(2, 3, 15, 19));
  EXPECT_EQ(graph[1].flops, 7 * 2 * 3 * 15 * 19);  // four products, three sums
}

// The largest and the least integers stand for the end and the begin.
TEST(OnnxShapes, FoldSlicesOfOpset9) {
  const OpGraph graph = import(model(R"(g (float[2, 8, 10, 12] x) => (float[N] y) {
      shape = Shape (x)
      maps = Slice <starts = [2], ends = [9223372036854775807]> (shape)
      front = Slice <starts = [-9223372036854775807], ends = [1], axes = [0]> (shape)
      rest = Constant <value = int64[1] {-1}> ()
      target = Concat <axis = 0> (maps, front, rest)
      y = Reshape (x, target)
    })",
                                     {}, 9));
  EXPECT_THAT(last_op(graph).outputs[0].shape, ElementsAre(10, 12, 2, 8));
}

// Columns 1 to 3 of [[0, 1, 2, 3], [4, 5, 6, 7]] are the extents; each list may be either.
TEST(OnnxShapes, FoldSlicesByInputsAndAttributes) {
  const OpGraph graph =
      import(model(R"(g (float[1260] x) => (float[N] y) {
      columns = Slice <ends = [4], axes = [1]> (table, begin)
      all = Constant <value = int64[1] {-1}> ()
      extents = Reshape (columns, all)
      y = Reshape (x, extents)
    })",
                   {{"table", {2, 4}, onnx::TensorProto::INT64, {0, 1, 2, 3, 4, 5, 6, 7}},
                    integers("begin", {1})}));
  EXPECT_THAT(last_op(graph).outputs[0].shape, ElementsAre(1, 2, 3, 5, 6, 7));
}

// Operators on known numbers that are no functions of each number by itself.
TEST(OnnxShapes, LeaveProductsOfKnownNumbersAlone) {
  const OpGraph graph = import(
      model(R"(g (float[2, 4] x) => (float[N] y) {
      n = ReduceL2 <keepdims = 0> (a)
      m = MatMul (a, b)
      t = Mul (x, n)
      u = Mul (t, m)
      y = Relu (u)
    })",
            {{"a", {1, 3}, onnx::TensorProto::FLOAT, {}, {1, 2, 3}},
             {"b", {3, 4}, onnx::TensorProto::FLOAT, {}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}}},
            11));
  EXPECT_GT(num_ops(graph), 0);
}

// The size of the result y of these nodes, given x [1], the last of which makes the size n [1].
Shape expanded(const std::string& nodes, const std::vector<Weight>& weights = {}, int opset = 17) {
  return last_op(import(model("g (float[1] x) => (float[N] y) { " + nodes + " y = Expand (x, n) }",
                              weights, opset)))
      .outputs[0]
      .shape;
}

// -7 mod 5 is 3, by the sign of the dividend -2.
TEST(OnnxShapes, FoldRemaindersOfEitherSign) {
  const std::vector<Weight> weights = {integers("a", {-7}), integers("b", {5}),
                                       integers("ten", {10})};
  EXPECT_THAT(expanded("m = Mod (a, b) n = Add (m, ten)", weights), ElementsAre(13));
  EXPECT_THAT(expanded("m = Mod <fmod = 1> (a, b) n = Add (m, ten)", weights), ElementsAre(8));
  const std::vector<Weight> reals = {{"a", {1}, onnx::TensorProto::FLOAT, {}, {7.5}},
                                     {"b", {1}, onnx::TensorProto::FLOAT, {}, {-5.0}}};
  EXPECT_THAT(expanded("m = Mod <fmod = 1> (a, b) n = Cast <to = 7> (m)", reals), ElementsAre(2));
}

// The lowest bits, as in C: 300 is 44 in 8 bits, 200 is -56 in 8 bits with a sign.
TEST(OnnxShapes, FoldCastsThatWrap) {
  const auto cast = [](std::int64_t number, int type) {
    return expanded(
        fmt::format("c = Cast <to = {}> (a) d = Cast <to = 7> (c) n = Add (d, more)", type),
        {integers("a", {number}), integers("more", {100})});
  };
  EXPECT_THAT(cast(300, onnx::TensorProto::UINT8), ElementsAre(144));
  EXPECT_THAT(cast(200, onnx::TensorProto::UINT8), ElementsAre(300));
  EXPECT_THAT(cast(200, onnx::TensorProto::INT8), ElementsAre(44));
  EXPECT_THAT(cast((1LL << 32) + 5, onnx::TensorProto::INT32), ElementsAre(105));
  EXPECT_THAT(cast(65535, onnx::TensorProto::INT16), ElementsAre(99));
  EXPECT_THAT(cast(2, onnx::TensorProto::BOOL), ElementsAre(101));
  EXPECT_THAT(cast(2049, onnx::TensorProto::FLOAT16), ElementsAre(2148));
  EXPECT_THAT(cast(257, onnx::TensorProto::BFLOAT16), ElementsAre(356));
  // No such number: what a machine makes of it is its own affair.
  const std::string real_cast = "c = Cast <to = 3> (a) n = Cast <to = 7> (c) y = Expand (x, n)";
  EXPECT_THAT(error_of(model("g (float[1] x) => (float[N] y) { " + real_cast + " }",
                             {{"a", {1}, onnx::TensorProto::FLOAT, {}, {300.0}}})),
              HasSubstr("its numbers are not known"));
}

// Functions of constants, by their closed forms.
TEST(OnnxShapes, FoldFunctionsOfConstants) {
  const auto result = [](const std::string& node) {
    return expanded(node + " n = Cast <to = 7> (r)",
                    {{"a", {1}, onnx::TensorProto::FLOAT, {}, {3.0}},
                     {"b", {1}, onnx::TensorProto::FLOAT, {}, {-4.0}},
                     {"two", {1}, onnx::TensorProto::FLOAT, {}, {2.0}}});
  };
  EXPECT_THAT(result("r = Relu (a)"), ElementsAre(3));
  EXPECT_THAT(result("r = Relu (b)"), ElementsAre(0));
  EXPECT_THAT(result("r = Exp (a)"), ElementsAre(20));
  EXPECT_THAT(result("e = Exp (a) s = Log (e) t = Add (s, two) r = Round (t)"), ElementsAre(5));
  EXPECT_THAT(result("r = Pow (a, two)"), ElementsAre(9));
  EXPECT_THAT(result("s = Sign (b) r = Abs (s)"), ElementsAre(1));
  EXPECT_THAT(result("s = Sigmoid (b) t = Add (s, a) r = Floor (t)"), ElementsAre(3));
  EXPECT_THAT(result("r = Sum (a, two, two)"), ElementsAre(7));
  EXPECT_THAT(result("r = Max (b, two, a)"), ElementsAre(3));
  EXPECT_THAT(result("s = Mean (a, two, b) r = Add (s, two)"), ElementsAre(2));
  EXPECT_THAT(result("s = Clip (b, two) r = Clip (s, , a)"), ElementsAre(2));
  EXPECT_THAT(result("r = Clip (a, , two)"), ElementsAre(2));
}

TEST(OnnxShapes, FoldRepeats) {
  EXPECT_THAT(expanded("n = Tile (a, times)", {integers("a", {2, 3}), integers("times", {2})}),
              ElementsAre(2, 3, 2, 3));
}

TEST(OnnxShapes, KnowOperatorsWithSizesOfTheirOwn) {
  const auto shape = [](const std::string& graph, const std::vector<Weight>& weights, int opset) {
    return last_op(import(model(graph, weights, opset))).outputs[0].shape;
  };
  EXPECT_THAT(shape("g (float[3, 10] x) => (int32[3, 13] y) { y = Multinomial <sample_size = 13> "
                    "(x) }",
                    {}, 17),
              ElementsAre(3, 13));
  EXPECT_THAT(shape("g (int64[3] i) => (float[N, M] y) { y = OneHot (i, depth, values) }",
                    {{"depth", {1}, onnx::TensorProto::FLOAT, {}, {10.0}}, {"values", {2}}}, 17),
              ElementsAre(3, 10));
  EXPECT_THAT(shape("g (float[10] x) => (float[10] y) { y = BatchNormalization (x, s, s, s, s) }",
                    {{"s", {1}}}, 17),
              ElementsAre(10));
  // Before opset 7 the second input may begin at any dimension; of a slope, at the channels.
  EXPECT_THAT(
      shape("g (float[2, 3, 4] x) => (float[2, 3, 4] y) { y = PRelu (x, s) }", {{"s", {3}}}, 6),
      ElementsAre(2, 3, 4));
  const OpGraph sum =
      import(model("g (float[2, 3, 4] x) => (float[2, 3, 4] y) { "
                   "y = Add <axis = 1, broadcast = 1> (x, s) }",
                   {{"s", {3}}}, 6));
  EXPECT_EQ(last_op(sum).kind, "bias_add");
  EXPECT_THAT(last_op(sum).shape, ElementsAre(2, 3, 4));
  EXPECT_THAT(error_of(model("g (float[2, 3, 4] x) => (float[2, 3, 4] y) { y = PRelu (x, s) }",
                             {{"s", {3}}}, 7)),
              HasSubstr("shapes [2, 3, 4] and [3] do not fit each other"));
  EXPECT_THAT(
      error_of(model("g (float[3] x) => (float[2, 3] y) { y = PRelu (x, s) }", {{"s", {2, 3}}})),
      HasSubstr("a slope of [2, 3] does not fit [3]"));
}

TEST(OnnxShapes, RefuseListsThatAreTooShort) {
  const auto error = [](const std::string& node, const std::vector<Weight>& weights,
                        int opset = 17) {
    return error_of(model("g (float[3, 3] x) => (float[N, M] y) { " + node + " }", weights, opset));
  };
  EXPECT_THAT(error("y = Pad (x, p)", {integers("p", {1, 2})}),
              HasSubstr("expected a pad before and after for each of 2 dimensions, found 1"));
  EXPECT_THAT(error("y = Pad <pads = [1, 2]> (x)", {}, 9), HasSubstr("for each of 2 dimensions"));
  EXPECT_THAT(error("y = Pad (x)", {}), HasSubstr("(Pad): expected pads"));
  EXPECT_THAT(error("y = Upsample (x)", {}, 9), HasSubstr("(Upsample): expected scales"));
  EXPECT_THAT(error("y = Upsample <scales = [2.0]> (x)", {}, 7),
              HasSubstr("expected a scale for each of 2 dimensions, found 1"));
  EXPECT_THAT(error("y = Resize (x)", {}), HasSubstr("(Resize): expected scales or sizes"));
  EXPECT_THAT(error("y = Resize (x, , , s)", {integers("s", {6})}),
              HasSubstr("expected a size for each of 2 dimensions, found 1"));
}

TEST(OnnxShapes, RefuseWhatDoesNotFit) {
  const auto error = [](const std::string& node, const std::string& input,
                        const std::vector<Weight>& weights = {}) {
    return error_of(model("g (" + input + " x) => (float[N] y) { " + node + " }", weights));
  };
  EXPECT_THAT(error("y = Reshape (x, s)", "float[0, 4]", {integers("s", {0, -1})}),
              HasSubstr("[0, 4] cannot become [0, -1]: with another dimension of 0"));
  EXPECT_THAT(error("y, i = TopK (x, k)", "float[2, 4]", {integers("k", {5})}),
              HasSubstr("(TopK): the largest 5 of 4"));
  EXPECT_THAT(error("y = DepthToSpace <blocksize = 2> (x)", "float[1, 6, 2, 2]"),
              HasSubstr("a dimension of 6 cannot be cut into parts of 4"));
  EXPECT_THAT(error("y = SpaceToDepth <blocksize = 2> (x)", "float[1, 4, 3, 2]"),
              HasSubstr("a dimension of 3 cannot be cut into parts of 2"));
}

TEST(OnnxShapes, FoldMasksThatNothingTrains) {
  // Lower triangle of 64 x 64, of which the part for 5 tokens is compared: no parameters.
  const OpGraph graph = import(model(R"(g (float[2, 5, 5] x) => (float[N] y) {
      zero = Constant <value = int64[2] {0, 0}> ()
      five = Constant <value = int64[2] {5, 5}> ()
      part = Slice (mask, zero, five)
      nothing = Constant <value = float {0.0}> ()
      hidden = Equal (part, nothing)
      least = Constant <value = float {-1000000.0}> ()
      y = Where (hidden, least, x)
    })",
                                     {{"mask", {64, 64}}}));
  EXPECT_EQ(totals(graph).parameters, 0);
  ASSERT_EQ(num_ops(graph), 3);
  EXPECT_EQ(find(graph, "hidden").kind, "constant");
  EXPECT_EQ(find(graph, "where").kind, "where");
}

TEST(OnnxShapes, TakeWeightsFromConstantNodes) {
  const std::string ones = "1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0";
  const std::string text =
      "g (float[3, 4] x) => (float[N] y) { w = Constant <value = float[4, 5] {" + ones + ", " +
      ones + "}> () y = MatMul (x, w) }";
  EXPECT_EQ(totals(import(model(text))).parameters, 0);  // numbers that are all alike
  std::string other = text;
  other.replace(other.find("1.0"), 3, "2.0");
  EXPECT_EQ(totals(import(model(other))).parameters, 20);
}

TEST(OnnxShapes, RefuseAnAxisThatComesTwice) {
  EXPECT_THAT(test::error_of(test::model(R"(g (float[6, 4] x) => (float[N] y) {
      starts = Constant <value_ints = [2, -1]> ()
      ends = Constant <value_ints = [9, 9]> ()
      axes = Constant <value_ints = [1, -1]> ()
      y = Slice (x, starts, ends, axes)
    })")),
              HasSubstr("axis 1 appears twice"));
}

TEST(OnnxShapes, TakeTheBranchThatIsKnown) {
  onnx::ModelProto proto = test::parse_model(R"(g (float[2, 1, 3] x) => (float[N] y) {
      shape = Shape (x)
      one = Constant <value = int64 {1}> ()
      extent = Gather (shape, one)
      is_one = Equal (extent, one)
      y = Relu (x)
    })");
  onnx::NodeProto& node = *proto.mutable_graph()->mutable_node(4);
  node.set_op_type("If");
  node.set_name("choice");
  node.set_input(0, "is_one");
  for (const auto& [name, op_type] :
       {std::pair{"then_branch", "Sigmoid"}, std::pair{"else_branch", "Tanh"}}) {
    onnx::AttributeProto& branch = *node.add_attribute();
    branch.set_name(name);
    branch.set_type(onnx::AttributeProto::GRAPH);
    onnx::NodeProto& inner = *branch.mutable_g()->add_node();
    inner.set_op_type(op_type);
    inner.add_input("x");
    inner.add_output(std::string("inner_") + op_type);
    branch.mutable_g()->add_output()->set_name(std::string("inner_") + op_type);
  }
  const OpGraph graph = import(proto.SerializeAsString());
  ASSERT_EQ(num_ops(graph), 2);
  EXPECT_EQ(graph[1].kind, "sigmoid");
  node.set_input(0, "flag");
  onnx::ValueInfoProto& flag = *proto.mutable_graph()->add_input();
  flag.set_name("flag");
  flag.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::BOOL);
  flag.mutable_type()->mutable_tensor_type()->mutable_shape();
  EXPECT_THAT(error_of(proto.SerializeAsString()),
              HasSubstr("node 'choice' (If): which branch runs depends on the data"));
}

TEST(OnnxShapes, PutFunctionsInTheirPlace) {
  onnx::ModelProto proto =
      test::parse_model("g (float[2, 3] x) => (float[N] y) { a = Relu (x) y = Relu (a) }");
  onnx::FunctionProto& function = *proto.add_functions();
  function.set_name("Twice");
  function.set_domain("local");
  function.add_input("in");
  function.add_output("out");
  for (const auto& [from, to] : {std::pair{"in", "middle"}, std::pair{"middle", "out"}}) {
    onnx::NodeProto& node = *function.add_node();
    node.set_name("step");
    node.set_op_type("Flatten");
    node.add_input(from);
    node.add_output(to);
    onnx::AttributeProto& axis = *node.add_attribute();
    axis.set_name("axis");
    axis.set_ref_attr_name("where");
  }
  onnx::NodeProto& call = *proto.mutable_graph()->mutable_node(1);
  call.set_op_type("Twice");
  call.set_domain("local");
  call.set_name("/block");
  onnx::AttributeProto& where = *call.add_attribute();
  where.set_name("where");
  where.set_type(onnx::AttributeProto::INT);
  where.set_i(0);
  const OpGraph graph = import(proto.SerializeAsString());
  ASSERT_EQ(num_ops(graph), 4);
  EXPECT_THAT(graph[3].outputs[0].shape, ElementsAre(1, 6));
  EXPECT_EQ(graph[2].name, "/block/step");
  EXPECT_EQ(graph[2].scope, "block");
  // One that calls itself has no end.
  function.mutable_node(0)->set_op_type("Twice");
  function.mutable_node(0)->set_domain("local");
  EXPECT_THAT(error_of(proto.SerializeAsString()), HasSubstr("more than 32 deep"));
}

// Each once overflowed.
TEST(OnnxShapes, OfExtentsBeyondAllNumbersAreRefused) {
  const auto mistake = [](const std::string& node, std::vector<std::int64_t> values) {
    return error_of(
        model("g (float[4, 6] x) => (float[N] y) { " + node + " }", {integers("s", values)}));
  };
  EXPECT_THAT(mistake("y, z = Split <axis = 1> (x, s)", {INT64_MIN + 32, 1}),
              HasSubstr("parts of -9223372036854775776 + 1 do not make 6"));
  EXPECT_THAT(mistake("y, z = Split <axis = 1> (x, s)", {INT64_MAX, 1}),
              HasSubstr("do not make 6"));
  EXPECT_THAT(mistake(R"(y = Resize <keep_aspect_ratio_policy = "not_larger"> (x, , , s))",
                      {INT64_MIN, INT64_MIN}),
              HasSubstr("(Resize): its result would have a dimension of -1"));
}

// Each once divided by zero, in libonnx.
TEST(OnnxShapes, OfWindowsAndGroupsThatAreNoneAreRefused) {
  const auto mistake = [](const std::string& node) {
    return error_of(
        model("g (float[1, 4, 8, 8] x) => (float y) { " + node + " }", {{"w", {4, 4, 3, 3}}}));
  };
  for (const char* attributes : {"strides = [0, 0]", "dilations = [0, 1]", "strides = [-1, 1]"}) {
    EXPECT_THAT(mistake(fmt::format("y = Conv <{}> (x, w)", attributes)),
                HasSubstr("(Conv): expected window, stride and dilation of at least 1"))
        << attributes;
  }
  EXPECT_THAT(mistake("y = MaxPool <kernel_shape = [2, 2], strides = [0, 0]> (x)"),
              HasSubstr("(MaxPool): expected window, stride and dilation of at least 1"));
  EXPECT_THAT(mistake("y = Conv <group = 0> (x, w)"), HasSubstr("of 0 groups"));
  EXPECT_THAT(mistake("y = Conv <pads = [4611686018427387904, 0, 0, 0]> (x, w)"),
              HasSubstr("attribute 'pads': expected an integer from"));
}

}  // namespace
}  // namespace emplace::onnx_shapes_test

#endif
