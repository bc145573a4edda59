#pragma once

// The bottleneck of a step, as `simulate --explain` shows it.

#include "placed_step.hpp"

#include <emplace/sim/explanation.hpp>

#include <string>

namespace emplace::cli {

/// Returns an answer for people: the bottleneck first, then short tables.
std::string to_text(const PlacedStep& step, const Explanation& explanation);

}  // namespace emplace::cli
