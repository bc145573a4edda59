#include "windows.hpp"

#include "model/assemble.hpp"
#include "operators/operators.hpp"
#include "shape_rules.hpp"

#include <emplace/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace emplace::tensorflow {

MapWindows::MapWindows(const proto::NodeDef& node, const Shape& maps)
    : node_(node),
      layout_(layout_of(node, maps.size())),
      maps_(from_node(maps)),
      is_depthwise_(node.op().find("Depthwise") != std::string::npos) {}

Output MapWindows::from_node(const Shape& maps) const {
  if (maps.size() != layout_.spatial + 2) {
    refuse(fmt::format("expected maps of {} dimensions, found {}", layout_.spatial + 2,
                       text_of(maps)));
  }
  Shape shape{maps[0], maps[layout_.channels]};
  for (std::size_t i = 0; i < layout_.spatial; ++i) {
    shape.push_back(maps[layout_.first + i]);
  }
  return make_output(std::move(shape), DataType::kFloat32);
}

Shape MapWindows::to_node(const Shape& maps) const {
  Shape shape(maps.size(), maps[0]);
  shape[layout_.channels] = maps[1];
  std::copy(maps.begin() + 2, maps.end(),
            shape.begin() + static_cast<std::ptrdiff_t>(layout_.first));
  return shape;
}

Output MapWindows::filters(const Shape& filters) const {
  if (filters.size() != layout_.spatial + 2) {
    refuse(fmt::format("expected filters of {} dimensions, found {}", layout_.spatial + 2,
                       text_of(filters)));
  }
  const std::int64_t channels = filters[filters.size() - 2];
  Shape shape = is_depthwise_ ? Shape{product({channels, filters.back()}), 1}
                              : Shape{filters.back(), channels};
  shape.insert(shape.end(), filters.begin(), filters.end() - 2);
  return make_output(std::move(shape), DataType::kFloat32);
}

// A list with one number for each dimension of the maps, or ones: those that windows move over.
Shape MapWindows::per_dimension(const std::string& name) const {
  Shape list = integers_attribute(node_, name);
  if (list.empty()) {
    list.assign(layout_.spatial + 2, 1);
  }
  if (list.size() != layout_.spatial + 2 ||
      std::ranges::any_of(list, [](auto entry) { return entry < 1; })) {
    refuse(fmt::format("expected {} numbers of at least 1 in {}, found {}", layout_.spatial + 2,
                       name, text_of(list)));
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
      refuse(fmt::format("expected {} numbers in explicit_paddings, found {}", 2 * (size + 2),
                         pads.size()));
    }
    for (std::size_t i = 0; i < size; ++i) {
      window.pads[i] = pads[2 * (layout_.first + i)];
      window.pads[i + size] = pads[2 * (layout_.first + i) + 1];
    }
  } else if (padding != "VALID") {
    refuse(fmt::format("expected padding SAME, VALID or EXPLICIT, found '{}'", excerpt(padding)));
  }
  return window;
}

ConvAttributes MapWindows::conv(const Shape& filters) const {
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
