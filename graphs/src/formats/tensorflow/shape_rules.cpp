// Shapes of what works on each number, of recurrent cells, of windows over maps and of
// normalizations.

#include "shape_rules.hpp"

#include "model/assemble.hpp"
#include "operators/operators.hpp"
#include "windows.hpp"

#include <fmt/format.h>

namespace emplace::tensorflow::shapes {
namespace {

// Blocks of each dimension after the first go to the batch, or come back from it.
Results move_blocks(const NodeCall& call, bool to_batch) {
  const Shape& blocks = call.integers(1);
  const Shape& borders = call.integers(2);  // before and after each dimension
  Shape result = call.shape(0);
  if (blocks.size() >= result.size() || borders.size() != 2 * blocks.size()) {
    fail_shapes("blocks and paddings do not fit the dimensions of input 0");
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const std::int64_t border = sum({borders[2 * i], borders[2 * i + 1]});
    if (border < 0) {
      fail_shapes(fmt::format("expected paddings of at least 0, found {}", text_of(borders)));
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

Results same(const NodeCall& call) { return {call.shape(0)}; }

Results each_same(const NodeCall& call) {
  Results results;
  for (const KnownTensor& input : call.inputs) {
    results.push_back(input.shape);
  }
  return results;
}

Results second(const NodeCall& call) { return {call.shape(1)}; }

// One of the inputs, whichever ran.
Results merge(const NodeCall& call) {
  for (const KnownTensor& input : call.inputs) {
    if (input.shape) {
      return {input.shape, Shape{}};
    }
  }
  return {};
}

Results switch_results(const NodeCall& call) { return {call.shape(0), call.shape(0)}; }

// An LSTM's gates and states: x, c, h, w, ...
Results lstm_block_cell(const NodeCall& call) { return Results(7, call.shape(1)); }

Results scalar_result(const NodeCall&) { return {Shape{}}; }

Results cross_entropy(const NodeCall& call) {
  expect_rank(call, 0, 2);
  return {Shape{call.shape(0)[0]}, call.shape(0)};
}

Results top_k(const NodeCall& call) {
  Shape result = call.shape(0);
  if (result.empty()) {
    fail_shapes("expected at least 1 dimension at input 0");
  }
  result.back() = call.scalar(1);
  return {result, result};
}

std::int64_t quotient(std::int64_t number, std::int64_t by) {
  if (by < 1 || number % by != 0) {
    fail_shapes(fmt::format("a dimension of {} cannot be cut into parts of {}", number, by));
  }
  return number / by;
}

Results first_integers(const NodeCall& call) { return {call.integers(0)}; }
Results second_integers(const NodeCall& call) { return {call.integers(1)}; }

// The largest elements, and where they were.
Results max_pool_with_places(const NodeCall& call) {
  const MapWindows windows(call.node, call.tensors[0]);
  const Output maps = windows.maps(call.tensors[0]);
  const Shape y =
      operators::infer("max_pool", windows.pool(), operators::Tensors(&maps, 1))[0].shape;
  return Results(2, to_layout(y, windows.layout()));
}

// The results, then statistics and what the backward pass reads.
Results batch_norm(const NodeCall& call) {
  const Shape& scale = call.shape(1);
  const MapLayout layout = layout_of(call.node, call.rank(0));
  if (scale.size() != 1 || scale[0] != call.shape(0)[layout.channels]) {
    fail_shapes(fmt::format("a scale of {} does not fit maps of {}", text_of(scale),
                            text_of(call.shape(0))));
  }
  return {call.shape(0), scale, scale, scale, scale};
}

Results batch_norm_gradient(const NodeCall& call) {
  return {call.shape(0), call.shape(2), call.shape(2)};
}

Results bias_gradient(const NodeCall& call) {
  const bool is_first = text_attribute(call.node, "data_format", "NHWC").starts_with("NC");
  if (call.rank(0) < 2) {
    fail_shapes("expected at least 2 dimensions at input 0");
  }
  return {Shape{is_first ? call.shape(0)[1] : call.shape(0).back()}};
}

Results resize(const NodeCall& call) {
  expect_rank(call, 0, 4);
  if (call.integers(1).size() != 2) {
    fail_shapes("expected a height and a width at input 1");
  }
  return {Shape{call.shape(0)[0], call.integers(1)[0], call.integers(1)[1], call.shape(0)[3]}};
}

Results crop_and_resize(const NodeCall& call) {
  expect_rank(call, 0, 4);
  expect_rank(call, 1, 2);
  if (call.integers(3).size() != 2) {
    fail_shapes("expected a height and a width at input 3");
  }
  return {Shape{call.shape(1)[0], call.integers(3)[0], call.integers(3)[1], call.shape(0)[3]}};
}

Results space_to_depth(const NodeCall& call) {
  expect_rank(call, 0, 4);
  const MapLayout layout = layout_of(call.node, 4);
  const std::int64_t block = call.integer("block_size", 1);
  Shape result = call.shape(0);
  result[layout.first] = quotient(result[layout.first], block);
  result[layout.first + 1] = quotient(result[layout.first + 1], block);
  result[layout.channels] = product({result[layout.channels], block, block});
  return {result};
}

Results depth_to_space(const NodeCall& call) {
  expect_rank(call, 0, 4);
  const MapLayout layout = layout_of(call.node, 4);
  const std::int64_t block = call.integer("block_size", 1);
  Shape result = call.shape(0);
  result[layout.first] = product({result[layout.first], block});
  result[layout.first + 1] = product({result[layout.first + 1], block});
  result[layout.channels] = quotient(result[layout.channels], product({block, block}));
  return {result};
}

Results space_to_batch(const NodeCall& call) { return move_blocks(call, true); }
Results batch_to_space(const NodeCall& call) { return move_blocks(call, false); }

}  // namespace emplace::tensorflow::shapes
