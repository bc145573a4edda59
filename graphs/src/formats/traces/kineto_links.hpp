#pragma once

// Which call of a Kineto trace is which node of the execution trace of the same run.

#include "recording.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace emplace::pytorch {

/// Returns for each node of an execution trace the position of its call in a Kineto trace of the
/// same run, or nothing. They are matched by "Record function id". Where that is missing they are
/// matched by "External id", if it belongs to an operator of the same name, and otherwise by the
/// sequence of their names. Throws kFormat if none of these matches; `source` is the name of the
/// Kineto trace.
std::vector<std::optional<std::size_t>> link_calls(std::span<const TracedNode> nodes,
                                                   const KinetoTrace& trace,
                                                   const std::string& source);

}  // namespace emplace::pytorch
