#pragma once

// What executors do with cells of a suite, wherever they run.

#include <emplace/bench/executor.hpp>

#include <atomic>
#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace emplace::bench {

/// Runs one cell, and simulates its placement where costs are drawn anew (CellResult::draws_us).
/// Throws as run_cell() does.
CellResult run_suite_cell(const Cell& cell, const ProblemSet& problems, const Policies& policies,
                          const std::atomic<bool>& stop);

/// Returns what the machine lacked if `error` is a fault of the machine, as run_cell() throws them.
std::optional<std::string> machine_fault(const std::exception_ptr& error);

/// Runs cells again that the machine could not run, one after the other: what they lacked may have
/// been taken by the cells beside them. Returns those for which that did not help; see
/// Executor::run_cells() for the rest.
std::vector<CellFault> run_alone(std::vector<CellFault> faults, const ProblemSet& problems,
                                 const Policies& policies, const std::atomic<bool>& stop,
                                 const std::function<void(const CellResult&)>& sink);

/// Returns the work of each cell (suite_costs.hpp).
std::vector<double> work_of(std::span<const Cell> cells, const ProblemSet& problems);

/// Returns the cells in the order in which they should start: those of most work come first, so
/// that the last thread does not run alone for long.
std::vector<const Cell*> longest_first(std::span<const Cell> cells, const ProblemSet& problems);

}  // namespace emplace::bench
