// Attention by one kernel that keeps no scores (Dao et al. 2022, FlashAttention), and positions.

#include "gradient_step.hpp"
#include "model/assemble.hpp"
#include "operators.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <utility>

namespace emplace::operators {
namespace {

using enum OpClass;

constexpr std::string_view kHeads =
    "[batch, heads, queries, keys, width, width of values]: of one head";
constexpr std::string_view kRotation = "[matrices, positions, width]";

// Queries [N, heads, positions, width], keys and values [N, kv heads, positions, width].
Shape heads_key(const Output& queries, const Output& keys, const Output& values) {
  const Shape& q = queries.shape;
  const Shape& k = keys.shape;
  const Shape& v = values.shape;
  if (q.size() != 4 || k.size() != 4 || v.size() != 4 || q[3] != k[3] || k[2] != v[2]) {
    fail_shapes(fmt::format(
        "expected queries, keys and values [batch, heads, positions, width], found [{}], [{}] and "
        "[{}]",
        fmt::join(q, ", "), fmt::join(k, ", "), fmt::join(v, ", ")));
  }
  return {q[0], q[1], q[2], k[2], q[3], v[3]};
}

std::int64_t scores_of(const Shape& key) { return product(std::span(key).first(4)); }

std::vector<Output> infer_attention(const Call& call) {
  const Shape key = heads_key(call.input(0), call.input(1), call.input(2));
  return {make_output({key[0], key[1], key[2], key[5]}, call.input(0).type)};
}

// Scores of each query with each key, their softmax, and the weighted sums of values.
void count_attention(Op& op, const Call& call) {
  op.shape = heads_key(call.input(0), call.input(1), call.input(2));
  op.flops = product(
      {scores_of(op.shape), sum({product({2, op.shape[4]}), product({2, op.shape[5]}), 5})});
}

// With weights p = softmax(s) of scores s and results y = p v: the scores again, dv = p^T dy, dp =
// dy v^T, dq = ds k and dk = ds^T q; exp(s - log of the sum) and ds = p (dp - sum of dy y).
std::int64_t attention_gradient_flops(const Shape& key) {
  return product({scores_of(key), sum({product({6, key[4]}), product({4, key[5]}), 4})});
}

// Inputs are the gradient of the result, queries, keys and values.
void count_attention_gradient(Op& op, const Call& call) {
  op.shape = heads_key(call.input(1), call.input(2), call.input(3));
  op.flops = attention_gradient_flops(op.shape);
}

void attention(GradientStep& step) {
  const Shape key = step.op().shape;
  if (key.size() != 6) {
    fail_shapes("expected the sizes of attention in the op's shape");
  }
  step.give_all("attention_backward", attention_gradient_flops(key), {step.output(0)});
}

std::vector<Output> infer_rotary_embedding(const Call& call) {
  const Shape& x = call.input(0).shape;
  if (x.size() < 2 || x.back() % 2 != 0) {
    fail_shapes(fmt::format("expected [..., positions, width] of even width, found [{}]",
                            fmt::join(x, ", ")));
  }
  return same(call);
}

// A pair takes four products, a sum and a difference. A table of cosines and sines is read, be it
// an input or not.
void count_rotary_embedding(Op& op, const Call& call) {
  const Output& x = call.input(0);
  const std::size_t rank = x.shape.size();
  const std::int64_t positions = rank < 2 ? 1 : x.shape[rank - 2];
  const std::int64_t width = rank == 0 ? 1 : x.shape.back();
  const std::int64_t matrix = product({positions, width});
  op.shape = {matrix == 0 ? 0 : product(x.shape) / matrix, positions, width};
  op.flops = product({3, product(x.shape)});
  op.bytes_read = call.inputs.size() > 1 ? 0 : product({matrix, size_of(x.type)});
}

// The rotation back.
void rotary_embedding(GradientStep& step) {
  step.give_by_operator(0, "rotary_embedding", "grad", {step.gradient()});
}

constexpr std::array kAttentions = {
    Operator{.kind = {"attention", kMatmul, true, kHeads,
                      "scores of queries and keys, softmax, weighted sums of values"},
             .infer = infer_attention,
             .count = count_attention,
             .gradient = attention,
             .from_key = by_default<AttentionAttributes>,
             .only_imported = true},
    in_kernels(3, Operator{.kind = {"attention_backward", kMatmul, true, kHeads,
                                    "gradients of attention: of queries, keys and values"},
                           .count = count_attention_gradient,
                           .from_key = by_default<AttentionAttributes>,
                           .only_imported = true}),
    Operator{.kind = {"rotary_embedding", kElementwise, true, kRotation,
                      "rotation of pairs by their position, or back"},
             .infer = infer_rotary_embedding,
             .count = count_rotary_embedding,
             .gradient = rotary_embedding},
};

}  // namespace

std::span<const Operator> attentions() { return kAttentions; }

}  // namespace emplace::operators
