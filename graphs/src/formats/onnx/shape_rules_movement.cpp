// Shapes of what joins, cuts and reorders.

#include "inference.hpp"
#include "model/assemble.hpp"
#include "operators/operators.hpp"

#include <emplace/base/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace emplace::onnx_model::shapes {
namespace {

// An axis for each entry: those that are named, or the first ones.
std::vector<std::size_t> axes_of(const std::optional<Shape>& axes, std::size_t entries,
                                 std::size_t rank) {
  if (axes && axes->size() != entries) {
    fail_shape(fmt::format("expected {} axes, found {}", entries, axes->size()));
  }
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < entries; ++i) {
    const std::size_t place =
        operators::axis_of(axes ? axes->at(i) : static_cast<std::int64_t>(i), rank);
    if (std::ranges::find(places, place) != places.end()) {
      fail_shape(fmt::format("axis {} appears twice", place));
    }
    places.push_back(place);
  }
  return places;
}

// The axes of a list that has an entry for each dimension, unless `axes` names others.
std::vector<std::size_t> axes_of_all(const std::optional<Shape>& axes, std::size_t entries,
                                     std::size_t rank, std::string_view list) {
  if (!axes && entries != rank) {
    fail_shape(fmt::format("expected {} for each of {} dimensions, found {}", list, rank, entries));
  }
  return axes_of(axes, entries, rank);
}

std::int64_t block_size(const Inference& node) {
  const auto block = node.integer("blocksize", 1);
  if (block < 1) {
    fail_shape(fmt::format("blocksize is {}, expected at least 1", block));
  }
  return block;
}

// A number of any type.
std::int64_t depth_of(const Inference& node) {
  const Numbers* numbers = node.numbers(1);
  const auto depth = numbers != nullptr ? single_of(*numbers) : std::nullopt;
  if (!depth) {
    const Shape integers = node.integers(1);  // says what is wrong
    fail_shape(fmt::format("expected one depth, found {}", integers.size()));
  }
  if (!(*depth > -1 && *depth <= static_cast<double>(kMaxExtent))) {
    fail_shape(fmt::format("its result would have a dimension of {}", *depth));
  }
  return static_cast<std::int64_t>(*depth);
}

std::int64_t quotient(std::int64_t extent, std::int64_t by) {
  if (extent % by != 0) {
    fail_shape(fmt::format("a dimension of {} cannot be cut into parts of {}", extent, by));
  }
  return extent / by;
}

}  // namespace

void depth_to_space(Inference& node) {
  Shape shape = node.shape_of_rank(0, 4);
  const auto block = block_size(node);
  shape[1] = quotient(shape[1], product({block, block}));
  shape[2] = product({shape[2], block});
  shape[3] = product({shape[3], block});
  node.give(std::move(shape), node.type(0));
}

void space_to_depth(Inference& node) {
  Shape shape = node.shape_of_rank(0, 4);
  const auto block = block_size(node);
  shape[1] = product({shape[1], block, block});
  shape[2] = quotient(shape[2], block);
  shape[3] = quotient(shape[3], block);
  node.give(std::move(shape), node.type(0));
}

void expand(Inference& node) {
  node.give(broadcast_shape(node.shape(0), node.integers(1)), node.type(0));
}

void flatten(Inference& node) {
  const Shape& shape = node.shape(0);
  const auto rank = std::ssize(shape);
  const auto axis = node.integer("axis", 1);
  if (axis < -rank || axis > rank) {
    fail_shape(fmt::format("axis {} of a tensor of {} dimensions", axis, rank));
  }
  const auto place = static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
  node.give({product(std::span(shape).first(place)), product(std::span(shape).subspan(place))},
            node.type(0));
}

void gather(Inference& node) {
  Shape shape = node.shape(0);
  const auto axis = static_cast<std::ptrdiff_t>(node.axis(0, shape.size()));
  const Shape& indices = node.shape(1);
  shape.insert(shape.erase(shape.begin() + axis), indices.begin(), indices.end());
  node.give(std::move(shape), node.type(0));
}

void gather_elements(Inference& node) { node.give(node.shape(1), node.type(0)); }

void gather_nd(Inference& node) {
  const Shape& data = node.shape(0);
  const Shape& indices = node.shape_of_rank(1, 1);
  const auto batch = node.integer("batch_dims", 0);
  const auto used = sum({batch, indices.back()});
  if (batch < 0 || used > std::ssize(data)) {
    fail_shape(fmt::format("its indices have {} entries for a tensor of {} dimensions",
                           indices.back(), data.size()));
  }
  Shape shape(indices.begin(), indices.end() - 1);
  shape.insert(shape.end(), data.begin() + used, data.end());
  node.give(std::move(shape), node.type(0));
}

void one_hot(Inference& node) {
  Shape shape = node.shape(0);
  const auto depth = depth_of(node);
  const auto rank = static_cast<std::int64_t>(shape.size()) + 1;
  const auto axis = node.integer("axis", -1);
  if (axis < -rank || axis >= rank) {
    fail_shape(fmt::format("axis {} of a result of {} dimensions", axis, rank));
  }
  shape.insert(shape.begin() + (axis < 0 ? axis + rank : axis), depth);
  node.give(std::move(shape), node.type(2));
}

void pad(Inference& node) {
  Shape shape = node.shape(0);
  const auto pads = node.integers_or_attribute(1, "pads");
  if (!pads) {
    fail_shape("expected pads");
  }
  if (pads->size() % 2 != 0) {
    fail_shape(fmt::format("expected as many pads before as after, found {}", pads->size()));
  }
  const std::size_t entries = pads->size() / 2;
  const auto named = node.has_input(3) ? std::optional(node.integers(3)) : std::nullopt;
  const auto axes = axes_of_all(named, entries, shape.size(), "a pad before and after");
  for (std::size_t i = 0; i < entries; ++i) {
    shape[axes[i]] = sum({shape[axes[i]], pads->at(i), pads->at(entries + i)});
  }
  node.give(std::move(shape), node.type(0));
}

void reshape(Inference& node) {
  const Shape& from = node.shape(0);
  const auto target = node.integers_or_attribute(1, "shape");
  if (!target) {
    fail_shape("expected a shape");
  }
  Shape shape = *target;
  const bool allows_zero = node.flag("allowzero");
  std::optional<std::size_t> open;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0 && !allows_zero) {
      if (i >= from.size()) {
        fail_shape(fmt::format("dimension {} is to be kept, but there is none", i));
      }
      shape[i] = from[i];
    } else if (shape[i] == -1 && !open) {
      open = i;
      shape[i] = 1;
    } else if (shape[i] < 0) {
      fail_shape(fmt::format("cannot become [{}]", fmt::join(*target, ", ")));
    }
  }
  const std::int64_t count = product(from);
  const std::int64_t known = product(shape);
  if (open) {
    if (known == 0) {
      fail_shape(fmt::format(
          "[{}] cannot become [{}]: with another dimension of 0, the open one could be anything",
          fmt::join(from, ", "), fmt::join(*target, ", ")));
    }
    shape[*open] = count / known;
  }
  if (product(shape) != count) {
    fail_shape(
        fmt::format("[{}] cannot become [{}]", fmt::join(from, ", "), fmt::join(*target, ", ")));
  }
  node.give(std::move(shape), node.type(0));
}

// The inputs are data, scales (opset 10 and Upsample), or data, region, scales, sizes.
void resize(Inference& node) {
  Shape shape = node.shape(0);
  const bool is_old = node.opset() < 11 || node.node().op_type() == "Upsample";
  const std::size_t scales_at = is_old ? 1 : 2;
  const auto named = find_attribute(node.node(), "axes") != nullptr
                         ? std::optional(integers_attribute(node.node(), "axes"))
                         : std::nullopt;
  const bool has_scales = node.has_input(scales_at) && product(node.shape(scales_at)) > 0;
  if (!has_scales && node.has_input(3) && !is_old) {
    const Shape sizes = node.integers(3);
    const auto axes = axes_of_all(named, sizes.size(), shape.size(), "a size");
    const std::string_view policy = text_attribute(node.node(), "keep_aspect_ratio_policy");
    double factor = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const double own = static_cast<double>(sizes[i]) /
                         static_cast<double>(std::max<std::int64_t>(shape[axes[i]], 1));
      factor = i == 0                    ? own
               : policy == "not_smaller" ? std::max(factor, own)
                                         : std::min(factor, own);
    }
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      std::int64_t& extent = shape[axes[i]];
      extent = policy.empty() || policy == "stretch"
                   ? sizes[i]
                   : static_cast<std::int64_t>(
                         std::clamp(std::round(static_cast<double>(extent) * factor), -1.0, 1e12));
    }
    node.give(std::move(shape), node.type(0));
    return;
  }
  std::vector<double> scales;
  if (!node.has_input(scales_at) && is_old) {
    const onnx::AttributeProto* attribute = find_attribute(node.node(), "scales");
    if (attribute != nullptr) {
      scales.assign(attribute->floats().begin(), attribute->floats().end());
    }
  } else if (node.has_input(scales_at)) {
    node.shape(scales_at);
    const Numbers* numbers = node.numbers(scales_at);
    if (numbers == nullptr) {
      throw Error(ErrorCode::kUnsupported,
                  "its scales decide on the shape of the result, and they are not known before "
                  "the model runs");
    }
    for (const Number number : numbers->values) {
      scales.push_back(std::visit([](auto value) { return static_cast<double>(value); }, number));
    }
  }
  if (scales.empty()) {
    fail_shape(is_old ? "expected scales" : "expected scales or sizes");
  }
  const auto axes = axes_of_all(named, scales.size(), shape.size(), "a scale");
  for (std::size_t i = 0; i < scales.size(); ++i) {
    const double extent = std::floor(static_cast<double>(shape[axes[i]]) * scales[i]);
    if (!(extent >= 0 && extent <= static_cast<double>(kMaxExtent))) {
      fail_shape(fmt::format("cannot be scaled by {}", scales[i]));
    }
    shape[axes[i]] = static_cast<std::int64_t>(extent);
  }
  node.give(std::move(shape), node.type(0));
}

void slice(Inference& node) {
  Shape shape = node.shape(0);
  const auto list = [&](std::size_t index, std::string_view name) {
    return node.has_input(index) ? std::optional(node.integers(index))
                                 : places_attribute(node.node(), name);
  };
  const auto starts = list(1, "starts");
  const auto ends = list(2, "ends");
  if (!starts || !ends || starts->size() != ends->size()) {
    fail_shape("expected as many starts as ends");
  }
  const auto axes = axes_of(list(3, "axes"), starts->size(), shape.size());
  const auto steps = list(4, "steps");
  if (steps && steps->size() != starts->size()) {
    fail_shape("expected as many steps as starts");
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    std::int64_t& extent = shape[axes[i]];
    if (extent == 0) {
      continue;
    }
    const std::int64_t step = steps ? steps->at(i) : 1;
    if (step == 0) {
      fail_shape("a step is 0");
    }
    // Ends may be the largest integers there are.
    const auto place = [&](std::int64_t index, std::int64_t least, std::int64_t most) {
      return std::clamp(index < 0 ? index + extent : index, least, most);
    };
    const bool is_back = step < 0;
    const std::int64_t begin = place(starts->at(i), 0, is_back ? extent - 1 : extent);
    const std::int64_t end = place(ends->at(i), is_back ? -1 : 0, is_back ? extent - 1 : extent);
    const std::int64_t length = is_back ? begin - end : end - begin;
    const std::int64_t stride = step == std::numeric_limits<std::int64_t>::min() ? kMaxExtent
                                : is_back                                        ? -step
                                                                                 : step;
    extent = length <= 0 ? 0 : (length - 1) / stride + 1;
  }
  node.give(std::move(shape), node.type(0));
}

void split(Inference& node) {
  const Shape& from = node.shape(0);
  const std::size_t axis = node.axis(0, from.size());
  auto parts = node.integers_or_attribute(1, "split");
  if (!parts) {
    const auto count = static_cast<std::int64_t>(node.num_outputs());
    if (count < 1) {
      fail_shape("has no results");
    }
    // The last part may be smaller.
    const std::int64_t extent = (from[axis] + count - 1) / count;
    parts = Shape(static_cast<std::size_t>(count), extent);
    parts->back() = from[axis] - (count - 1) * extent;
  }
  const auto fail_parts = [&] {
    fail_shape(fmt::format("parts of {} do not make {}", fmt::join(*parts, " + "), from[axis]));
  };
  std::int64_t left = from[axis];
  for (const std::int64_t part : *parts) {
    if (part < 0 || part > left) {
      fail_parts();
    }
    left -= part;
    Shape shape = from;
    shape[axis] = part;
    node.give(std::move(shape), node.type(0));
  }
  if (left != 0) {
    fail_parts();
  }
}

void squeeze(Inference& node) {
  const Shape& from = node.shape(0);
  const auto axes = node.integers_or_attribute(1, "axes");
  std::vector<bool> is_gone(from.size(), false);
  for (std::size_t i = 0; i < from.size(); ++i) {
    is_gone[i] = !axes && from[i] == 1;
  }
  for (const std::int64_t axis : axes.value_or(Shape())) {
    const std::size_t place = operators::axis_of(axis, from.size());
    if (from[place] != 1) {
      fail_shape(fmt::format("dimension {} is {}, expected 1", place, from[place]));
    }
    is_gone[place] = true;
  }
  Shape shape;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (!is_gone[i]) {
      shape.push_back(from[i]);
    }
  }
  node.give(std::move(shape), node.type(0));
}

void tile(Inference& node) {
  Shape shape = node.shape(0);
  const Shape repeats = node.integers(1);
  if (repeats.size() != shape.size()) {
    fail_shape(fmt::format("expected {} repeats, found {}", shape.size(), repeats.size()));
  }
  for (std::size_t i = 0; i < shape.size(); ++i) {
    shape[i] = product({shape[i], repeats[i]});
  }
  node.give(std::move(shape), node.type(0));
}

void top_k(Inference& node) {
  Shape shape = node.shape_of_rank(0, 1);
  const std::size_t axis = node.axis(-1, shape.size());
  const Shape k = node.has_input(1) ? node.integers(1) : Shape{node.integer("k", 1)};
  if (k.size() != 1) {
    fail_shape("expected one k");
  }
  if (k[0] > shape[axis]) {
    fail_shape(fmt::format("the largest {} of {}", k[0], shape[axis]));
  }
  shape[axis] = k[0];
  node.give(shape, node.type(0));
  node.give(std::move(shape), DataType::kInt64);
}

void unsqueeze(Inference& node) {
  const Shape& from = node.shape(0);
  const auto axes = node.integers_or_attribute(1, "axes");
  if (!axes) {
    fail_shape("expected axes");
  }
  const std::size_t rank = from.size() + axes->size();
  std::vector<bool> is_new(rank, false);
  for (const std::int64_t axis : *axes) {
    is_new[operators::axis_of(axis, rank)] = true;
  }
  if (std::ranges::count(is_new, true) != std::ssize(*axes)) {
    fail_shape("an axis appears twice");
  }
  Shape shape;
  auto next = from.begin();
  for (std::size_t i = 0; i < rank; ++i) {
    shape.push_back(is_new[i] ? 1 : *next++);
  }
  node.give(std::move(shape), node.type(0));
}

}  // namespace emplace::onnx_model::shapes
