#include "library_attributes.hpp"

#include "model/assemble.hpp"
#include "operators/operators.hpp"

#include <algorithm>
#include <span>
#include <string>

namespace emplace::onnx_model {
namespace {

// The attribute `name`, with a number for each dimension.
Shape list_of(const onnx::NodeProto& node, std::string_view name, std::size_t size,
              std::int64_t fallback) {
  Shape list = integers_attribute(node, name);
  list.resize(size, fallback);
  return list;
}

Window window_of(const onnx::NodeProto& node, std::span<const std::int64_t> extents,
                 std::span<const std::int64_t> kernel) {
  const std::size_t size = extents.size();
  Window window{.strides = list_of(node, "strides", size, 1),
                .dilations = list_of(node, "dilations", size, 1),
                .pads = list_of(node, "pads", 2 * size, 0)};
  const std::string_view padding = text_attribute(node, "auto_pad");
  if (padding.starts_with("SAME")) {
    window.pads = operators::same_pads(extents, kernel, window, padding == "SAME_LOWER");
  } else if (padding == "VALID") {
    window.pads.assign(2 * size, 0);
  }
  return window;
}

bool are_alike(const Shape& maps, const Shape& filters) {
  return maps.size() > 2 && filters.size() == maps.size();
}

Attributes with_filters(const NodeView& view, std::size_t filters) {
  const Shape& maps = view.shape(0);
  const Shape& kernel = view.shape(filters);
  ConvAttributes attributes{.group = view.integer("group", 1)};
  if (are_alike(maps, kernel)) {
    attributes.window =
        window_of(view.node(), std::span(maps).subspan(2), std::span(kernel).subspan(2));
  }
  return attributes;
}

}  // namespace

namespace attributes {

Attributes convolution(const NodeView& node) { return with_filters(node, 1); }

Attributes quantized_convolution(const NodeView& node) { return with_filters(node, 3); }

// The attribute `output_shape` says how large the maps are that it makes, with padding to fit;
// `output_padding` adds to those behind.
Attributes transposed_convolution(const NodeView& view) {
  const onnx::NodeProto& node = view.node();
  const Shape& maps = view.shape(0);
  const Shape& filters = view.shape(1);
  ConvAttributes attributes{.group = view.integer("group", 1)};
  if (!are_alike(maps, filters)) {
    return attributes;
  }
  const std::span places = std::span(maps).subspan(2);
  const std::span kernel = std::span(filters).subspan(2);
  const std::size_t size = places.size();
  Window& window = attributes.window;
  window = {.strides = list_of(node, "strides", size, 1),
            .dilations = list_of(node, "dilations", size, 1),
            .pads = list_of(node, "pads", 2 * size, 0)};
  Shape wanted = integers_attribute(node, "output_shape");
  const std::string_view padding = text_attribute(node, "auto_pad");
  if (wanted.size() > size) {  // all dimensions
    wanted.erase(wanted.begin(), wanted.end() - static_cast<std::ptrdiff_t>(size));
  }
  if (wanted.empty() && padding.starts_with("SAME")) {
    for (std::size_t i = 0; i < size; ++i) {
      wanted.push_back(product({places[i], window.strides[i]}));
    }
  }
  if (wanted.size() == size) {
    window.pads = operators::transpose_pads(wanted, kernel, window, places);
    return attributes;
  }
  const Shape more = list_of(node, "output_padding", size, 0);
  for (std::size_t i = 0; i < size; ++i) {
    window.pads[i + size] = sum({window.pads[i + size], -more[i]});
  }
  return attributes;
}

Attributes pooling(const NodeView& node) {
  const Shape& maps = node.shape(0);
  const std::span extents = std::span(maps).subspan(std::min<std::size_t>(maps.size(), 2));
  if (std::string_view(node.node().op_type()).find("Global") != std::string_view::npos) {
    return operators::adaptive_pool(extents, Shape(extents.size(), 1));
  }
  PoolAttributes attributes{.kernel_shape = integers_attribute(node.node(), "kernel_shape"),
                            .ceil_mode = node.flag("ceil_mode")};
  if (attributes.kernel_shape.size() == extents.size()) {
    attributes.window = window_of(node.node(), extents, attributes.kernel_shape);
  }
  return attributes;
}

Attributes sides(const NodeView& node) {
  return GemmAttributes{.trans_a = node.flag("transA"), .trans_b = node.flag("transB")};
}

Attributes equation(const NodeView& node) {
  return EinsumAttributes{.equation = std::string(text_attribute(node.node(), "equation"))};
}

// Without a permutation, the axes are reversed.
Attributes permutation(const NodeView& node) {
  TransposeAttributes attributes{.perm = integers_attribute(node.node(), "perm")};
  if (attributes.perm.empty()) {
    for (std::int64_t axis = std::ssize(node.shape(0)); axis > 0; --axis) {
      attributes.perm.push_back(axis - 1);
    }
  }
  return attributes;
}

// Axes are an attribute or, in later opsets, an input.
Attributes reduction(const NodeView& node) {
  ReduceAttributes attributes{.axes = integers_attribute(node.node(), "axes"),
                              .keepdims = node.integer("keepdims", 1) != 0};
  if (attributes.axes.empty() && node.has_input(1)) {
    attributes.axes = node.integers(1);
  }
  return attributes;
}

Attributes place(const NodeView& node) {
  return ReduceAttributes{.axes = {node.integer("axis", 0)},
                          .keepdims = node.integer("keepdims", 1) != 0};
}

Attributes mode(const NodeView& node) {
  const std::string_view mode = text_attribute(node.node(), "mode");
  return mode.empty() ? ResizeAttributes{} : ResizeAttributes{.mode = std::string(mode)};
}

Attributes neighbours(const NodeView& node) {
  return LrnAttributes{.size = node.integer("size", 1)};
}

Attributes groups(const NodeView& node) {
  const Shape& x = node.shape_of_rank(0, 2);
  const bool is_fused = find_attribute(node.node(), "groups") != nullptr;  // of ONNX Runtime
  return GroupNormAttributes{.num_groups = node.integer(is_fused ? "groups" : "num_groups", x[1])};
}

}  // namespace attributes

}  // namespace emplace::onnx_model
