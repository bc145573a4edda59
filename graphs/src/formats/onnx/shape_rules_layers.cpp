// Shapes of layers: windows over maps, products, recurrent layers, normalizations, attention.

#include "inference.hpp"
#include "model/assemble.hpp"

#include <emplace/base/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace emplace::onnx_model::shapes {
namespace {

// How a window moves along one dimension.
struct Axis {
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t pads = 0;  // before and after together
  std::int64_t pad_before = 0;
};

std::int64_t entry(const Shape& list, std::size_t i, std::int64_t fallback) {
  return i < list.size() ? list[i] : fallback;
}

// The attributes of a window of these extents over as many dimensions.
std::vector<Axis> window_of(const Inference& node, std::span<const std::int64_t> extents) {
  const Shape strides = integers_attribute(node.node(), "strides");
  const Shape dilations = integers_attribute(node.node(), "dilations");
  const Shape pads = integers_attribute(node.node(), "pads");
  std::vector<Axis> axes(extents.size());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    axes[i] = {.kernel = extents[i],
               .stride = entry(strides, i, 1),
               .dilation = entry(dilations, i, 1),
               .pads = entry(pads, i, 0) + entry(pads, i + axes.size(), 0),
               .pad_before = entry(pads, i, 0)};
    if (axes[i].kernel < 1 || axes[i].stride < 1 || axes[i].dilation < 1) {
      fail_shape(fmt::format("expected window, stride and dilation of at least 1, found {}, {}, {}",
                             axes[i].kernel, axes[i].stride, axes[i].dilation));
    }
  }
  return axes;
}

// The extent that a window covers.
std::int64_t span_of(const Axis& axis) { return product({axis.kernel - 1, axis.dilation}) + 1; }

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// The number of places of a window.
std::int64_t places(const Inference& node, const Axis& axis, std::int64_t extent) {
  const std::string_view padding = text_attribute(node.node(), "auto_pad");
  if (padding.starts_with("SAME")) {
    return ceil_div(extent, axis.stride);
  }
  const bool is_valid = padding == "VALID";
  const std::int64_t free = sum({extent, is_valid ? 0 : axis.pads, -span_of(axis)});
  if (free < 0) {
    fail_shape(fmt::format("a window of {} does not fit into {}", span_of(axis), extent));
  }
  if (integer_attribute(node.node(), "ceil_mode", 0) == 0) {
    return free / axis.stride + 1;
  }
  const std::int64_t count = ceil_div(free, axis.stride) + 1;
  // The last window must begin within the map or the padding before it.
  return (count - 1) * axis.stride >= extent + axis.pad_before ? count - 1 : count;
}

void convolve(Inference& node, std::size_t x, std::size_t w, DataType type) {
  const Shape& maps = node.shape_of_rank(x, 3);
  const Shape& filters = node.shape(w);
  const auto groups = integer_attribute(node.node(), "group", 1);
  if (filters.size() != maps.size() || groups < 1 || product({filters[1], groups}) != maps[1] ||
      filters[0] % groups != 0) {
    fail_shape(fmt::format("maps [{}] and filters [{}] of {} groups do not fit each other",
                           fmt::join(maps, ", "), fmt::join(filters, ", "), groups));
  }
  const auto axes = window_of(node, std::span(filters).subspan(2));
  Shape shape{maps[0], filters[0]};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    shape.push_back(places(node, axes[i], maps[i + 2]));
  }
  node.give(std::move(shape), type);
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
  const Shape& maps = node.shape_of_rank(0, 3);
  const Shape& filters = node.shape(1);
  const auto groups = integer_attribute(node.node(), "group", 1);
  if (filters.size() != maps.size() || groups < 1 || filters[0] != maps[1]) {
    fail_shape(fmt::format("maps [{}] and filters [{}] do not fit each other",
                           fmt::join(maps, ", "), fmt::join(filters, ", ")));
  }
  const auto axes = window_of(node, std::span(filters).subspan(2));
  const Shape wanted = integers_attribute(node.node(), "output_shape");
  const Shape more = integers_attribute(node.node(), "output_padding");
  const bool is_same = text_attribute(node.node(), "auto_pad").starts_with("SAME");
  Shape shape{maps[0], product({filters[1], groups})};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t full =
        sum({product({axes[i].stride, maps[i + 2] - 1}), span_of(axes[i]), entry(more, i, 0)});
    shape.push_back(!wanted.empty() ? entry(wanted, i + wanted.size() - axes.size(), 0)
                    : is_same       ? product({axes[i].stride, maps[i + 2]})
                                    : full - axes[i].pads);
  }
  node.give(std::move(shape), node.type(0));
}

void pool(Inference& node) {
  const Shape& maps = node.shape_of_rank(0, 3);
  const Shape kernel = integers_attribute(node.node(), "kernel_shape");
  if (kernel.size() + 2 != maps.size()) {
    fail_shape(fmt::format("expected a window of {} dimensions, found {}", maps.size() - 2,
                           kernel.size()));
  }
  const auto axes = window_of(node, kernel);
  Shape shape{maps[0], maps[1]};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    shape.push_back(places(node, axes[i], maps[i + 2]));
  }
  node.give(shape, node.type(0));
  node.give(std::move(shape), DataType::kInt64);  // where the largest elements were
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
