#pragma once

// The graph of a trace of times without tensors, so that its edges only order: an op follows the
// one before it on each stream on which its kernels ran, and what these streams or its thread
// waited for; an op without kernels the one before it on its thread. Kernels that no operator
// launched are ops, too.

#include "pytorch_calls.hpp"
#include "recording.hpp"

#include <emplace/graphs/op_graph.hpp>

#include <string>

namespace emplace::pytorch {

/// Returns the graph, with times measured on `device_class`. `source` is the name of the trace in
/// errors. Throws kFormat.
OpGraph graph_of_trace(KinetoTrace trace, const std::string& source, std::string device_class,
                       Level level);

}  // namespace emplace::pytorch
