#pragma once

// PyTorch's operators in traces as the library of operators has them. A trace has the shapes of
// tensors, and of the attributes only those that are lists of integers.

#include "pytorch_trace.hpp"

#include <emplace/graphs/op.hpp>

namespace emplace::pytorch {

/// Sets what the library says of the op that `node` is. An operator that the library does not have,
/// or whose shapes were not recorded or do not fit, has no FLOPs. Throws kUsage if a size does not
/// fit 64 bits.
void count_work(Op& op, const TracedNode& node);

/// Adds the result to a node of which only the inputs were recorded, if they and the settings tell
/// its shape: of products, convolutions, normalizations and what treats each number by itself.
void infer_result(TracedNode& node);

}  // namespace emplace::pytorch
