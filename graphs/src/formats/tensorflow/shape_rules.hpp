#pragma once

// The shapes of a node's results: one rule for each operator, or for several that are alike; the
// table of shapes.cpp names it, and says what it needs to know of the inputs.

#include "shapes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace emplace::tensorflow {

/// The most elements of a tensor of integers that shapes are computed with.
inline constexpr std::int64_t kMaxElements = 1024;

/// The most dimensions of a tensor whose shape is known.
inline constexpr std::size_t kMaxRank = 32;

/// Shapes of the results; nothing where one is not known.
using Results = std::vector<std::optional<Shape>>;

/// Throws kFormat with this message.
[[noreturn]] void refuse(const std::string& message);

/// Returns a shape as text, "[2, 3]".
std::string text_of(const Shape& shape);

/// Shows one node and what is known of its inputs.
struct ShapeCall {
  const proto::NodeDef& node;
  std::span<const KnownTensor> inputs;

  // The table's row says of which inputs a rule needs them.
  // NOLINTBEGIN(bugprone-unchecked-optional-access)
  const Shape& shape(std::size_t i) const { return *inputs[i].shape; }
  const Shape& integers(std::size_t i) const { return *inputs[i].integers; }
  // NOLINTEND(bugprone-unchecked-optional-access)
  std::size_t rank(std::size_t i) const { return shape(i).size(); }
  std::int64_t integer(const std::string& name, std::int64_t fallback) const {
    return integer_attribute(node, name, fallback);
  }
  bool flag(const std::string& name, bool fallback = false) const {
    return flag_attribute(node, name, fallback);
  }
  /// Returns the single number of an input.
  std::int64_t scalar(std::size_t i) const {
    if (integers(i).size() != 1) {
      refuse(fmt::format("expected one number at input {}, found {}", i, integers(i).size()));
    }
    return integers(i)[0];
  }
  bool has_shapes(std::size_t begin, std::size_t end) const {
    return std::all_of(inputs.begin() + static_cast<std::ptrdiff_t>(begin),
                       inputs.begin() + static_cast<std::ptrdiff_t>(end),
                       [](const KnownTensor& value) { return value.shape.has_value(); });
  }
};

/// Throws kFormat unless an input has so many dimensions.
void expect_rank(const ShapeCall& call, std::size_t input, std::size_t rank);

/// Returns the elements of the first result, whose shape is known, if they are integers that need
/// no data. Vectors are all that shapes are computed with.
std::optional<Shape> fold(const ShapeCall& call, const Shape& result);

namespace shapes {

/// Says what a strided slice takes of one dimension: `count` elements from `begin` on.
struct Range {
  std::int64_t begin = 0;
  std::int64_t step = 1;
  std::int64_t count = 0;
};

/// Returns what StridedSlice takes by the entry `i` of its begins, ends and steps.
Range range_of(const ShapeCall& call, std::size_t i, std::int64_t extent);

/// Returns a part of an extent; throws kFormat unless `by` divides it.
std::int64_t quotient(std::int64_t number, std::int64_t by);

// --- Elementwise, products, reductions (shape_rules.cpp) ---

Results same(const ShapeCall& call);
Results each_same(const ShapeCall& call);
Results broadcast_all(const ShapeCall& call);
Results select(const ShapeCall& call);
Results merge(const ShapeCall& call);
Results switch_results(const ShapeCall& call);
Results matmul(const ShapeCall& call);
Results einsum(const ShapeCall& call);
Results lstm_block_cell(const ShapeCall& call);
Results reduce(const ShapeCall& call);
Results arg_of(const ShapeCall& call);
Results scalar_result(const ShapeCall& call);
Results cross_entropy(const ShapeCall& call);
Results top_k(const ShapeCall& call);

// --- Layers (shape_rules_layers.cpp) ---

Results convolution(const ShapeCall& call);
Results first_integers(const ShapeCall& call);
Results second_integers(const ShapeCall& call);
Results pool(const ShapeCall& call);
Results batch_norm(const ShapeCall& call);
Results batch_norm_gradient(const ShapeCall& call);
Results bias_add(const ShapeCall& call);
Results bias_gradient(const ShapeCall& call);
Results resize(const ShapeCall& call);
Results crop_and_resize(const ShapeCall& call);
Results space_to_depth(const ShapeCall& call);
Results depth_to_space(const ShapeCall& call);
Results space_to_batch(const ShapeCall& call);
Results batch_to_space(const ShapeCall& call);

// --- What joins, cuts and reorders (shape_rules_movement.cpp) ---

Results shape_of(const ShapeCall& call);
Results shapes_of(const ShapeCall& call);
Results reshape(const ShapeCall& call);
Results squeeze(const ShapeCall& call);
Results expand_dims(const ShapeCall& call);
Results transpose(const ShapeCall& call);
Results pack(const ShapeCall& call);
Results unpack(const ShapeCall& call);
Results concat(const ShapeCall& call);
Results concat_v2(const ShapeCall& call);
Results split(const ShapeCall& call);
Results split_v(const ShapeCall& call);
Results slice(const ShapeCall& call);
Results strided_slice(const ShapeCall& call);
Results gather(const ShapeCall& call);
Results gather_v2(const ShapeCall& call);
Results gather_nd(const ShapeCall& call);
Results pad(const ShapeCall& call);
Results tile(const ShapeCall& call);
Results range(const ShapeCall& call);
Results one_hot(const ShapeCall& call);

}  // namespace shapes

}  // namespace emplace::tensorflow
