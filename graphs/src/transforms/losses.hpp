#pragma once

// Which ops are what a step makes small.

#include <emplace/graphs/op_graph.hpp>

#include <array>
#include <string_view>

namespace emplace {

/// Kinds whose first output, a scalar, a step makes small.
inline constexpr std::array<std::string_view, 4> kLosses = {
    "add_losses", "mean_squared_error", "sigmoid_cross_entropy", "softmax_cross_entropy"};

/// Says whether `op` is of such a kind, and nothing reads that output.
bool is_loss(const OpGraph& graph, OpId op);

}  // namespace emplace
