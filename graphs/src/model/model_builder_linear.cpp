// Layers on rows of numbers: products of matrices, biases, softmax.

#include "assemble.hpp"

#include <emplace/graphs/model_builder.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace emplace {

Tensor ModelBuilder::matmul(Tensor left, Tensor right, Transposed transposed) {
  if (shape(left).empty() || (transposed.left && shape(left).size() != 2) ||
      shape(right).size() != 2) {
    fail(fmt::format("expected [..., K] and [K, N], found [{}] and [{}]",
                     fmt::join(shape(left), ", "), fmt::join(shape(right), ", ")));
  }
  return define("matmul", {left, right},
                GemmAttributes{.trans_a = transposed.left, .trans_b = transposed.right});
}

Tensor ModelBuilder::batch_matmul(Tensor left, Tensor right, Transposed transposed) {
  const auto& a = shape(left);
  const auto& b = shape(right);
  if (a.size() < 3 || b.size() != a.size() || !std::equal(a.begin(), a.end() - 2, b.begin())) {
    fail(fmt::format("expected [..., M, K] and [..., K, N], found [{}] and [{}]",
                     fmt::join(a, ", "), fmt::join(b, ", ")));
  }
  return define("batch_matmul", {left, right},
                GemmAttributes{.trans_a = transposed.left, .trans_b = transposed.right});
}

Tensor ModelBuilder::bias_add(Tensor x, Tensor bias) {
  return define("bias_add", {x, bias}, AxisAttributes{});
}

Tensor ModelBuilder::dense(Tensor x, std::int64_t units, Bias bias) {
  if (shape(x).empty() || units < 1) {
    fail(fmt::format("expected a tensor [..., K] and at least 1 unit, found [{}] and {}",
                     fmt::join(shape(x), ", "), units));
  }
  Op op = make_op("matmul");
  const Tensor weights = variable(op, "weights", {shape(x).back(), units});
  const Tensor result = define(std::move(op), "matmul", GemmAttributes{}, {x, weights});
  if (bias == Bias::kNone) {
    return result;
  }
  Op addition = make_op("bias_add");
  const Tensor offsets = variable(addition, "bias", {units});
  return define(std::move(addition), "bias_add", AxisAttributes{}, {result, offsets});
}

Tensor ModelBuilder::softmax(Tensor x) { return define("softmax", {x}, AxisAttributes{}); }

}  // namespace emplace
