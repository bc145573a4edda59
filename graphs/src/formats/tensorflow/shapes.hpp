#pragma once

// What follows from shapes and constants alone: the shapes of a node's results, as TensorFlow's own
// shape functions define them (https://www.tensorflow.org/api_docs/cc), and the integers by which
// graphs compute shapes (Shape, StridedSlice, Pack and so on).

#include "messages.hpp"

#include <optional>
#include <span>
#include <vector>

namespace emplace::tensorflow {

/// Says what is known of a tensor before the step.
struct KnownTensor {
  /// Its extents, all of them; those of the variable for a variable's handle.
  std::optional<Shape> shape{};
  /// Its elements in row-major order, if they are few integers that need no data.
  std::optional<Shape> integers{};
};

/// Returns the elements of a constant; nothing if they are no integers or more than a shape has.
std::optional<Shape> read_integers(const proto::TensorProto& tensor);

/// Returns what is known of the results of a node, other than a source of data, that reads
/// `inputs`; an entry that is missing is unknown. Throws kFormat for shapes that do not fit.
std::vector<KnownTensor> infer(const proto::NodeDef& node, std::span<const KnownTensor> inputs);

/// Says whether infer() knows an operator.
bool has_shape_rule(std::string_view op);

/// Returns the index of an axis that may count from the end; throws kFormat.
std::size_t axis_of(std::int64_t axis, std::size_t rank);

/// Says where the dimensions of a feature map are.
struct MapLayout {
  std::size_t channels = 0;  ///< index of the channels
  std::size_t first = 0;     ///< index of the first dimension that windows move over
  std::size_t spatial = 0;   ///< number of such dimensions
};

/// Returns the layout of a node's maps by its `data_format`; throws kFormat and kUnsupported.
MapLayout layout_of(const proto::NodeDef& node, std::size_t rank);

}  // namespace emplace::tensorflow
