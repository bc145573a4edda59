#include "windows.hpp"

#include "model/assemble.hpp"
#include "operators/operators.hpp"

#include <emplace/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

namespace emplace::tensorflow {

MapWindows::MapWindows(const proto::NodeDef& node, const Output& maps)
    : node_(node),
      layout_(layout_of(node, maps.shape.size())),
      maps_(this->maps(maps)),
      is_depthwise_(node.op().find("Depthwise") != std::string::npos) {}

Output MapWindows::filters(Output filters) const {
  const Shape& shape = filters.shape;
  if (shape.size() != layout_.spatial + 2) {
    fail_shapes(fmt::format("expected filters of {} dimensions, found {}", layout_.spatial + 2,
                            text_of(shape)));
  }
  const std::int64_t channels = shape[shape.size() - 2];
  Shape first =
      is_depthwise_ ? Shape{product({channels, shape.back()}), 1} : Shape{shape.back(), channels};
  first.insert(first.end(), shape.begin(), shape.end() - 2);
  filters.shape = std::move(first);
  return filters;
}

// A list with one number for each dimension of the maps, or ones: those that windows move over.
Shape MapWindows::per_dimension(const std::string& name) const {
  Shape list = integers_attribute(node_, name);
  if (list.empty()) {
    list.assign(layout_.spatial + 2, 1);
  }
  if (list.size() != layout_.spatial + 2 ||
      std::ranges::any_of(list, [](auto entry) { return entry < 1; })) {
    fail_shapes(fmt::format("expected {} numbers of at least 1 in {}, found {}",
                            layout_.spatial + 2, name, text_of(list)));
  }
  const auto first = list.begin() + static_cast<std::ptrdiff_t>(layout_.first);
  return {first, first + static_cast<std::ptrdiff_t>(layout_.spatial)};
}

Window MapWindows::window(std::span<const std::int64_t> kernel, bool has_dilations) const {
  const std::size_t size = layout_.spatial;
  Window window{.strides = per_dimension("strides"),
                .dilations = has_dilations ? per_dimension("dilations") : Shape(size, 1),
                .pads = Shape(2 * size, 0)};
  const std::string padding = text_attribute(node_, "padding", "VALID");
  if (padding == "SAME") {
    window.pads = operators::same_pads(std::span(maps_.shape).subspan(2), kernel, window);
  } else if (padding == "EXPLICIT") {
    const Shape pads = integers_attribute(node_, "explicit_paddings");
    if (pads.size() != 2 * (size + 2)) {
      fail_shapes(fmt::format("expected {} numbers in explicit_paddings, found {}", 2 * (size + 2),
                              pads.size()));
    }
    for (std::size_t i = 0; i < size; ++i) {
      window.pads[i] = pads[2 * (layout_.first + i)];
      window.pads[i + size] = pads[2 * (layout_.first + i) + 1];
    }
  } else if (padding != "VALID") {
    fail_shapes(
        fmt::format("expected padding SAME, VALID or EXPLICIT, found '{}'", excerpt(padding)));
  }
  return window;
}

ConvAttributes MapWindows::conv(const Output& filters) const {
  const Shape w = this->filters(filters).shape;
  return {.window = window(std::span(w).subspan(2), true),
          .group = w[1] > 0 ? std::max<std::int64_t>(maps_.shape[1] / w[1], 1) : 1};
}

PoolAttributes MapWindows::pool() const {
  PoolAttributes attributes{.kernel_shape = per_dimension("ksize")};
  attributes.window = window(attributes.kernel_shape, false);
  return attributes;
}

}  // namespace emplace::tensorflow
