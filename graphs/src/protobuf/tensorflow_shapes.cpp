#include "tensorflow_shapes.hpp"

#include "../assemble.hpp"

#include <emplace/graphs/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>

namespace emplace::tensorflow {
namespace {

// A shape has few dimensions; what is longer is data.
constexpr std::int64_t kMaxElements = 1024;
constexpr std::size_t kMaxRank = 32;

using Results = std::vector<std::optional<Shape>>;

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorCode::kFormat, message); }

std::string text_of(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

// One node and what is known of its inputs.
struct Call {
  const proto::NodeDef& node;
  std::span<const Value> inputs;

  const Shape& shape(std::size_t i) const { return *inputs[i].shape; }
  const Shape& integers(std::size_t i) const { return *inputs[i].integers; }
  std::size_t rank(std::size_t i) const { return shape(i).size(); }
  std::int64_t integer(const std::string& name, std::int64_t fallback) const {
    return integer_attribute(node, name, fallback);
  }
  bool flag(const std::string& name, bool fallback = false) const {
    return flag_attribute(node, name, fallback);
  }
  // The single number of an input.
  std::int64_t scalar(std::size_t i) const {
    if (integers(i).size() != 1) {
      refuse(fmt::format("expected one number at input {}, found {}", i, integers(i).size()));
    }
    return integers(i)[0];
  }
  bool has_shapes(std::size_t begin, std::size_t end) const {
    return std::all_of(inputs.begin() + static_cast<std::ptrdiff_t>(begin),
                       inputs.begin() + static_cast<std::ptrdiff_t>(end),
                       [](const Value& value) { return value.shape.has_value(); });
  }
};

void expect_rank(const Call& call, std::size_t input, std::size_t rank) {
  if (call.rank(input) != rank) {
    refuse(fmt::format("expected {} dimensions at input {}, found {}", rank, input,
                       text_of(call.shape(input))));
  }
}

// --- Elementwise
// -----------------------------------------------------------------------------------

Results same(const Call& call) { return {call.shape(0)}; }

Results each_same(const Call& call) {
  Results results;
  for (const Value& input : call.inputs) {
    results.push_back(input.shape);
  }
  return results;
}

Shape broadcast(const Shape& a, const Shape& b) {
  Shape result = a.size() < b.size() ? b : a;
  const Shape& shorter = a.size() < b.size() ? a : b;
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    std::int64_t& extent = result[result.size() - 1 - i];
    const std::int64_t other = shorter[shorter.size() - 1 - i];
    if (extent != other && extent != 1 && other != 1) {
      refuse(fmt::format("shapes {} and {} do not fit", text_of(a), text_of(b)));
    }
    extent = extent == 1 ? other : extent;
  }
  return result;
}

Results broadcast_all(const Call& call) {
  Shape result = call.shape(0);
  for (std::size_t i = 1; i < call.inputs.size(); ++i) {
    result = broadcast(result, call.shape(i));
  }
  return {result};
}

// The condition may be one truth value for each row.
Results select(const Call& call) { return {call.shape(1)}; }

// One of the inputs, whichever ran.
Results merge(const Call& call) {
  for (const Value& input : call.inputs) {
    if (input.shape) {
      return {input.shape, Shape{}};
    }
  }
  return {};
}

Results switch_results(const Call& call) { return {call.shape(0), call.shape(0)}; }

// --- Windows
// ---------------------------------------------------------------------------------------

// A list with one number for each dimension, or ones.
Shape per_dimension(const Call& call, const std::string& name, std::size_t rank) {
  Shape list = integers_attribute(call.node, name);
  if (list.empty()) {
    list.assign(rank, 1);
  }
  if (list.size() != rank || std::ranges::any_of(list, [](auto entry) { return entry < 1; })) {
    refuse(fmt::format("expected {} numbers of at least 1 in {}, found {}", rank, name,
                       text_of(list)));
  }
  return list;
}

// Moves windows over maps; the number of channels stays.
Shape slide(const Call& call, const Shape& maps, std::span<const std::int64_t> window,
            bool has_dilations) {
  const MapLayout layout = layout_of(call.node, maps.size());
  const Shape strides = per_dimension(call, "strides", maps.size());
  const Shape dilations =
      has_dilations ? per_dimension(call, "dilations", maps.size()) : Shape(maps.size(), 1);
  const std::string padding = text_attribute(call.node, "padding", "VALID");
  const Shape pads = integers_attribute(call.node, "explicit_paddings");
  if (padding == "EXPLICIT" && pads.size() != 2 * maps.size()) {
    refuse(fmt::format("expected {} numbers in explicit_paddings, found {}", 2 * maps.size(),
                       pads.size()));
  }
  Shape result = maps;
  for (std::size_t i = 0; i < layout.spatial; ++i) {
    const std::size_t d = layout.first + i;
    if (padding == "SAME") {
      result[d] = sum({maps[d], strides[d] - 1}) / strides[d];
      continue;
    }
    if (padding != "VALID" && padding != "EXPLICIT") {
      refuse(fmt::format("expected padding SAME, VALID or EXPLICIT, found '{}'", excerpt(padding)));
    }
    const std::int64_t padded =
        padding == "VALID" ? maps[d] : sum({maps[d], pads[2 * d], pads[2 * d + 1]});
    const std::int64_t covered = sum({product({window[i] - 1, dilations[d]}), 1});
    if (padded < covered || covered < 1) {
      refuse(fmt::format("a window of {} does not fit maps of {}", covered, padded));
    }
    result[d] = (padded - covered) / strides[d] + 1;
  }
  return result;
}

// Filters are [R, S, C / groups, K].
Results convolution(const Call& call) {
  const Shape& maps = call.shape(0);
  const Shape& filters = call.shape(1);
  const MapLayout layout = layout_of(call.node, maps.size());
  expect_rank(call, 1, maps.size());
  const std::int64_t channels = filters[filters.size() - 2];
  if (channels == 0 || maps[layout.channels] % channels != 0) {
    refuse(fmt::format("maps of {} channels do not fit filters {}", maps[layout.channels],
                       text_of(filters)));
  }
  Shape result = slide(call, maps, filters, true);
  result[layout.channels] = filters.back();
  return {result};
}

// Filters are [R, S, C, multiplier].
Results depthwise_convolution(const Call& call) {
  const Shape& maps = call.shape(0);
  const Shape& filters = call.shape(1);
  const MapLayout layout = layout_of(call.node, maps.size());
  expect_rank(call, 0, 4);
  expect_rank(call, 1, 4);
  if (maps[layout.channels] != filters[2]) {
    refuse(fmt::format("maps of {} channels do not fit filters {}", maps[layout.channels],
                       text_of(filters)));
  }
  Shape result = slide(call, maps, filters, true);
  result[layout.channels] = product({filters[2], filters[3]});
  return {result};
}

Results first_integers(const Call& call) { return {call.integers(0)}; }
Results second_integers(const Call& call) { return {call.integers(1)}; }

Results pool(const Call& call) {
  const MapLayout layout = layout_of(call.node, call.rank(0));
  const Shape window = per_dimension(call, "ksize", call.rank(0));
  const Shape result = slide(call, call.shape(0), std::span(window).subspan(layout.first), false);
  return {result, result};  // and where the largest elements were, of MaxPoolWithArgmax
}

// The results, then statistics and what the backward pass reads.
Results batch_norm(const Call& call) {
  const Shape& scale = call.shape(1);
  const MapLayout layout = layout_of(call.node, call.rank(0));
  if (scale.size() != 1 || scale[0] != call.shape(0)[layout.channels]) {
    refuse(fmt::format("a scale of {} does not fit maps of {}", text_of(scale),
                       text_of(call.shape(0))));
  }
  return {call.shape(0), scale, scale, scale, scale};
}

Results batch_norm_gradient(const Call& call) {
  return {call.shape(0), call.shape(2), call.shape(2)};
}

Results bias_add(const Call& call) {
  const Shape& value = call.shape(0);
  const Shape& bias = call.shape(1);
  const bool is_first = text_attribute(call.node, "data_format", "NHWC").starts_with("NC");
  const std::size_t channels = is_first ? 1 : value.size() - 1;
  if (value.size() < 2 || bias.size() != 1 || bias[0] != value[channels]) {
    refuse(fmt::format("a bias of {} does not fit {}", text_of(bias), text_of(value)));
  }
  return {value};
}

Results bias_gradient(const Call& call) {
  const bool is_first = text_attribute(call.node, "data_format", "NHWC").starts_with("NC");
  if (call.rank(0) < 2) {
    refuse("expected at least 2 dimensions at input 0");
  }
  return {Shape{is_first ? call.shape(0)[1] : call.shape(0).back()}};
}

Results resize(const Call& call) {
  expect_rank(call, 0, 4);
  if (call.integers(1).size() != 2) {
    refuse("expected a height and a width at input 1");
  }
  return {Shape{call.shape(0)[0], call.integers(1)[0], call.integers(1)[1], call.shape(0)[3]}};
}

Results crop_and_resize(const Call& call) {
  expect_rank(call, 0, 4);
  expect_rank(call, 1, 2);
  if (call.integers(3).size() != 2) {
    refuse("expected a height and a width at input 3");
  }
  return {Shape{call.shape(1)[0], call.integers(3)[0], call.integers(3)[1], call.shape(0)[3]}};
}

std::int64_t quotient(std::int64_t number, std::int64_t by) {
  if (by < 1 || number % by != 0) {
    refuse(fmt::format("a dimension of {} cannot be cut into parts of {}", number, by));
  }
  return number / by;
}

Results space_to_depth(const Call& call) {
  expect_rank(call, 0, 4);
  const MapLayout layout = layout_of(call.node, 4);
  const std::int64_t block = call.integer("block_size", 1);
  Shape result = call.shape(0);
  result[layout.first] = quotient(result[layout.first], block);
  result[layout.first + 1] = quotient(result[layout.first + 1], block);
  result[layout.channels] = product({result[layout.channels], block, block});
  return {result};
}

Results depth_to_space(const Call& call) {
  expect_rank(call, 0, 4);
  const MapLayout layout = layout_of(call.node, 4);
  const std::int64_t block = call.integer("block_size", 1);
  Shape result = call.shape(0);
  result[layout.first] = product({result[layout.first], block});
  result[layout.first + 1] = product({result[layout.first + 1], block});
  result[layout.channels] = quotient(result[layout.channels], product({block, block}));
  return {result};
}

// Blocks of each dimension after the first go to the batch, or come back from it.
Results move_blocks(const Call& call, bool to_batch) {
  const Shape& blocks = call.integers(1);
  const Shape& borders = call.integers(2);  // before and after each dimension
  Shape result = call.shape(0);
  if (blocks.size() >= result.size() || borders.size() != 2 * blocks.size()) {
    refuse("blocks and paddings do not fit the dimensions of input 0");
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const std::int64_t border = sum({borders[2 * i], borders[2 * i + 1]});
    if (border < 0) {
      refuse(fmt::format("expected paddings of at least 0, found {}", text_of(borders)));
    }
    std::int64_t& extent = result[i + 1];
    if (to_batch) {
      extent = quotient(sum({extent, border}), blocks[i]);
      result[0] = product({result[0], blocks[i]});
    } else {
      extent = product({extent, blocks[i]}) - border;
      result[0] = quotient(result[0], blocks[i]);
    }
  }
  return {result};
}

Results space_to_batch(const Call& call) { return move_blocks(call, true); }
Results batch_to_space(const Call& call) { return move_blocks(call, false); }

// --- Products
// --------------------------------------------------------------------------------------

Results matmul(const Call& call) {
  if (call.rank(0) < 2 || call.rank(1) < 2) {
    refuse(fmt::format("expected matrices, found {} and {}", text_of(call.shape(0)),
                       text_of(call.shape(1))));
  }
  Shape a = call.shape(0);
  Shape b = call.shape(1);
  if (call.flag("transpose_a") || call.flag("adj_x")) {
    std::swap(a[a.size() - 2], a.back());
  }
  if (call.flag("transpose_b") || call.flag("adj_y")) {
    std::swap(b[b.size() - 2], b.back());
  }
  if (a.back() != b[b.size() - 2]) {
    refuse(fmt::format("matrices of {} and {} cannot be multiplied", text_of(a), text_of(b)));
  }
  Shape result = broadcast(Shape(a.begin(), a.end() - 2), Shape(b.begin(), b.end() - 2));
  result.push_back(a[a.size() - 2]);
  result.push_back(b.back());
  return {result};
}

Results einsum(const Call& call) {
  const std::string equation = text_attribute(call.node, "equation", "");
  const std::size_t arrow = equation.find("->");
  if (arrow == std::string::npos || equation.find('.') != std::string::npos) {
    return {};
  }
  std::map<char, std::int64_t> extents;
  std::size_t input = 0;
  std::size_t place = 0;
  for (const char letter : equation.substr(0, arrow) + ",") {
    if (letter == ',') {
      if (input >= call.inputs.size() || place != call.rank(input)) {
        refuse(fmt::format("the equation '{}' does not fit input {}", excerpt(equation), input));
      }
      ++input;
      place = 0;
      continue;
    }
    if (input >= call.inputs.size() || place >= call.rank(input)) {
      refuse(fmt::format("the equation '{}' does not fit input {}", excerpt(equation), input));
    }
    const std::int64_t extent = call.shape(input)[place++];
    if (extents.try_emplace(letter, extent).first->second != extent) {
      refuse(
          fmt::format("'{}' of the equation '{}' stands for two sizes", letter, excerpt(equation)));
    }
  }
  Shape result;
  for (const char letter : equation.substr(arrow + 2)) {
    const auto found = extents.find(letter);
    if (found == extents.end()) {
      refuse(fmt::format("'{}' is new in the result of the equation '{}'", excerpt({&letter, 1}),
                         excerpt(equation)));
    }
    result.push_back(found->second);
  }
  return {result};
}

// An LSTM's gates and states: x, c, h, w, ...
Results lstm_block_cell(const Call& call) { return Results(7, call.shape(1)); }

// --- Reductions
// ------------------------------------------------------------------------------------

Shape without(const Shape& shape, const Shape& axes, bool keeps) {
  std::vector<bool> is_reduced(shape.size(), false);
  for (const std::int64_t axis : axes) {
    is_reduced[axis_of(axis, shape.size())] = true;
  }
  Shape result;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (!is_reduced[i]) {
      result.push_back(shape[i]);
    } else if (keeps) {
      result.push_back(1);
    }
  }
  return result;
}

Results reduce(const Call& call) {
  return {without(call.shape(0), call.integers(1), call.flag("keep_dims"))};
}

Results arg_of(const Call& call) { return {without(call.shape(0), {call.scalar(1)}, false)}; }

Results scalar_result(const Call&) { return {Shape{}}; }

Results losses(const Call& call) { return {Shape{call.shape(0)[0]}, call.shape(0)}; }

Results cross_entropy(const Call& call) {
  expect_rank(call, 0, 2);
  return losses(call);
}

Results top_k(const Call& call) {
  Shape result = call.shape(0);
  if (result.empty()) {
    refuse("expected at least 1 dimension at input 0");
  }
  result.back() = call.scalar(1);
  return {result, result};
}

// --- Shapes and parts
// ------------------------------------------------------------------------------

Results shape_of(const Call& call) { return {Shape{std::ssize(call.shape(0))}}; }

Results shapes_of(const Call& call) {
  Results results;
  for (const Value& input : call.inputs) {
    results.push_back(input.shape ? std::optional(Shape{std::ssize(*input.shape)}) : std::nullopt);
  }
  return results;
}

Results reshape(const Call& call) {
  Shape result = call.integers(1);
  const std::int64_t elements = product(call.shape(0));
  const auto open = std::ranges::find(result, -1);
  if (open != result.end()) {
    *open = 1;
    const std::int64_t others = product(result);
    if (others < 1 || elements % others != 0) {
      refuse(fmt::format("{} cannot become {}", text_of(call.shape(0)), text_of(call.integers(1))));
    }
    *open = elements / others;
  }
  if (product(result) != elements) {
    refuse(fmt::format("{} cannot become {}", text_of(call.shape(0)), text_of(call.integers(1))));
  }
  return {result};
}

Results squeeze(const Call& call) {
  const Shape& shape = call.shape(0);
  std::vector<bool> is_named(shape.size(), false);
  const Shape axes = integers_attribute(call.node, "squeeze_dims");
  for (const std::int64_t axis : axes) {
    const std::size_t i = axis_of(axis, shape.size());
    if (shape[i] != 1) {
      refuse(fmt::format("dimension {} of {} cannot be squeezed", axis, text_of(shape)));
    }
    is_named[i] = true;
  }
  Shape result;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (axes.empty() ? shape[i] != 1 : !is_named[i]) {
      result.push_back(shape[i]);
    }
  }
  return {result};
}

Results expand_dims(const Call& call) {
  Shape result = call.shape(0);
  const std::size_t axis = axis_of(call.scalar(1), result.size() + 1);
  result.insert(result.begin() + static_cast<std::ptrdiff_t>(axis), 1);
  return {result};
}

Results transpose(const Call& call) {
  const Shape& axes = call.integers(1);
  Shape sorted = axes;
  std::ranges::sort(sorted);
  Shape all(call.rank(0));
  std::iota(all.begin(), all.end(), 0);
  if (sorted != all) {
    refuse(fmt::format("axes {} do not fit {}", text_of(axes), text_of(call.shape(0))));
  }
  Shape result;
  for (const std::int64_t axis : axes) {
    result.push_back(call.shape(0)[static_cast<std::size_t>(axis)]);
  }
  return {result};
}

Results pack(const Call& call) {
  Shape result = call.shape(0);
  if (!std::ranges::all_of(call.inputs, [&](const Value& v) { return *v.shape == result; })) {
    refuse("expected all inputs to have the same shape");
  }
  const std::size_t axis = axis_of(call.integer("axis", 0), result.size() + 1);
  result.insert(result.begin() + static_cast<std::ptrdiff_t>(axis), std::ssize(call.inputs));
  return {result};
}

Results unpack(const Call& call) {
  Shape result = call.shape(0);
  const std::size_t axis = axis_of(call.integer("axis", 0), result.size());
  const std::int64_t parts = result[axis];
  if (parts > kMaxElements) {
    return {};
  }
  result.erase(result.begin() + static_cast<std::ptrdiff_t>(axis));
  return Results(static_cast<std::size_t>(parts), result);
}

Results join(const Call& call, std::size_t begin, std::size_t end, std::size_t axis_input) {
  if (begin >= end || !call.has_shapes(begin, end) || !call.inputs[axis_input].integers) {
    return {};
  }
  Shape result = call.shape(begin);
  const std::size_t axis = axis_of(call.scalar(axis_input), result.size());
  for (std::size_t i = begin + 1; i < end; ++i) {
    Shape part = call.shape(i);
    if (part.size() == result.size()) {
      const std::int64_t more = part[axis];
      part[axis] = result[axis];
      if (part == result) {
        result[axis] = sum({result[axis], more});
        continue;
      }
    }
    refuse(fmt::format("{} and {} cannot be joined along dimension {}", text_of(call.shape(begin)),
                       text_of(call.shape(i)), axis));
  }
  return {result};
}

Results concat(const Call& call) {
  return call.inputs.empty() ? Results() : join(call, 1, call.inputs.size(), 0);
}

Results concat_v2(const Call& call) {
  const std::size_t last = call.inputs.size() - 1;
  return call.inputs.empty() ? Results() : join(call, 0, last, last);
}

Results split(const Call& call) {
  Shape result = call.shape(1);
  const std::int64_t parts = call.integer("num_split", 1);
  const std::size_t axis = axis_of(call.scalar(0), result.size());
  if (parts > kMaxElements) {
    return {};
  }
  result[axis] = quotient(result[axis], parts);
  return Results(static_cast<std::size_t>(parts), result);
}

Results split_v(const Call& call) {
  const Shape& whole = call.shape(0);
  Shape sizes = call.integers(1);
  const std::size_t axis = axis_of(call.scalar(2), whole.size());
  const auto open = std::ranges::find(sizes, -1);
  if (open != sizes.end()) {
    *open = whole[axis];
    for (const std::int64_t size : call.integers(1)) {
      if (size < -1 || size > whole[axis]) {
        refuse(fmt::format("parts of {} do not fit {}", text_of(call.integers(1)), text_of(whole)));
      }
      *open -= std::max<std::int64_t>(size, 0);
    }
  }
  Results results;
  for (const std::int64_t size : sizes) {
    Shape part = whole;
    part[axis] = size;
    results.emplace_back(part);
  }
  return results;
}

Results slice(const Call& call) {
  const Shape& begin = call.integers(1);
  Shape result = call.integers(2);
  if (begin.size() != call.rank(0) || result.size() != call.rank(0)) {
    refuse(fmt::format("a block of {} does not fit {}", text_of(result), text_of(call.shape(0))));
  }
  for (std::size_t i = 0; i < result.size(); ++i) {
    const std::int64_t rest = call.shape(0)[i] - std::max<std::int64_t>(begin[i], 0);
    result[i] = result[i] == -1 ? rest : result[i];
    if (begin[i] < 0 || result[i] < 0 || result[i] > rest) {
      refuse(fmt::format("a block of {} at {} is not within {}", text_of(call.integers(2)),
                         text_of(begin), text_of(call.shape(0))));
    }
  }
  return {result};
}

// What one dimension gives: `count` elements from `begin` on.
struct Range {
  std::int64_t begin = 0;
  std::int64_t step = 1;
  std::int64_t count = 0;
};

Range range_of(const Call& call, std::size_t i, std::int64_t extent) {
  const auto has_bit = [&](const char* mask) { return ((call.integer(mask, 0) >> i) & 1) != 0; };
  const std::int64_t step = call.integers(3)[i];
  if (step == 0) {
    refuse("expected steps other than 0");
  }
  const auto place = [&](std::int64_t index) {
    index = index < 0 ? std::max(index, -extent - 1) + extent : index;
    return step > 0 ? std::clamp<std::int64_t>(index, 0, extent)
                    : std::clamp<std::int64_t>(index, -1, extent - 1);
  };
  if (has_bit("shrink_axis_mask")) {
    const std::int64_t index = call.integers(1)[i];
    const std::int64_t begin = index < 0 ? index + extent : index;
    if (begin < 0 || begin >= extent) {
      refuse(fmt::format("index {} is not within a dimension of {}", index, extent));
    }
    return {.begin = begin, .count = 1};
  }
  const std::int64_t begin =
      has_bit("begin_mask") ? (step > 0 ? 0 : extent - 1) : place(call.integers(1)[i]);
  const std::int64_t end =
      has_bit("end_mask") ? (step > 0 ? extent : -1) : place(call.integers(2)[i]);
  const std::int64_t span = step > 0 ? end - begin : begin - end;
  const std::int64_t stride = step > 0 ? step : -std::max(step, -extent - 1);
  return {.begin = begin,
          .step = step,
          .count = span <= 0 ? 0 : (span - 1) / std::max<std::int64_t>(stride, 1) + 1};
}

Results strided_slice(const Call& call) {
  const Shape& shape = call.shape(0);
  const std::size_t entries = call.integers(1).size();
  if (entries != call.integers(2).size() || entries != call.integers(3).size() ||
      entries > kMaxRank) {
    refuse("expected begins, ends and steps of the same number of dimensions");
  }
  const auto has_bit = [&](const char* mask, std::size_t i) {
    return ((call.integer(mask, 0) >> i) & 1) != 0;
  };
  std::size_t num_taken = 0;  // dimensions that entries other than the ellipsis are of
  for (std::size_t i = 0; i < entries; ++i) {
    num_taken += !has_bit("new_axis_mask", i) && !has_bit("ellipsis_mask", i) ? 1 : 0;
  }
  if (num_taken > shape.size()) {
    refuse(fmt::format("{} entries do not fit {}", entries, text_of(shape)));
  }
  Shape result;
  std::size_t d = 0;
  for (std::size_t i = 0; i < entries; ++i) {
    if (has_bit("ellipsis_mask", i)) {
      for (std::size_t rest = shape.size() - num_taken; rest > 0; --rest) {
        result.push_back(shape[d++]);
      }
      num_taken = shape.size();  // a second ellipsis takes nothing
    } else if (has_bit("new_axis_mask", i)) {
      result.push_back(1);
    } else {
      const Range range = range_of(call, i, shape[d++]);
      if (!has_bit("shrink_axis_mask", i)) {
        result.push_back(range.count);
      }
    }
  }
  for (; d < shape.size(); ++d) {
    result.push_back(shape[d]);
  }
  return {result};
}

Shape gathered(const Shape& table, const Shape& rows, std::size_t axis, std::size_t batch) {
  if (batch > axis || batch > rows.size()) {
    refuse("batch_dims does not fit the shapes of the inputs");
  }
  Shape result(table.begin(), table.begin() + static_cast<std::ptrdiff_t>(axis));
  result.insert(result.end(), rows.begin() + static_cast<std::ptrdiff_t>(batch), rows.end());
  result.insert(result.end(), table.begin() + static_cast<std::ptrdiff_t>(axis) + 1, table.end());
  return result;
}

Results gather(const Call& call) {
  return {gathered(call.shape(0), call.shape(1), axis_of(0, call.rank(0)), 0)};
}

Results gather_v2(const Call& call) {
  const std::int64_t batch = call.integer("batch_dims", 0);
  return {gathered(call.shape(0), call.shape(1), axis_of(call.scalar(2), call.rank(0)),
                   batch == 0 ? 0 : axis_of(batch, call.rank(1) + 1))};
}

Results gather_nd(const Call& call) {
  const Shape& indices = call.shape(1);
  if (indices.empty() || std::cmp_greater(indices.back(), call.rank(0))) {
    refuse(fmt::format("indices of {} do not fit {}", text_of(indices), text_of(call.shape(0))));
  }
  Shape result(indices.begin(), indices.end() - 1);
  result.insert(result.end(), call.shape(0).begin() + indices.back(), call.shape(0).end());
  return {result};
}

Results pad(const Call& call) {
  Shape result = call.shape(0);
  const Shape& pads = call.integers(1);
  if (pads.size() != 2 * result.size()) {
    refuse(fmt::format("{} paddings do not fit {}", pads.size(), text_of(result)));
  }
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i] = sum({result[i], pads[2 * i], pads[2 * i + 1]});
  }
  return {result};
}

Results tile(const Call& call) {
  Shape result = call.shape(0);
  if (call.integers(1).size() != result.size()) {
    refuse(fmt::format("{} multiples do not fit {}", call.integers(1).size(), text_of(result)));
  }
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i] = product({result[i], call.integers(1)[i]});
  }
  return {result};
}

Results range(const Call& call) {
  const std::int64_t begin = call.scalar(0);
  const std::int64_t end = call.scalar(1);
  const std::int64_t step = call.scalar(2);
  std::int64_t span = 0;
  if (step == 0 || __builtin_sub_overflow(end, begin, &span)) {
    refuse("expected a step other than 0");
  }
  if (span == 0 || (span > 0) != (step > 0)) {
    return {Shape{0}};
  }
  return {Shape{span / step + (span % step != 0 ? 1 : 0)}};
}

Results one_hot(const Call& call) {
  Shape result = call.shape(0);
  const std::size_t axis = axis_of(call.integer("axis", -1), result.size() + 1);
  result.insert(result.begin() + static_cast<std::ptrdiff_t>(axis), call.scalar(1));
  return {result};
}

// --- Integers
// --------------------------------------------------------------------------------------

std::optional<std::int64_t> apply(std::string_view op, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (op == "Add" || op == "AddV2") {
    return __builtin_add_overflow(a, b, &result) ? std::nullopt : std::optional(result);
  }
  if (op == "Sub") {
    return __builtin_sub_overflow(a, b, &result) ? std::nullopt : std::optional(result);
  }
  if (op == "Mul") {
    return __builtin_mul_overflow(a, b, &result) ? std::nullopt : std::optional(result);
  }
  if (op == "FloorDiv" || op == "FloorMod") {
    if (b == 0 || b == -1) {
      return std::nullopt;
    }
    const std::int64_t rest = a % b;
    const bool rounds_down = rest != 0 && (rest < 0) != (b < 0);
    return op == "FloorDiv" ? a / b - (rounds_down ? 1 : 0) : rest + (rounds_down ? b : 0);
  }
  if (op == "Maximum") {
    return std::max(a, b);
  }
  if (op == "Minimum") {
    return std::min(a, b);
  }
  return std::nullopt;
}

std::optional<Shape> apply_each(const Call& call) {
  const Shape& a = call.integers(0);
  const Shape& b = call.integers(1);
  if (a.size() != b.size() && a.size() != 1 && b.size() != 1) {
    return std::nullopt;
  }
  Shape result;
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    const auto number = apply(call.node.op(), a[a.size() == 1 ? 0 : i], b[b.size() == 1 ? 0 : i]);
    if (!number || a.empty() || b.empty()) {
      return std::nullopt;
    }
    result.push_back(*number);
  }
  return result;
}

// Returns the elements of the first result, whose shape is known. Vectors are all that shapes are
// computed with.
std::optional<Shape> fold(const Call& call, const Shape& result) {
  const std::string& op = call.node.op();
  if (op == "Shape") {
    return call.shape(0);
  }
  if (op == "Rank") {
    return Shape{std::ssize(call.shape(0))};
  }
  if (op == "Size") {
    return Shape{product(call.shape(0))};
  }
  const std::size_t num_read = op == "ExpandDims" || op == "Squeeze" || op == "Reshape" ||
                                       op == "Identity" || op == "Cast" || op == "StopGradient"
                                   ? 1
                                   : call.inputs.size();
  for (std::size_t i = 0; i < num_read; ++i) {
    if (!call.inputs[i].integers || !call.inputs[i].shape) {
      return std::nullopt;
    }
  }
  if (num_read == 0) {
    return std::nullopt;
  }
  const Shape& first = call.integers(0);
  if (op == "Cast") {
    const DataType type = data_type(static_cast<int>(find_attribute(call.node, "DstT") != nullptr
                                                         ? find_attribute(call.node, "DstT")->type()
                                                         : 0));
    return type == DataType::kInt32 || type == DataType::kInt64 ? std::optional(first)
                                                                : std::nullopt;
  }
  if (num_read == 1 && !call.inputs.empty() &&
      (op == "ExpandDims" || op == "Squeeze" || op == "Reshape" || op == "Identity" ||
       op == "StopGradient")) {
    return first;
  }
  if (op == "Pack" || op == "ConcatV2") {
    Shape joined;
    for (std::size_t i = 0; i < num_read - (op == "ConcatV2" ? 1 : 0); ++i) {
      joined.insert(joined.end(), call.integers(i).begin(), call.integers(i).end());
    }
    return result.size() == 1 ? std::optional(joined) : std::nullopt;
  }
  if (op == "StridedSlice" && call.rank(0) == 1 && call.integers(1).size() == 1 &&
      call.integer("new_axis_mask", 0) == 0 && call.integer("ellipsis_mask", 0) == 0) {
    const Range range = range_of(call, 0, std::ssize(first));
    Shape part;
    for (std::int64_t i = 0; i < range.count; ++i) {
      part.push_back(first[static_cast<std::size_t>(range.begin + i * range.step)]);
    }
    return part;
  }
  if (op == "Slice" && call.rank(0) == 1) {
    const auto begin = first.begin() + call.integers(1)[0];
    return Shape(begin, begin + result[0]);
  }
  if ((op == "GatherV2" || op == "Gather") && call.rank(0) == 1) {
    Shape part;
    for (const std::int64_t index : call.integers(1)) {
      part.push_back(first[axis_of(index, first.size())]);
    }
    return part;
  }
  if (op == "Range") {
    Shape numbers;
    for (std::int64_t i = 0; i < std::min(result[0], kMaxElements); ++i) {
      numbers.push_back(first[0] + i * call.integers(2)[0]);
    }
    return numbers;
  }
  if (op == "Fill" && result.size() <= 1 && product(result) <= kMaxElements) {
    return Shape(static_cast<std::size_t>(product(result)), call.scalar(1));
  }
  if (op == "Prod" && result.empty()) {
    return Shape{product(first)};
  }
  if (op == "Neg") {
    Shape negative = first;
    std::ranges::for_each(negative, [](std::int64_t& number) { number = 0 - number; });
    return std::ranges::count(first, INT64_MIN) == 0 ? std::optional(negative) : std::nullopt;
  }
  return num_read == 2 ? apply_each(call) : std::nullopt;
}

// --- The table
// -------------------------------------------------------------------------------------

// What a rule needs of its inputs, one letter each: a shape (s), integers (i) or nothing (.); a
// star repeats the letter before it.
struct Row {
  std::string_view op;
  Results (*rule)(const Call&);
  std::string_view needs = "s";
};

// Sorted by operator.
constexpr std::array kRows = {
    Row{"Abs", same},
    Row{"Add", broadcast_all, "ss"},
    Row{"AddN", same, "s"},
    Row{"AddV2", broadcast_all, "ss"},
    Row{"All", reduce, "si"},
    Row{"Any", reduce, "si"},
    Row{"ApplyAdadelta", same},
    Row{"ApplyAdagrad", same},
    Row{"ApplyAdam", same},
    Row{"ApplyGradientDescent", same},
    Row{"ApplyMomentum", same},
    Row{"ApplyRMSProp", same},
    Row{"ArgMax", arg_of, "si"},
    Row{"ArgMin", arg_of, "si"},
    Row{"Assign", select, ".s"},
    Row{"AssignAdd", same},
    Row{"AssignSub", same},
    Row{"AvgPool", pool},
    Row{"AvgPool3D", pool},
    Row{"AvgPoolGrad", first_integers, "i"},
    Row{"BatchMatMul", matmul, "ss"},
    Row{"BatchMatMulV2", matmul, "ss"},
    Row{"BatchMatMulV3", matmul, "ss"},
    Row{"BatchToSpaceND", batch_to_space, "sii"},
    Row{"BiasAdd", bias_add, "ss"},
    Row{"BiasAddGrad", bias_gradient},
    Row{"BroadcastTo", second_integers, "si"},
    Row{"Cast", same},
    Row{"Ceil", same},
    Row{"CheckNumerics", same},
    Row{"ClipByValue", same},
    Row{"Concat", concat, ""},
    Row{"ConcatV2", concat_v2, ""},
    Row{"Conv2D", convolution, "ss"},
    Row{"Conv2DBackpropFilter", second_integers, ".i"},
    Row{"Conv2DBackpropInput", first_integers, "i"},
    Row{"Conv3D", convolution, "ss"},
    Row{"Conv3DBackpropInputV2", first_integers, "i"},
    Row{"Cos", same},
    Row{"CropAndResize", crop_and_resize, "ss.i"},
    Row{"Cumprod", same},
    Row{"Cumsum", same},
    Row{"DepthToSpace", depth_to_space},
    Row{"DepthwiseConv2dNative", depthwise_convolution, "ss"},
    Row{"DepthwiseConv2dNativeBackpropFilter", second_integers, ".i"},
    Row{"DepthwiseConv2dNativeBackpropInput", first_integers, "i"},
    Row{"Dequantize", same},
    Row{"Div", broadcast_all, "ss"},
    Row{"DivNoNan", broadcast_all, "ss"},
    Row{"Einsum", einsum, "s*"},
    Row{"Elu", same},
    Row{"EnsureShape", same},
    Row{"Equal", broadcast_all, "ss"},
    Row{"Erf", same},
    Row{"Exp", same},
    Row{"ExpandDims", expand_dims, "si"},
    Row{"FakeQuantWithMinMaxArgs", same},
    Row{"FakeQuantWithMinMaxVars", same},
    Row{"FakeQuantWithMinMaxVarsPerChannel", same},
    Row{"Fill", first_integers, "i"},
    Row{"Floor", same},
    Row{"FloorDiv", broadcast_all, "ss"},
    Row{"FloorMod", broadcast_all, "ss"},
    Row{"FusedBatchNorm", batch_norm, "ss"},
    Row{"FusedBatchNormGrad", batch_norm_gradient, "s.s"},
    Row{"FusedBatchNormGradV2", batch_norm_gradient, "s.s"},
    Row{"FusedBatchNormGradV3", batch_norm_gradient, "s.s"},
    Row{"FusedBatchNormV2", batch_norm, "ss"},
    Row{"FusedBatchNormV3", batch_norm, "ss"},
    Row{"Gather", gather, "ss"},
    Row{"GatherNd", gather_nd, "ss"},
    Row{"GatherV2", gather_v2, "ssi"},
    Row{"Greater", broadcast_all, "ss"},
    Row{"GreaterEqual", broadcast_all, "ss"},
    Row{"Identity", same},
    Row{"IdentityN", each_same, ""},
    Row{"InvertPermutation", same},
    Row{"IsFinite", same},
    Row{"IsNan", same},
    Row{"L2Loss", scalar_result, ""},
    Row{"LRN", same},
    Row{"LSTMBlockCell", lstm_block_cell, ".s"},
    Row{"LeakyRelu", same},
    Row{"Less", broadcast_all, "ss"},
    Row{"LessEqual", broadcast_all, "ss"},
    Row{"Log", same},
    Row{"Log1p", same},
    Row{"LogSoftmax", same},
    Row{"LogicalAnd", broadcast_all, "ss"},
    Row{"LogicalNot", same},
    Row{"LogicalOr", broadcast_all, "ss"},
    Row{"MatMul", matmul, "ss"},
    Row{"MatrixBandPart", same},
    Row{"Max", reduce, "si"},
    Row{"MaxPool", pool},
    Row{"MaxPool3D", pool},
    Row{"MaxPoolGrad", same},
    Row{"MaxPoolWithArgmax", pool},
    Row{"Maximum", broadcast_all, "ss"},
    Row{"Mean", reduce, "si"},
    Row{"Merge", merge, ""},
    Row{"Min", reduce, "si"},
    Row{"Minimum", broadcast_all, "ss"},
    Row{"MirrorPad", pad, "si"},
    Row{"Mod", broadcast_all, "ss"},
    Row{"Mul", broadcast_all, "ss"},
    Row{"Neg", same},
    Row{"NotEqual", broadcast_all, "ss"},
    Row{"OneHot", one_hot, "si"},
    Row{"OnesLike", same},
    Row{"Pack", pack, "s*"},
    Row{"Pad", pad, "si"},
    Row{"PadV2", pad, "si"},
    Row{"PlaceholderWithDefault", same},
    Row{"Pow", broadcast_all, "ss"},
    Row{"PreventGradient", same},
    Row{"Prod", reduce, "si"},
    Row{"RandomStandardNormal", first_integers, "i"},
    Row{"RandomUniform", first_integers, "i"},
    Row{"Range", range, "iii"},
    Row{"Rank", scalar_result},
    Row{"ReadVariableOp", same},
    Row{"RealDiv", broadcast_all, "ss"},
    Row{"Reciprocal", same},
    Row{"Relu", same},
    Row{"Relu6", same},
    Row{"Relu6Grad", same},
    Row{"ReluGrad", same},
    Row{"Reshape", reshape, "si"},
    Row{"ResizeArea", resize, "si"},
    Row{"ResizeBicubic", resize, "si"},
    Row{"ResizeBilinear", resize, "si"},
    Row{"ResizeNearestNeighbor", resize, "si"},
    Row{"ResourceGather", gather, "ss"},
    Row{"ReverseV2", same},
    Row{"Round", same},
    Row{"Rsqrt", same},
    Row{"RsqrtGrad", same},
    Row{"Select", select, ".s"},
    Row{"SelectV2", broadcast_all, "sss"},
    Row{"Selu", same},
    Row{"Shape", shape_of},
    Row{"ShapeN", shapes_of, ""},
    Row{"Sigmoid", same},
    Row{"SigmoidGrad", same},
    Row{"Sign", same},
    Row{"Sin", same},
    Row{"Size", scalar_result},
    Row{"Slice", slice, "sii"},
    Row{"Snapshot", same},
    Row{"Softmax", same},
    Row{"SoftmaxCrossEntropyWithLogits", cross_entropy},
    Row{"Softplus", same},
    Row{"Softsign", same},
    Row{"SpaceToBatchND", space_to_batch, "sii"},
    Row{"SpaceToDepth", space_to_depth},
    Row{"SparseMatMul", matmul, "ss"},
    Row{"SparseSoftmaxCrossEntropyWithLogits", cross_entropy},
    Row{"Split", split, "is"},
    Row{"SplitV", split_v, "sii"},
    Row{"Sqrt", same},
    Row{"Square", same},
    Row{"SquaredDifference", broadcast_all, "ss"},
    Row{"Squeeze", squeeze},
    Row{"StopGradient", same},
    Row{"StridedSlice", strided_slice, "siii"},
    Row{"Sub", broadcast_all, "ss"},
    Row{"Sum", reduce, "si"},
    Row{"Switch", switch_results},
    Row{"Tanh", same},
    Row{"TanhGrad", same},
    Row{"Tile", tile, "si"},
    Row{"TopKV2", top_k, "si"},
    Row{"Transpose", transpose, "si"},
    Row{"TruncatedNormal", first_integers, "i"},
    Row{"Unpack", unpack},
    Row{"Xdivy", broadcast_all, "ss"},
    Row{"ZerosLike", same},
    Row{"_FusedBatchNormEx", batch_norm, "ss"},
    Row{"_FusedConv2D", convolution, "ss"},
    Row{"_FusedDepthwiseConv2dNative", depthwise_convolution, "ss"},
    Row{"_FusedMatMul", matmul, "ss"},
};

static_assert(std::ranges::is_sorted(kRows, {}, &Row::op));

const Row* find_row(std::string_view op) {
  const auto found = std::ranges::lower_bound(kRows, op, {}, &Row::op);
  return found != kRows.end() && found->op == op ? &*found : nullptr;
}

bool has_needs(const Row& row, std::span<const Value> inputs) {
  char letter = '.';
  const bool repeats = row.needs.ends_with('*');
  const std::size_t num_letters = row.needs.size() - (repeats ? 1 : 0);
  if (inputs.size() < num_letters) {
    return false;
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    letter = i < num_letters ? row.needs[i] : repeats ? letter : '.';
    if ((letter == 's' && !inputs[i].shape) || (letter == 'i' && !inputs[i].integers)) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::optional<Shape> read_integers(const proto::TensorProto& tensor) {
  const DataType type = data_type(static_cast<int>(tensor.dtype()));
  const auto& dims = tensor.tensor_shape().dim();
  std::int64_t elements = 1;
  for (const auto& dim : dims) {
    if (dim.size() < 0 || dim.size() > kMaxElements) {
      return std::nullopt;
    }
    elements *= dim.size();
    if (elements > kMaxElements) {
      return std::nullopt;
    }
  }
  Shape values;
  const auto read_content = [&]<class Stored>(Stored) {
    for (std::size_t at = 0; at + sizeof(Stored) <= tensor.tensor_content().size();
         at += sizeof(Stored)) {
      Stored value;
      std::memcpy(&value, tensor.tensor_content().data() + at, sizeof(Stored));
      values.push_back(static_cast<std::int64_t>(value));
    }
  };
  if (tensor.dtype() == proto::DT_INT64) {
    values.assign(tensor.int64_val().begin(), tensor.int64_val().end());
    read_content(std::int64_t());
  } else if (type == DataType::kInt32) {
    values.assign(tensor.int_val().begin(), tensor.int_val().end());
    read_content(std::int32_t());
  } else {
    return std::nullopt;
  }
  if (std::ssize(values) > elements) {
    return std::nullopt;
  }
  // The last number that a tensor gives stands for all that follow; zeros are left out.
  values.resize(static_cast<std::size_t>(elements), values.empty() ? 0 : values.back());
  return values;
}

std::size_t axis_of(std::int64_t axis, std::size_t rank) {
  const std::int64_t place = axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis;
  if (place < 0 || std::cmp_greater_equal(place, rank)) {
    refuse(fmt::format("there is no dimension {} of {}", axis, rank));
  }
  return static_cast<std::size_t>(place);
}

MapLayout layout_of(const proto::NodeDef& node, std::size_t rank) {
  const std::string format = text_attribute(node, "data_format", rank == 5 ? "NDHWC" : "NHWC");
  if (format != "NHWC" && format != "NCHW" && format != "NDHWC" && format != "NCDHW") {
    throw Error(ErrorCode::kUnsupported,
                fmt::format("the data_format '{}' is not supported", excerpt(format)));
  }
  if (format.size() != rank) {
    refuse(
        fmt::format("expected maps of {} dimensions ({}), found {}", format.size(), format, rank));
  }
  return format[1] == 'C' ? MapLayout{.channels = 1, .first = 2, .spatial = rank - 2}
                          : MapLayout{.channels = rank - 1, .first = 1, .spatial = rank - 2};
}

bool has_shape_rule(std::string_view op) { return find_row(op) != nullptr; }

std::vector<Value> infer(const proto::NodeDef& node, std::span<const Value> inputs) {
  const Row* const row = find_row(node.op());
  if (row == nullptr || !has_needs(*row, inputs)) {
    return {};
  }
  const Call call{.node = node, .inputs = inputs};
  std::vector<Value> values;
  for (std::optional<Shape>& shape : row->rule(call)) {
    if (shape && shape->size() > kMaxRank) {
      shape.reset();
    }
    if (shape && std::ranges::any_of(*shape, [](auto extent) { return extent < 0; })) {
      refuse(fmt::format("its result would have the shape {}", text_of(*shape)));
    }
    values.push_back({.shape = std::move(shape)});
  }
  if (!values.empty() && values[0].shape && values[0].shape->size() <= 1 &&
      product(*values[0].shape) <= kMaxElements) {
    auto integers = fold(call, *values[0].shape);
    if (integers && std::ssize(*integers) == product(*values[0].shape)) {
      values[0].integers = std::move(integers);
    }
  }
  return values;
}

}  // namespace emplace::tensorflow
