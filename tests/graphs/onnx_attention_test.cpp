// Attention and what stands around it in transformers: shapes, FLOPs and bytes against closed
// forms.

#ifdef EMPLACE_HAS_LIBONNX

#include <gmock/gmock.h>
#include <graphs/onnx_model.hpp>
#include <support/graphs.hpp>

#include <string>
#include <vector>

namespace emplace::onnx_attention_test {
namespace {

using test::count_kinds;
using test::error_of;
using test::find;
using test::import;
using test::Weight;
using testing::ElementsAre;
using testing::HasSubstr;

// A model all of whose nodes are ONNX Runtime's.
std::string microsoft(const std::string& graph, const std::vector<Weight>& weights = {}) {
  onnx::ModelProto proto = test::parse_model(graph, weights);
  for (onnx::NodeProto& node : *proto.mutable_graph()->mutable_node()) {
    node.set_domain("com.microsoft");
  }
  return proto.SerializeAsString();
}

// Two products for each pair of query and key, and 5 FLOPs of a softmax.
constexpr std::int64_t attention_flops(std::int64_t batch, std::int64_t heads, std::int64_t queries,
                                       std::int64_t keys, std::int64_t width) {
  return batch * heads * queries * keys * (2 * width + 2 * width + 5);
}

Weight total(std::int32_t value) { return {"total", {}, onnx::TensorProto::INT64, {value}}; }

TEST(OnnxAttention, GroupsNeedMaps) {
  EXPECT_THAT(error_of(microsoft("g (float x) => (float[N] y) { y = GroupNorm <groups = 2> (x) }")),
              HasSubstr("node '' (GroupNorm): input 1: expected at least 2 dimensions, found 0"));
}

// 8 heads of queries on 2 of keys, of 16 numbers; 4 positions behind 6 earlier ones.
TEST(OnnxAttention, GroupsOfQueriesShareKeys) {
  const char* graph = R"(g (float[2, 4, 128] q, float[2, 4, 32] k, float[2, 4, 32] v,
      float[2, 2, 6, 16] keys, float[2, 2, 6, 16] values, int32[2] lengths)
      => (float[N] y, float[N] k2, float[N] v2) {
      y, k2, v2 = GroupQueryAttention <num_heads = 8, kv_num_heads = 2> (q, k, v, keys, values,
                                                                         lengths, total)
    })";
  const OpGraph model = import(microsoft(graph, {total(10)}));
  const Op& op = find(model, "group_query_attention");
  EXPECT_EQ(op.kind, "attention");
  EXPECT_THAT(op.shape, ElementsAre(2, 8, 4, 10, 16, 16));
  EXPECT_EQ(op.flops, attention_flops(2, 8, 4, 10, 16));
  ASSERT_EQ(op.outputs.size(), 3U);
  EXPECT_THAT(op.outputs[0].shape, ElementsAre(2, 4, 128));
  EXPECT_THAT(op.outputs[1].shape, ElementsAre(2, 2, 10, 16));
  EXPECT_THAT(op.outputs[2].shape, ElementsAre(2, 2, 10, 16));
  EXPECT_EQ(op.bytes_written, 4 * (2 * 4 * 128 + 2 * (2 * 2 * 10 * 16)));
  EXPECT_EQ(op.bytes_read, 4 * (2 * 4 * (128 + 32 + 32) + 2 * (2 * 2 * 6 * 16) + 2));
  // Caches with room for more positions than there are.
  const OpGraph early = import(microsoft(graph, {total(5)}));
  EXPECT_EQ(find(early, "group_query_attention").flops, attention_flops(2, 8, 4, 5, 16));
  EXPECT_THAT(find(early, "group_query_attention").outputs[1].shape, ElementsAre(2, 2, 6, 16));
}

TEST(OnnxAttention, PackedQueriesAreRotated) {
  const OpGraph model = import(microsoft(R"(g (float[2, 4, 192] qkv, int32[2] lengths,
      float[16, 8] cosines, float[16, 8] sines) => (float[N] y) {
      y = GroupQueryAttention <num_heads = 8, kv_num_heads = 2, do_rotary = 1> (qkv, , , , ,
          lengths, total, cosines, sines)
    })",
                                         {total(4)}));
  const Op& op = find(model, "group_query_attention");
  EXPECT_EQ(op.flops, attention_flops(2, 8, 4, 4, 16));
  // Each of 8 + 2 heads is rotated: 3 FLOPs for a number.
  const Op& rotation = find(model, "group_query_attention/rotation");
  EXPECT_EQ(rotation.kind, "rotary_embedding");
  EXPECT_EQ(rotation.flops, 3 * 2 * 4 * (8 + 2) * 16);
  EXPECT_THAT(rotation.outputs[0].shape, ElementsAre(2, 4, 192));
  EXPECT_THAT(op.outputs[0].shape, ElementsAre(2, 4, 128));
}

TEST(OnnxAttention, HeadsMayBePackedInEachWay) {
  const OpGraph model =
      import(microsoft(R"(g (float[2, 5, 32] q, float[2, 7, 4, 2, 8] kv, float[2, 5, 4, 3, 8] qkv,
      float[2, 4, 7, 8] k, float[2, 4, 7, 8] v, float[2, 4, 3, 8] k0, float[2, 4, 3, 8] v0)
      => (float[N] a, float[N] b, float[N] c, float[N] d, float[N] k1, float[N] v1) {
      a = MultiHeadAttention <num_heads = 4> (q, kv)
      b = MultiHeadAttention <num_heads = 4> (qkv)
      c = MultiHeadAttention <num_heads = 4> (q, k, v)
      d, k1, v1 = MultiHeadAttention <num_heads = 4> (q, q, q, bias, , , k0, v0)
    })",
                       {{"bias", {96}}}));
  EXPECT_EQ(find(model, "multi_head_attention").flops, attention_flops(2, 4, 5, 7, 8));
  EXPECT_EQ(find(model, "multi_head_attention_2").flops, attention_flops(2, 4, 5, 5, 8));
  EXPECT_EQ(find(model, "multi_head_attention_3").flops, attention_flops(2, 4, 5, 7, 8));
  // Three earlier positions; the bias is read, its sum not counted.
  EXPECT_EQ(find(model, "multi_head_attention_4").flops, attention_flops(2, 4, 5, 8, 8));
  EXPECT_THAT(find(model, "multi_head_attention_4").outputs[1].shape, ElementsAre(2, 4, 8, 8));
  EXPECT_EQ(totals(model).parameters, 96);
}

TEST(OnnxAttention, StandardAttentionIsKnown) {
  const OpGraph model = import(test::model(R"(g (float[2, 8, 4, 16] q, float[2, 2, 9, 16] k,
      float[2, 2, 9, 24] v, bool[4, 9] mask) => (float[N] y) {
      y = Attention (q, k, v, mask)
    })",
                                           {}, 23));
  const Op& op = find(model, "attention");
  EXPECT_EQ(op.flops, 2 * 8 * 4 * 9 * (2 * 16 + 2 * 24 + 5));
  EXPECT_THAT(op.outputs[0].shape, ElementsAre(2, 8, 4, 24));
  const OpGraph packed =
      import(test::model(R"(g (float[2, 4, 128] q, float[2, 9, 32] k,
      float[2, 9, 32] v) => (float[N] y) {
      r = RotaryEmbedding <num_heads = 8> (q, cosines, sines)
      n = RMSNormalization (r, scale)
      y = Attention <q_num_heads = 8, kv_num_heads = 2> (n, k, v)
    })",
                         {{"cosines", {2, 4, 8}}, {"sines", {2, 4, 8}}, {"scale", {128}}}, 23));
  EXPECT_EQ(find(packed, "attention").flops, attention_flops(2, 8, 4, 9, 16));
  EXPECT_EQ(find(packed, "rotary_embedding").flops, 3 * 2 * 4 * 128);
  EXPECT_EQ(find(packed, "rms_normalization").flops, 4 * 2 * 4 * 128);
}

// PyTorch's exporters write it as its ops: both sides are scaled, rows that are all masked are 0.
TEST(OnnxAttention, IsPutTogether) {
  const auto kinds = [](const std::string& scores, const std::string& rest,
                        const std::string& parameters = "") {
    return count_kinds(
        import(test::model("g (float[2, 6, 32] x, bool[6, 6] m) => (float[N] y)" + std::string(R"(
    <int64[4] heads = {2, 6, 4, 8}, int64[3] joined = {2, 6, 32}, float s = {0.6},
     float zero = {0}, float little = {-1e30}, float ratio = {0.1}, bool yes = {1},
     int64[3] batch = {8, 6, 8}, int64[4] apart = {2, 4, 8, 6}> {
      p = MatMul (x, w)
      h = Reshape (p, heads)
      q = Transpose <perm = [0, 2, 1, 3]> (h)
      mask = Where (m, zero, little)
      )") + scores + R"(
      v = Softmax (u)
      )" + rest + R"(
      b = Transpose <perm = [0, 2, 1, 3]> (a)
      y = Reshape (b, joined)
    })",
                           {{"w", {32, 32}}}),
               parameters));
  };
  const std::string scaled = R"(
      q1 = Mul (q, s)
      kt = Transpose <perm = [0, 2, 3, 1]> (h)
      k1 = Mul (kt, s)
      t = MatMul (q1, k1)
      u = Add (t, mask))";
  const std::string no_rows = R"(
      n = IsNaN (v)
      o = Where (n, zero, v)
      a = MatMul (o, q))";
  auto older = kinds(scaled, no_rows);
  EXPECT_EQ(older["attention"], 1);
  EXPECT_EQ(older["batch_matmul"] + older["softmax"] + older["where"] + older["scale"], 0);
  EXPECT_EQ(older["transpose"] + older["copy"], 0);  // the result lies as the queries do
  // With dropout, in training.
  auto dropping =
      kinds(scaled, "o = Dropout (v, ratio, yes)\n a = MatMul (o, q)", ":training=true");
  EXPECT_EQ(dropping["attention_backward"], 1);
  EXPECT_EQ(dropping["dropout"], 0);
  // The newer exporter transposes heads and batch as one, and names the result.
  auto newer = kinds(R"(
      k1 = Reshape (q, batch)
      k2 = Transpose <perm = [0, 2, 1]> (k1)
      k3 = Reshape (k2, apart)
      u = MatMul (q, k3))",
                     R"(
      scaled_dot_product_attention_1 = MatMul (v, q)
      a = Identity (scaled_dot_product_attention_1))");
  EXPECT_EQ(newer["attention"], 1);
  EXPECT_EQ(newer["transpose"] + newer["copy"], 0);
  // Attention that is written by hand is the ops that it is made of.
  auto by_hand = kinds(R"(
      kt = Transpose <perm = [0, 2, 3, 1]> (h)
      t = MatMul (q, kt)
      t1 = Mul (t, s)
      u = Add (t1, mask))",
                       "a = MatMul (v, q)");
  EXPECT_EQ(by_hand["attention"], 0);
  EXPECT_EQ(by_hand["batch_matmul"], 2);
  EXPECT_EQ(by_hand["where"], 1);
}

// The newer exporter repeats two heads of keys and values for four of queries, by tensors of its
// own; where the model does, there are copies.
TEST(OnnxAttention, GroupsAreNotRepeated) {
  const auto kinds = [](std::string nodes, const std::string& name) {
    const std::string own = "val_";
    for (std::size_t at = nodes.find(own); at != std::string::npos; at = nodes.find(own, at)) {
      nodes.replace(at, own.size(), name);
      at += name.size();
    }
    return count_kinds(import(test::model(
        "g (float[2, 4, 6, 8] q, float[2, 2, 6, 8] k, float[2, 2, 6, 8] v) => (float[N] y)" +
        nodes)));
  };
  const std::string nodes = R"(
    <int64[1] two = {2}, int64[5] repeats = {2, 2, 2, 6, 8}, int64[4] heads = {2, 4, 6, 8},
     int64[3] batch = {8, 6, 8}, int64[4] apart = {2, 4, 8, 6}> {
      val_1 = Unsqueeze (k, two)
      val_2 = Expand (val_1, repeats)
      val_3 = Reshape (val_2, batch)
      val_4 = Transpose <perm = [0, 2, 1]> (val_3)
      val_5 = Reshape (val_4, apart)
      val_6 = Unsqueeze (v, two)
      val_7 = Expand (val_6, repeats)
      val_8 = Reshape (val_7, heads)
      s = MatMul (q, val_5)
      p = Softmax (s)
      scaled_dot_product_attention = MatMul (p, val_8)
      y = Relu (scaled_dot_product_attention)
    })";
  auto own = kinds(nodes, "val_");
  EXPECT_EQ(own["attention"], 1);
  EXPECT_EQ(own["copy"] + own["expand_view"] + own["transpose"], 0);
  auto models = kinds(nodes, "expand_");
  EXPECT_EQ(models["attention"], 1);
  EXPECT_EQ(models["copy"], 2);
}

// Training differentiates what fused attention reads, but for its mask. For each score: three
// products in the width of keys, two in that of values, and 4 FLOPs.
TEST(OnnxAttention, GradientsMakeTheScoresAgain) {
  const OpGraph model = import(test::model(R"(g (float[2, 4, 32] x, bool[4, 4] mask)
      => (float[N] y) {
      q = MatMul (x, w)
      a = Attention <q_num_heads = 4, kv_num_heads = 4> (q, q, q, mask)
      y = MatMul (a, w)
    })",
                                           {{"w", {32, 32}}}, 23),
                               ":training=true");
  EXPECT_EQ(find(model, "attention/grad").flops, 2 * 4 * 4 * 4 * (6 * 8 + 4 * 8 + 4));
  EXPECT_EQ(find(model, "attention/grad").outputs.size(), 3U);
}

// 64 x 48 weights of 4 bits in blocks of 16: 3 blocks of 8 bytes for each of 64 columns.
TEST(OnnxAttention, PackedWeightsAreMultiplied) {
  const OpGraph model = import(microsoft(R"(g (float[2, 5, 48] x, int64[2, 3] ids) => (float[N] y) {
      y = MatMulNBits <K = 48, N = 64, bits = 4, block_size = 16> (x, w, scales, zeros, , bias)
      e = GatherBlockQuantized <bits = 4, block_size = 16, gather_axis = 0> (table, ids, factors)
    })",
                                         {{"w", {64, 3, 8}, onnx::TensorProto::UINT8},
                                          {"scales", {192}},
                                          {"zeros", {96}, onnx::TensorProto::UINT8},
                                          {"bias", {64}},
                                          {"table", {100, 16}, onnx::TensorProto::UINT8},
                                          {"factors", {100, 2}}}));
  const Op& op = find(model, "mat_mul_n_bits");
  EXPECT_EQ(op.kind, "matmul");
  EXPECT_THAT(op.shape, ElementsAre(10, 64, 48));
  EXPECT_EQ(op.flops, 2 * 10 * 64 * 48);
  EXPECT_EQ(op.bytes_read, 4 * 10 * 48 + 64 * 3 * 8 + 4 * 192 + 96);
  EXPECT_EQ(find(model, "mat_mul_n_bits/bias_add").flops, 10 * 64);
  const Op& rows = find(model, "gather_block_quantized");
  EXPECT_THAT(rows.outputs[0].shape, ElementsAre(2, 3, 32));
  EXPECT_EQ(rows.flops, 2 * 6 * 32);
  EXPECT_EQ(rows.bytes_read, 6 * 16 + 6 * 2 * 4 + 6 * 8);
}

TEST(OnnxAttention, KnowsTheLayersAround) {
  const OpGraph model = import(microsoft(R"(g (float[2, 5, 32] x, float[2, 8, 8, 16] maps)
      => (float[N] y) {
      s, , , sum = SkipSimplifiedLayerNormalization (x, x, scale, bias)
      r = RotaryEmbedding (s, ids, cosines, sines)
      y = BiasSplitGelu (r, bias)
      n = GroupNorm <groups = 4, activation = 1> (maps, g, b)
      m = MoE <k = 2> (x, router, up, up_bias, down)
    })",
                                         {{"scale", {32}},
                                          {"bias", {32}},
                                          {"ids", {5}, onnx::TensorProto::INT64},
                                          {"cosines", {9, 16}},
                                          {"sines", {9, 16}},
                                          {"g", {16}},
                                          {"b", {16}},
                                          {"router", {10, 4}},
                                          {"up", {4, 32, 64}},
                                          {"up_bias", {4, 64}},
                                          {"down", {4, 64, 32}}}));
  EXPECT_EQ(find(model, "skip_simplified_layer_normalization").flops, 4 * 320);
  EXPECT_EQ(find(model, "skip_simplified_layer_normalization/bias_add").flops, 320);
  EXPECT_EQ(find(model, "rotary_embedding").flops, 3 * 320);
  EXPECT_EQ(find(model, "bias_split_gelu").outputs[0].shape.back(), 16);
  EXPECT_EQ(find(model, "bias_split_gelu").kind, "multiply");
  EXPECT_EQ(find(model, "bias_split_gelu/activation").flops, 5 * 160);
  EXPECT_EQ(find(model, "group_norm").flops, 7 * 2 * 8 * 8 * 16);
  EXPECT_EQ(find(model, "group_norm/activation").kind, "silu");
  EXPECT_EQ(find(model, "mo_e").flops, 2 * 10 * 2 * (32 * 64 + 64 * 32));
}

TEST(OnnxAttention, SaysWhatDoesNotFit) {
  EXPECT_THAT(error_of(microsoft("g (float[2, 4, 30] q) => (float[N] y) { y = MultiHeadAttention "
                                 "<num_heads = 4> (q, q, q) }")),
              HasSubstr("expected num_heads to be at least 1 and to divide 30, found 4"));
  EXPECT_THAT(error_of(microsoft("g (float[2, 4, 32] q, float[2, 4] k) => (float[N] y) { y = "
                                 "MultiHeadAttention <num_heads = 4> (q, k, k) }")),
              HasSubstr("expected 3 dimensions of input 2, found [2, 4]"));
  EXPECT_THAT(error_of(microsoft("g (float[2, 4, 32] q) => (float[N] y) { y = GroupQueryAttention "
                                 "<num_heads = 8, kv_num_heads = 3> (q) }")),
              HasSubstr("num_heads 8 and kv_num_heads 3"));
  EXPECT_THAT(error_of(microsoft("g (float[2, 4, 32] q) => (float[N] y) { y = MatMulNBits "
                                 "<K = 16, N = 8> (q, q) }")),
              HasSubstr("rows of 32 do not fit K 16"));
}

}  // namespace
}  // namespace emplace::onnx_attention_test

#endif
