#pragma once

// Problems so small that all placements can be tried.

#include "support/machines.hpp"

#include <emplace/profiles/cluster.hpp>
#include <emplace/sim/problem.hpp>

#include <cstdint>
#include <functional>

namespace emplace::test {

/// Draws a problem with at most `max_placements` placements: up to 12 ops, each a group of its own
/// or with its neighbours, on 1 to 8 devices of one profile or two, by the rules of `model`.
/// `below(n)` is an integer in [0, n).
Problem draw_small_problem(const std::function<std::uint64_t(std::uint64_t)>& below,
                           TransferModel model, double max_placements);

/// Calls `visit` with every placement on placeable devices.
void for_each_placement(const Problem& problem, const std::function<void(const Placement&)>& visit);

}  // namespace emplace::test
