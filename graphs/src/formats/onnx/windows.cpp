#include "windows.hpp"

#include "model/assemble.hpp"
#include "operators/operators.hpp"

#include <algorithm>
#include <span>

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

}  // namespace

ConvAttributes conv_attributes(const onnx::NodeProto& node, const Shape& maps,
                               const Shape& filters) {
  ConvAttributes attributes{.group = integer_attribute(node, "group", 1)};
  if (are_alike(maps, filters)) {
    attributes.window = window_of(node, std::span(maps).subspan(2), std::span(filters).subspan(2));
  }
  return attributes;
}

// The attribute `output_shape` says how large the maps are that it makes, with padding to fit;
// `output_padding` adds to those behind.
ConvAttributes conv_transpose_attributes(const onnx::NodeProto& node, const Shape& maps,
                                         const Shape& filters) {
  ConvAttributes attributes{.group = integer_attribute(node, "group", 1)};
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

PoolAttributes pool_attributes(const onnx::NodeProto& node, const Shape& maps) {
  const std::span extents = std::span(maps).subspan(std::min<std::size_t>(maps.size(), 2));
  if (std::string_view(node.op_type()).find("Global") != std::string_view::npos) {
    Window window{.strides = Shape(extents.size(), 1),
                  .dilations = Shape(extents.size(), 1),
                  .pads = Shape(2 * extents.size(), 0)};
    return {.kernel_shape = {extents.begin(), extents.end()}, .window = std::move(window)};
  }
  PoolAttributes attributes{.kernel_shape = integers_attribute(node, "kernel_shape"),
                            .ceil_mode = integer_attribute(node, "ceil_mode", 0) != 0};
  if (attributes.kernel_shape.size() == extents.size()) {
    attributes.window = window_of(node, extents, attributes.kernel_shape);
  }
  return attributes;
}

}  // namespace emplace::onnx_model
