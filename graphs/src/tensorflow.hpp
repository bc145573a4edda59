#pragma once

// TensorFlow's GraphDef, with the times and sizes of a RunMetadata.

#include <emplace/graphs/op_graph.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace emplace::tensorflow {

/// Says how a graph is read.
struct Options {
  std::int64_t unknown_dimension = 1;  ///< size of each dimension that the graph leaves open
  std::string device_class{};          ///< on which ops outside of the CPU were measured
  std::string step_stats{};            ///< path of a RunMetadata; none if empty
};

/// Reads a GraphDef, binary or text; throws kFormat, and kUnsupported for loops and if protobuf is
/// not built in.
OpGraph read_graph(std::string_view bytes, const std::string& source, const Options& options);

/// Returns the kind of op that TensorFlow's operator is: one of ours where the table has it, else
/// the operator's own name in small letters.
std::string kind_of(std::string_view op);

}  // namespace emplace::tensorflow
