// Layers on rows of numbers: products of matrices, biases, softmax.

#include "assemble.hpp"

#include <emplace/graphs/model_builder.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace emplace {
namespace {

// The rows and columns of a matrix, which are the last two dimensions of a shape.
struct Extents {
  std::int64_t rows, columns;
};

Extents extents_of(const std::vector<std::int64_t>& shape, bool transposed) {
  const Extents stored{shape[shape.size() - 2], shape.back()};
  return transposed ? Extents{stored.columns, stored.rows} : stored;
}

}  // namespace

Tensor ModelBuilder::matmul(Tensor left, Tensor right, Transposed transposed) {
  return matmul(make_op("matmul"), left, right, transposed);
}

Tensor ModelBuilder::matmul(Op op, Tensor left, Tensor right, Transposed transposed) {
  const Output value = value_of(graph_, left);
  if (value.shape.empty() || (transposed.left && value.shape.size() != 2) ||
      shape(right).size() != 2) {
    fail(fmt::format("expected [..., K] and [K, N], found [{}] and [{}]",
                     fmt::join(value.shape, ", "), fmt::join(shape(right), ", ")));
  }
  auto result = value.shape;
  if (transposed.left) {
    std::ranges::reverse(result);
  }
  const auto [k, n] = extents_of(shape(right), transposed.right);
  if (result.back() != k) {
    fail(fmt::format("cannot multiply {} columns by {} rows", result.back(), k));
  }
  const auto m = product(result) / k;
  result.back() = n;
  op.shape = {m, n, k};
  op.flops = product({2, m, n, k});
  op.outputs = {make_output(std::move(result), value.type)};
  return emit(std::move(op), {left, right});
}

Tensor ModelBuilder::batch_matmul(Tensor left, Tensor right, Transposed transposed) {
  const Output value = value_of(graph_, left);
  const auto rank = value.shape.size();
  if (rank < 3 || shape(right).size() != rank ||
      !std::equal(value.shape.begin(), value.shape.end() - 2, shape(right).begin())) {
    fail(fmt::format("expected [..., M, K] and [..., K, N], found [{}] and [{}]",
                     fmt::join(value.shape, ", "), fmt::join(shape(right), ", ")));
  }
  const auto [m, k] = extents_of(value.shape, transposed.left);
  const auto [rows, n] = extents_of(shape(right), transposed.right);
  if (rows != k) {
    fail(fmt::format("cannot multiply {} columns by {} rows", k, rows));
  }
  const auto batch = product(value.shape) / (m * k);
  auto result = value.shape;
  result[rank - 2] = m;
  result[rank - 1] = n;
  Op op = make_op("batch_matmul");
  op.shape = {batch, m, n, k};
  op.flops = product({2, batch, m, n, k});
  op.outputs = {make_output(std::move(result), value.type)};
  return emit(std::move(op), {left, right});
}

Tensor ModelBuilder::bias_add(Tensor x, Tensor bias) {
  return bias_add(make_op("bias_add"), x, bias);
}

Tensor ModelBuilder::bias_add(Op op, Tensor x, Tensor bias) {
  const Output value = value_of(graph_, x);
  const auto& ending = shape(bias);
  if (ending.empty() || ending.size() > value.shape.size() ||
      !std::equal(ending.rbegin(), ending.rend(), value.shape.rbegin())) {
    fail(fmt::format("expected a bias of a shape that [{}] ends in, found [{}]",
                     fmt::join(value.shape, ", "), fmt::join(ending, ", ")));
  }
  const auto columns = product(ending);
  const auto elements = product(value.shape);
  op.shape = {elements / columns, columns};
  op.flops = elements;
  op.outputs = {make_output(value.shape, value.type)};
  return emit(std::move(op), {x, bias});
}

Tensor ModelBuilder::dense(Tensor x, std::int64_t units, Bias bias) {
  if (shape(x).empty() || units < 1) {
    fail(fmt::format("expected a tensor [..., K] and at least 1 unit, found [{}] and {}",
                     fmt::join(shape(x), ", "), units));
  }
  Op op = make_op("matmul");
  const Tensor weights = variable(op, "weights", {shape(x).back(), units});
  const Tensor result = matmul(std::move(op), x, weights, {});
  if (bias == Bias::kNone) {
    return result;
  }
  Op addition = make_op("bias_add");
  const Tensor offsets = variable(addition, "bias", {units});
  return bias_add(std::move(addition), result, offsets);
}

Tensor ModelBuilder::softmax(Tensor x) {
  const Output value = value_of(graph_, x);
  if (value.shape.empty()) {
    fail("cannot take the softmax of a scalar");
  }
  const auto elements = product(value.shape);
  Op op = make_op("softmax");
  op.shape = {elements / value.shape.back(), value.shape.back()};
  op.flops = product({5, elements});  // maximum, difference, exp, sum, quotient
  op.outputs = {make_output(value.shape, value.type)};
  return emit(std::move(op), {x});
}

}  // namespace emplace
