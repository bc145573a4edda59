// Shapes of layers: windows over maps, products, recurrent layers, normalizations, attention.

#include "inference.hpp"
#include "model/assemble.hpp"
#include "operators/operators.hpp"
#include "windows.hpp"

#include <emplace/base/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace emplace::onnx_model::shapes {
namespace {

void convolve(Inference& node, std::size_t x, std::size_t w, DataType type) {
  const auto y =
      operators::infer("conv", conv_attributes(node.node(), node.shape(x), node.shape(w)),
                       std::array{make_output(node.shape(x), node.type(x)),
                                  make_output(node.shape(w), node.type(w))});
  node.give(y[0].shape, type);
}

Shape product_shape(Shape left, Shape right) {
  if (left.empty() || right.empty()) {
    fail_shape("a side of the product is a scalar");
  }
  const bool is_row = left.size() == 1;
  const bool is_column = right.size() == 1;
  if (is_row) {
    left.insert(left.begin(), 1);
  }
  if (is_column) {
    right.push_back(1);
  }
  if (left.back() != right[right.size() - 2]) {
    fail_shape(fmt::format("sides [{}] and [{}] do not fit each other", fmt::join(left, ", "),
                           fmt::join(right, ", ")));
  }
  Shape shape = broadcast_shape({left.begin(), left.end() - 2}, {right.begin(), right.end() - 2});
  if (!is_row) {
    shape.push_back(left[left.size() - 2]);
  }
  if (!is_column) {
    shape.push_back(right.back());
  }
  return shape;
}

}  // namespace

void conv(Inference& node) { convolve(node, 0, 1, node.type(0)); }

void conv_integer(Inference& node) { convolve(node, 0, 1, DataType::kInt32); }

// The inputs are maps, their scale and zero, filters, theirs, and the result's.
void quantized_conv(Inference& node) { convolve(node, 0, 3, node.type(0)); }

void conv_transpose(Inference& node) {
  const auto y = operators::infer(
      "conv_transpose", conv_transpose_attributes(node.node(), node.shape(0), node.shape(1)),
      std::array{make_output(node.shape(0), node.type(0)),
                 make_output(node.shape(1), node.type(1))});
  node.give(y[0].shape, node.type(0));
}

void pool(Inference& node) {
  const auto y = operators::infer("max_pool", pool_attributes(node.node(), node.shape(0)),
                                  std::array{make_output(node.shape(0), node.type(0))});
  node.give(y[0].shape, node.type(0));
  node.give(y[0].shape, DataType::kInt64);  // where the largest elements were
}

void global_pool(Inference& node) {
  Shape shape = node.shape_of_rank(0, 2);
  std::fill(shape.begin() + 2, shape.end(), 1);
  node.give(std::move(shape), node.type(0));
}

void gemm(Inference& node) {
  const auto is_transposed = [&](std::string_view name) {
    return integer_attribute(node.node(), name, 0) != 0 ? 1U : 0U;
  };
  const std::size_t a = is_transposed("transA");
  const std::size_t b = is_transposed("transB");
  const Shape& left = node.shape_of_rank(0, 2);
  const Shape& right = node.shape_of_rank(1, 2);
  if (left.size() != 2 || right.size() != 2 || left[1 - a] != right[b]) {
    fail_shape(fmt::format("sides [{}] and [{}] do not fit each other", fmt::join(left, ", "),
                           fmt::join(right, ", ")));
  }
  node.give({left[a], right[1 - b]}, node.type(0));
}

void matmul(Inference& node) {
  node.give(product_shape(node.shape(0), node.shape(1)), node.type(0));
}

void matmul_integer(Inference& node) {
  node.give(product_shape(node.shape(0), node.shape(1)), DataType::kInt32);
}

// The inputs are the left side, its scale and zero, the right side, its own, and the result's.
void quantized_matmul(Inference& node) {
  node.give(product_shape(node.shape(0), node.shape(3)), node.type(0));
}

void fused_matmul(Inference& node) {
  const auto side = [&](std::size_t i, std::string_view name) {
    Shape shape = node.shape_of_rank(i, 2);
    if (integer_attribute(node.node(), name, 0) != 0) {
      std::swap(shape[shape.size() - 2], shape.back());
    }
    return shape;
  };
  node.give(product_shape(side(0, "transA"), side(1, "transB")), node.type(0));
}

void batch_norm(Inference& node) {
  const Shape& maps = node.shape_of_rank(0, 1);
  node.give(maps, node.type(0));
  for (std::size_t i = 1; i < node.num_outputs(); ++i) {
    node.give({maps.size() > 1 ? maps[1] : 1}, node.has_input(3) ? node.type(3) : node.type(0));
  }
}

void layer_norm(Inference& node) {
  const Shape& shape = node.shape_of_rank(0, 1);
  const std::size_t axis = node.axis(-1, shape.size());
  node.give(shape, node.type(0));
  Shape rows = shape;
  std::fill(rows.begin() + static_cast<std::ptrdiff_t>(axis), rows.end(), 1);
  node.give(rows, DataType::kFloat32);
  node.give(std::move(rows), DataType::kFloat32);
}

// x is [T, N, I], R is [directions, gates H, H]; with layout 1 the batch comes first.
void recurrent(Inference& node) {
  const Shape& x = node.shape_of_rank(0, 3);
  const Shape& weights = node.shape_of_rank(1, 3);
  const Shape& recurrence = node.shape_of_rank(2, 3);
  if (x.size() != 3 || weights.size() != 3 || recurrence.size() != 3 || x[2] != weights[2] ||
      weights[0] != recurrence[0] || weights[1] != recurrence[1]) {
    fail_shape(fmt::format("x [{}], W [{}] and R [{}] do not fit each other", fmt::join(x, ", "),
                           fmt::join(weights, ", "), fmt::join(recurrence, ", ")));
  }
  const bool is_batch_first = integer_attribute(node.node(), "layout", 0) != 0;
  const std::int64_t directions = recurrence[0];
  const std::int64_t hidden = recurrence[2];
  const Shape state =
      is_batch_first ? Shape{x[0], directions, hidden} : Shape{directions, x[1], hidden};
  node.give(is_batch_first ? Shape{x[0], x[1], directions, hidden}
                           : Shape{x[0], directions, x[1], hidden},
            node.type(0));
  node.give(state, node.type(0));
  node.give(state, node.type(0));
}

void cross_entropy(Inference& node) {
  const Shape& x = node.shape_of_rank(0, 2);
  const bool is_mean = text_attribute(node.node(), "reduction") != "none";
  node.give(is_mean ? Shape() : node.shape(1), node.type(0));
  node.give(x, node.type(0));
}

void grid_sample(Inference& node) {
  const Shape& maps = node.shape_of_rank(0, 3);
  const Shape& grid = node.shape_of_rank(1, 3);
  Shape shape{maps[0], maps[1]};
  shape.insert(shape.end(), grid.begin() + 1, grid.end() - 1);
  node.give(std::move(shape), node.type(0));
}

void roi_align(Inference& node) {
  const Shape& maps = node.shape_of_rank(0, 4);
  node.give(
      {node.shape_of_rank(1, 1)[0], maps[1], integer_attribute(node.node(), "output_height", 1),
       integer_attribute(node.node(), "output_width", 1)},
      node.type(0));
}

}  // namespace emplace::onnx_model::shapes
