#pragma once

// TensorFlow's GraphDef and SavedModel, with the times and sizes of a RunMetadata.

#include <emplace/graphs/op_graph.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace emplace::tensorflow {

/// Says how a graph is read.
struct Options {
  std::int64_t unknown_dimension = 1;  ///< size of a tensor's first dimension where it is open
  /// Shapes by the names of nodes, or of a signature's inputs.
  std::map<std::string, std::vector<std::int64_t>, std::less<>> shapes{};
  std::string signature{};     ///< of a SavedModel; serving_default or the only one if empty
  std::string device_class{};  ///< on which ops outside of the CPU were measured
  std::string step_stats{};    ///< path of a RunMetadata; none if empty
};

/// Reads a GraphDef or a SavedModel, binary or text. Throws kFormat, and kUnsupported for loops,
/// for convolutions, matrix products and the like whose shapes cannot be known, and if protobuf is
/// not built in.
OpGraph read_graph(std::string_view bytes, const std::string& source, const Options& options);

}  // namespace emplace::tensorflow
