#pragma once

// The work of PyTorch's operators, from the shapes of their tensors.
//
// FLOPs of a product of matrices are 2 M N K. Those of the others are of the products within them:
//     convolution              2 x results x filter's numbers for one result
//     its transpose            2 x inputs x filter's numbers for one input
//     gradients of either      that of the convolution for each of maps and filters
//     attention                2 B H Sq Sk (E + Ev); its gradients 2 B H Sq Sk (3 E + 2 Ev), as the
//                              fused kernels compute the scores again
//     LSTM, GRU, RNN           2 x rows of the input x numbers of all weight matrices; gradients
//                              twice that
// One pass over the data is 1 for each number of the result. Everything else has none.

#include "pytorch_trace.hpp"

#include <emplace/graphs/op.hpp>

namespace emplace::pytorch {

/// Sets FLOPs, shape and, where it depends on shapes, kind of the op that `node` is. An operator
/// without a rule, or whose shapes were not recorded, has no FLOPs. Throws kUsage if a size does
/// not fit 64 bits.
void count_work(Op& op, const TracedNode& node);

/// Adds the result to a node of which only the inputs were recorded, if they and the settings tell
/// its shape: of products, convolutions and passes over the data.
void infer_result(TracedNode& node);

}  // namespace emplace::pytorch
