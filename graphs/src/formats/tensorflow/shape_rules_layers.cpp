// Shapes of windows over maps, and of normalizations.

#include "model/assemble.hpp"
#include "operators/operators.hpp"
#include "shape_rules.hpp"
#include "windows.hpp"

#include <emplace/base/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>

namespace emplace::tensorflow::shapes {
namespace {

// Blocks of each dimension after the first go to the batch, or come back from it.
Results move_blocks(const ShapeCall& call, bool to_batch) {
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

}  // namespace

std::int64_t quotient(std::int64_t number, std::int64_t by) {
  if (by < 1 || number % by != 0) {
    refuse(fmt::format("a dimension of {} cannot be cut into parts of {}", number, by));
  }
  return number / by;
}

Results convolution(const ShapeCall& call) {
  const MapWindows windows(call.node, call.shape(0));
  const Shape y = operators::infer("conv", windows.conv(call.shape(1)),
                                   std::array{windows.from_node(call.shape(0)),
                                              windows.filters(call.shape(1))})[0]
                      .shape;
  return {windows.to_node(y)};
}

Results first_integers(const ShapeCall& call) { return {call.integers(0)}; }
Results second_integers(const ShapeCall& call) { return {call.integers(1)}; }

Results pool(const ShapeCall& call) {
  const MapWindows windows(call.node, call.shape(0));
  const Shape y =
      operators::infer("max_pool", windows.pool(), std::array{windows.from_node(call.shape(0))})[0]
          .shape;
  const Shape result = windows.to_node(y);
  return {result, result};  // and where the largest elements were, of MaxPoolWithArgmax
}

// The results, then statistics and what the backward pass reads.
Results batch_norm(const ShapeCall& call) {
  const Shape& scale = call.shape(1);
  const MapLayout layout = layout_of(call.node, call.rank(0));
  if (scale.size() != 1 || scale[0] != call.shape(0)[layout.channels]) {
    refuse(fmt::format("a scale of {} does not fit maps of {}", text_of(scale),
                       text_of(call.shape(0))));
  }
  return {call.shape(0), scale, scale, scale, scale};
}

Results batch_norm_gradient(const ShapeCall& call) {
  return {call.shape(0), call.shape(2), call.shape(2)};
}

Results bias_add(const ShapeCall& call) {
  const Shape& value = call.shape(0);
  const Shape& bias = call.shape(1);
  const bool is_first = text_attribute(call.node, "data_format", "NHWC").starts_with("NC");
  const std::size_t channels = is_first ? 1 : value.size() - 1;
  if (value.size() < 2 || bias.size() != 1 || bias[0] != value[channels]) {
    refuse(fmt::format("a bias of {} does not fit {}", text_of(bias), text_of(value)));
  }
  return {value};
}

Results bias_gradient(const ShapeCall& call) {
  const bool is_first = text_attribute(call.node, "data_format", "NHWC").starts_with("NC");
  if (call.rank(0) < 2) {
    refuse("expected at least 2 dimensions at input 0");
  }
  return {Shape{is_first ? call.shape(0)[1] : call.shape(0).back()}};
}

Results resize(const ShapeCall& call) {
  expect_rank(call, 0, 4);
  if (call.integers(1).size() != 2) {
    refuse("expected a height and a width at input 1");
  }
  return {Shape{call.shape(0)[0], call.integers(1)[0], call.integers(1)[1], call.shape(0)[3]}};
}

Results crop_and_resize(const ShapeCall& call) {
  expect_rank(call, 0, 4);
  expect_rank(call, 1, 2);
  if (call.integers(3).size() != 2) {
    refuse("expected a height and a width at input 3");
  }
  return {Shape{call.shape(1)[0], call.integers(3)[0], call.integers(3)[1], call.shape(0)[3]}};
}

Results space_to_depth(const ShapeCall& call) {
  expect_rank(call, 0, 4);
  const MapLayout layout = layout_of(call.node, 4);
  const std::int64_t block = call.integer("block_size", 1);
  Shape result = call.shape(0);
  result[layout.first] = quotient(result[layout.first], block);
  result[layout.first + 1] = quotient(result[layout.first + 1], block);
  result[layout.channels] = product({result[layout.channels], block, block});
  return {result};
}

Results depth_to_space(const ShapeCall& call) {
  expect_rank(call, 0, 4);
  const MapLayout layout = layout_of(call.node, 4);
  const std::int64_t block = call.integer("block_size", 1);
  Shape result = call.shape(0);
  result[layout.first] = product({result[layout.first], block});
  result[layout.first + 1] = product({result[layout.first + 1], block});
  result[layout.channels] = quotient(result[layout.channels], product({block, block}));
  return {result};
}

Results space_to_batch(const ShapeCall& call) { return move_blocks(call, true); }
Results batch_to_space(const ShapeCall& call) { return move_blocks(call, false); }

}  // namespace emplace::tensorflow::shapes
