#pragma once

// How images lie in memory: by channels ("nchw", PyTorch's default), or with the channels of a
// place next to each other ("nhwc", channels_last). A device multiplies one of them; a convolution
// of the other takes transposes in addition (profiles/device_profile.hpp).

#include <emplace/base/params.hpp>
#include <emplace/graphs/op_graph.hpp>

#include <string>

namespace emplace {

/// Returns `graph` with all convolutions in `layout` (ConvAttributes::layout), or unchanged if it
/// is "native".
OpGraph with_layout(OpGraph graph, const std::string& layout);

/// Returns the parameter `layout` of a graph, native by default.
ParamSpec layout_parameter();

}  // namespace emplace
