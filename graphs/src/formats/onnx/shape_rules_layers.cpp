// Shapes of layers: windows over maps, products, recurrent layers, normalizations, attention.

#include "inference.hpp"
#include "library_attributes.hpp"
#include "model/assemble.hpp"
#include "operators/operators.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace emplace::onnx_model::shapes {
namespace {

// The first result of the library's operator of the inputs `left` and `right`.
void multiply(Inference& node, std::string_view name, std::size_t right,
              const Attributes& attributes, DataType type) {
  const auto y = operators::infer(name, attributes, std::array{node.input(0), node.input(right)});
  node.give(y[0].shape, type);
}

}  // namespace

void conv_integer(Inference& node) {
  multiply(node, "conv", 1, attributes::convolution(node), DataType::kInt32);
}

// The inputs are maps, their scale and zero, filters, theirs, and the result's.
void quantized_conv(Inference& node) {
  multiply(node, "conv", 3, attributes::quantized_convolution(node), node.type(0));
}

void max_pool(Inference& node) {
  by_library(node, "max_pool", attributes::pooling(node));
  node.give(Shape(node.results()[0].shape), DataType::kInt64);  // where the largest elements were
}

void global_pool(Inference& node) {
  Shape shape = node.shape_of_rank(0, 2);
  std::fill(shape.begin() + 2, shape.end(), 1);
  node.give(std::move(shape), node.type(0));
}

void matmul_integer(Inference& node) { multiply(node, "matmul", 1, {}, DataType::kInt32); }

// The inputs are the left side, its scale and zero, the right side, its own, and the result's.
void quantized_matmul(Inference& node) { multiply(node, "matmul", 3, {}, node.type(0)); }

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
  const bool is_batch_first = node.flag("layout");
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
  node.give({node.shape_of_rank(1, 1)[0], maps[1], node.integer("output_height", 1),
             node.integer("output_width", 1)},
            node.type(0));
}

}  // namespace emplace::onnx_model::shapes
