#pragma once

// Activation checkpointing (Chen et al. 2016, arXiv 1604.06174; torch.utils.checkpoint): the
// backward pass of a scope runs the forward ops of the scope again instead of reading what they
// made, so that a step keeps only what enters and leaves the scope: memory for time.

#include <emplace/base/params.hpp>
#include <emplace/graphs/op_graph.hpp>

#include <string>

namespace emplace {

/// Returns the training step `step` with recomputation in the scopes that `scopes` names: "none",
/// "all" (the first part of each path), or a pattern that paths match, such as "layer_*", where *
/// is any text without a slash; of scopes within each other, the outermost that matches. For the
/// ops of such a scope whose results its backward pass reads, and nothing outside, the copy
/// `op/recompute` runs once the gradients from outside are there, and the backward pass reads what
/// it makes. Copies have no colocation label, so agents may place them elsewhere. The scope of the
/// loss keeps its results: its backward pass follows at once. Throws kUsage if no scope has such a
/// name, with those that exist. O(scopes (ops + edges)). Requires: a valid graph.
OpGraph recompute(OpGraph step, const std::string& scopes);

/// Returns the parameter `recompute` of a graph: such scopes, none by default.
ParamSpec recompute_parameter();

}  // namespace emplace
