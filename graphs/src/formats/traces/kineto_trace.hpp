#pragma once

// The traces of PyTorch's profiler (Kineto), as torch.profiler exports them for Chrome: operators
// with their times, the kernels that they launched and, where recorded, the shapes of their inputs.
// Read are those of PyTorch 1.8 to 2.x, whose names of categories and members changed, and the bare
// list of events that builds without Kineto export.

#include "recording.hpp"

#include <string>
#include <string_view>

namespace emplace::pytorch {

/// Reads a Kineto trace. Throws kFormat.
KinetoTrace read_kineto(std::string_view text, const std::string& source);

}  // namespace emplace::pytorch
