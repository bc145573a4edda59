#pragma once

// The bottleneck of a step, as `explain` tells it.

#include "placed_step.hpp"

#include <emplace/sim/explanation.hpp>

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace emplace::cli {

/// Returns an answer for people: the bottleneck first, then short tables.
std::string to_text(const PlacedStep& step, const Explanation& explanation);

/// Returns a JSON answer, schema_version first.
nlohmann::ordered_json to_json(const PlacedStep& step, const Explanation& explanation);

}  // namespace emplace::cli
