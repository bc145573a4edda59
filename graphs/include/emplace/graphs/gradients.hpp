#pragma once

// Derives a training graph from a forward graph: the backward pass by one gradient rule per kind of
// op (reverse-mode differentiation), then one optimizer update per variable.
//
// Memory and devices in the derived graph:
//   - A value that the backward pass needs is an edge from the forward op that made it, so it
//     stays in memory until then, and it is moved if the backward op runs elsewhere.
//   - A variable shares its device with the op that reads it first; other readers are free. The
//     update shares its device with the op that makes the gradient. If the two devices differ, the
//     variable's value crosses once in a step, by the edge from the variable to the backward ops
//     and the update: as many bytes as the gradient would the other way. (One label for all of them
//     would tie the first op of a step to the last, and groups could not form a DAG.)
//   - Gradients of a value used several times are added up by an `add_n` op. It needs all of them
//     at once: for weights that every step of an unrolled network reads, as many copies as steps.
//   - An output that no differentiated op reads has no gradient; it counts as zero.
//   - The gradient of the loss itself is a constant, not an op.

#include <emplace/graphs/op_graph.hpp>
#include <emplace/graphs/optimizer.hpp>

namespace emplace {

/// Returns `forward` with backward and update ops. Requires a validated graph with exactly one
/// loss: an op whose result nothing reads, of kind "softmax_cross_entropy",
/// "sigmoid_cross_entropy", "mean_squared_error" or "add_losses". Throws kFormat if there is no
/// loss, more than one, or no variable upstream of it, or if an op has too few inputs for its rule;
/// throws kUnsupported if kinds of ops on the way from a variable to the loss have no rule, naming
/// all of them with the number of their ops.
OpGraph training_graph(const OpGraph& forward, const Optimizer& optimizer);

}  // namespace emplace
