#pragma once

// Which of the operators of a trace are ops. Operators call each other, so they are a tree.
//
// At the outermost level an op is an operator that no other calls. At the innermost level an
// operator is split into those that it calls if they do its work: if one of them does as much to
// numbers as it does itself (AtenRole), if they have at least half of the FLOPs that its own shapes
// tell (passes over the data aside), and if it launched no kernel by itself. So aten::linear is an
// aten::addmm, but aten::mkldnn_convolution, which only calls aten::empty, is an op.

#include "pytorch_trace.hpp"

#include <emplace/graphs/op.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace emplace::pytorch {

/// Says which operators are ops.
enum class Level : std::uint8_t { kOutermost, kInnermost };

/// Returns the level called `name`. Requires: it is "outermost" or "innermost".
Level level_of(std::string_view name);

/// What a trace's tree of calls tells of each node, by its position.
struct Calls {
  std::vector<std::optional<std::size_t>> owner{};  ///< the op that it belongs to; itself if an op
  std::vector<std::vector<std::size_t>> callees{};  ///< all nodes within an op, in order
  std::vector<Phase> phase{};                       ///< by the scopes of autograd and optimizers
  std::vector<std::string> scope{};                 ///< path of the record_function scopes
  std::vector<Op> work{};                           ///< kind, shape and FLOPs
};

/// Finds the ops of `nodes`, whose parents stand before them and are given by position. An operator
/// whose shapes tell no FLOPs has those of its callees. `launched` says which nodes launched
/// kernels by themselves (empty: none). Throws kUsage if a size does not fit 64 bits.
Calls find_ops(std::span<const TracedNode> nodes,
               std::span<const std::optional<std::size_t>> parents, Level level,
               const std::vector<bool>& launched);

}  // namespace emplace::pytorch
