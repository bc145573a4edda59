// Products of matrices. C = A B with A of M x K and B of K x N; either side may be stored
// transposed.

#include "gradient_step.hpp"
#include "model/assemble.hpp"
#include "operators.hpp"

#include <emplace/base/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

namespace emplace::operators {
namespace {

using enum OpClass;

constexpr std::string_view kProduct = "[M, N, K]: M x K times K x N";
constexpr std::string_view kBatchProduct = "[B, M, N, K]: B products of M x K times K x N";

// Both sides as they are multiplied, vectors as matrices of one row or column.
struct Sides {
  Shape a;
  Shape b;
};

Sides sides_of(const Call& call) {
  Sides sides{call.input(0).shape, call.input(1).shape};
  if (sides.a.empty() || sides.b.empty()) {
    fail_shapes(fmt::format("expected [..., K] and [K, N], found [{}] and [{}]",
                            fmt::join(sides.a, ", "), fmt::join(sides.b, ", ")));
  }
  if (sides.a.size() == 1) {
    sides.a.insert(sides.a.begin(), 1);
  }
  if (sides.b.size() == 1) {
    sides.b.push_back(1);
  }
  const auto& [trans_a, trans_b] = call.as<GemmAttributes>();
  if (trans_a) {
    std::swap(sides.a[sides.a.size() - 2], sides.a.back());
  }
  if (trans_b) {
    std::swap(sides.b[sides.b.size() - 2], sides.b.back());
  }
  return sides;
}

// As numpy's matmul: dimensions before the matrices are broadcast, vectors lose their one.
std::vector<Output> infer_product(const Call& call) {
  const auto [a, b] = sides_of(call);
  if (a.back() != b[b.size() - 2]) {
    fail_shapes(fmt::format("cannot multiply {} columns by {} rows", a.back(), b[b.size() - 2]));
  }
  const Output left{.shape = {a.begin(), a.end() - 2}};
  const Output right{.shape = {b.begin(), b.end() - 2}};
  Shape result = broadcast(std::array{left, right});
  if (call.input(0).shape.size() > 1) {
    result.push_back(a[a.size() - 2]);
  }
  if (call.input(1).shape.size() > 1) {
    result.push_back(b.back());
  }
  return {make_output(std::move(result), call.input(0).type)};
}

// FLOPs: 2 B M N K. Where all rows on the left are multiplied by one matrix, it is one product.
void count_product(Op& op, const Call& call) {
  const auto [a, b] = sides_of(call);
  const std::int64_t k = a.back();
  const std::int64_t n = b.back();
  if (product(std::span(b.data(), b.size() - 1)) == k) {
    const std::int64_t m = product(std::span(a.data(), a.size() - 1));
    op.kind = "matmul";
    op.shape = {m, n, k};
  } else {
    const std::int64_t m = a[a.size() - 2];
    const std::int64_t per_product = product({m, n});
    op.kind = "batch_matmul";
    op.shape = {per_product == 0 ? 0 : call.elements() / per_product, m, n, k};
  }
  op.flops = product({2, product(op.shape)});
}

EinsteinSum einstein_sum_of(const Call& call) {
  std::vector<Shape> shapes;
  for (const Output& input : call.inputs) {
    shapes.push_back(input.shape);
  }
  return einstein_sum(call.as<EinsumAttributes>().equation, shapes);
}

// Two factors are a product of matrices, whatever the order of their indices.
void count_einsum(Op& op, const Call& call) {
  const EinsteinSum parts = einstein_sum_of(call);
  if (call.inputs.size() == 2 &&
      product({parts.batch, parts.m, parts.n, parts.k}) == parts.products && parts.k > 1) {
    op.kind = parts.batch == 1 ? "matmul" : "batch_matmul";
    op.shape = {parts.m, parts.n, parts.k};
    if (parts.batch != 1) {
      op.shape.insert(op.shape.begin(), parts.batch);
    }
    op.attributes = GemmAttributes{};
  } else {
    op.shape = {parts.products};
  }
  const bool sums = parts.products != call.elements();
  op.flops = product({parts.products, std::ssize(call.inputs) - 1 + (sums ? 1 : 0)});
}

std::vector<Output> infer_einsum(const Call& call) {
  return {make_output(einstein_sum_of(call).result, call.input(0).type)};
}

// --- Gradients ---

// dA = dC B^T, dB = A^T dC. A side that is stored transposed wants its gradient transposed: dA^T =
// B dC^T, dB^T = dC^T A.
void matmul(GradientStep& step) {
  const Op forward = step.op();
  const auto [trans_a, trans_b] = std::get<GemmAttributes>(step.attributes());
  const std::size_t first = forward.shape.size() == 4 ? 1 : 0;
  const std::int64_t m = step.dimension(first);
  const std::int64_t n = step.dimension(first + 1);
  const std::int64_t k = step.dimension(first + 2);
  const auto give = [&](std::size_t i, std::string_view suffix, Shape key, bool gradient_is_left,
                        GemmAttributes attributes) {
    if (!step.wants(i)) {
      return;
    }
    Op op = step.make_op(forward.kind, suffix);
    if (first == 1) {
      key.insert(key.begin(), step.dimension(0));
    }
    op.shape = std::move(key);
    op.attributes = attributes;
    op.flops = forward.flops;
    op.outputs = {like(step.input_value(i))};
    const Tensor other = step.input(1 - i);
    step.give(i, gradient_is_left ? step.emit(std::move(op), std::array{step.gradient(), other})
                                  : step.emit(std::move(op), std::array{other, step.gradient()}));
  };
  if (trans_b) {
    give(1, "grad_right", {n, k, m}, true, {.trans_a = true, .trans_b = trans_a});
  } else {
    give(1, "grad_right", {k, n, m}, false, {.trans_a = !trans_a});
  }
  if (trans_a) {
    give(0, "grad_left", {k, m, n}, false, {.trans_a = trans_b, .trans_b = true});
  } else {
    give(0, "grad_left", {m, k, n}, true, {.trans_b = !trans_b});
  }
}

// Each side's gradient is a sum over products of the result's gradient and the other sides.
void einsum(GradientStep& step) {
  for (std::size_t i = 0; i < step.num_inputs(); ++i) {
    if (step.wants(i)) {
      Op op = step.make_op("einsum", fmt::format("grad_{}", i));
      op.attributes = EinsumAttributes{};
      op.flops = step.op().flops;
      op.outputs = {like(step.input_value(i))};
      std::vector<Tensor> inputs{step.gradient()};
      for (std::size_t k = 0; k < step.num_inputs(); ++k) {
        if (k != i) {
          inputs.push_back(step.input(k));
        }
      }
      step.give(i, step.emit(std::move(op), inputs));
    }
  }
}

constexpr std::array kProducts = {
    Operator{.kind = {"batch_matmul", kMatmul, true, kBatchProduct,
                      "matrix products; sides may be transposed"},
             .infer = infer_product,
             .count = count_product,
             .gradient = matmul,
             .from_key = by_default<GemmAttributes>},
    Operator{.kind = {"einsum", kMatmul, true, "[products]: elements over all indices",
                      "sum over products in Einstein's notation"},
             .infer = infer_einsum,
             .count = count_einsum,
             .gradient = einsum,
             .from_key = by_default<EinsumAttributes>,
             .only_imported = true},
    Operator{.kind = {"matmul", kMatmul, true, kProduct,
                      "matrix product; either side may be transposed"},
             .infer = infer_product,
             .count = count_product,
             .gradient = matmul,
             .from_key = by_default<GemmAttributes>},
};

}  // namespace

std::span<const Operator> products() { return kProducts; }

}  // namespace emplace::operators
