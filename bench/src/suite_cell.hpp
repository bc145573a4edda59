#pragma once

// What executors do with cells of a suite, wherever they run.

#include <emplace/bench/executor.hpp>

#include <atomic>
#include <span>
#include <vector>

namespace emplace::bench {

/// Runs one cell, and simulates its placement where costs are drawn anew (CellResult::replicas_us).
CellResult run_suite_cell(const Cell& cell, const ProblemSet& problems, const Policies& policies,
                          const std::atomic<bool>& stop);

/// Returns the cells in the order in which they should start: those that use their whole budget
/// come first, so that the last thread does not run alone for long.
std::vector<const Cell*> longest_first(std::span<const Cell> cells);

}  // namespace emplace::bench
