#pragma once

// Graphs as tests compare them.

#include <emplace/graphs/op_graph.hpp>

namespace emplace::test {

/// Returns an op in which no field has its default value.
Op full_op();

/// Expects two graphs to be equal in every field, and in the order of edges at their consumers, at
/// their producers and in all.
void expect_equal(const OpGraph& a, const OpGraph& b);

}  // namespace emplace::test
