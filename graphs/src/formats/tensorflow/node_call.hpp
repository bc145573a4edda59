#pragma once

// One node as the rules and the translations of operators see it: what is known of its inputs, and
// how its maps are laid out.

#include "messages.hpp"
#include "operators/operators.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace emplace::tensorflow {

using operators::axis_of;
using operators::fail_shapes;

/// The most elements of a tensor of integers that shapes are computed with.
inline constexpr std::int64_t kMaxElements = 1024;

/// The most dimensions of a tensor whose shape is known.
inline constexpr std::size_t kMaxRank = 32;

/// Says what is known of a tensor before the step.
struct KnownTensor {
  /// Its extents, all of them; those of the variable for a variable's handle.
  std::optional<Shape> shape{};
  /// Its elements in row-major order, if they are few integers that need no data.
  std::optional<Shape> integers{};
};

/// Returns a shape as text, "[2, 3]".
std::string text_of(const Shape& shape);

/// Shows one node and what is known of its inputs.
struct NodeCall {
  const proto::NodeDef& node;
  std::span<const KnownTensor> inputs;
  std::span<const Output> tensors{};  ///< the inputs again; of unknown shape, any
  std::span<const Output> results{};  ///< none while shapes are inferred
  bool reads_stored = false;          ///< the first input is stored between steps

  // The row of the table lists the inputs that a rule reads; they are known when it is called.
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
  bool has_shape(std::size_t i) const { return i < inputs.size() && inputs[i].shape; }
  bool has_integers(std::size_t i) const { return i < inputs.size() && inputs[i].integers; }
  /// Returns the single number of an input.
  std::int64_t scalar(std::size_t i) const;
};

/// Throws kFormat unless an input has so many dimensions.
void expect_rank(const NodeCall& call, std::size_t input, std::size_t rank);

/// Returns the elements of a constant; nothing if they are no integers or more than a shape has.
std::optional<Shape> read_integers(const proto::TensorProto& tensor);

/// Returns the elements of the first result, whose shape is known, if they are integers that need
/// no data. Vectors are all that shapes are computed with.
std::optional<Shape> fold(const NodeCall& call, const Shape& result);

/// Says where the dimensions of a feature map are.
struct MapLayout {
  std::size_t channels = 0;  ///< index of the channels
  std::size_t first = 0;     ///< index of the first dimension that windows move over
  std::size_t spatial = 0;   ///< number of such dimensions
};

/// Returns the layout of a node's maps by its `data_format`; throws kFormat and kUnsupported.
MapLayout layout_of(const proto::NodeDef& node, std::size_t rank);

/// Returns maps of a layout as [N, C, ...], and the other way round.
Output channels_first(Output maps, const MapLayout& layout);
Shape to_layout(const Shape& maps, const MapLayout& layout);

}  // namespace emplace::tensorflow
