#pragma once

// What uncertain costs make of a step, as `simulate --draws` tells it.

#include "options.hpp"
#include "placed_step.hpp"

#include <emplace/base/json.hpp>
#include <emplace/sim/draws.hpp>

#include <cstdint>
#include <string>

namespace emplace::cli {

/// Holds the draws of a placement.
struct DrawReport {
  std::int64_t draws = 0;
  std::int64_t seed = 0;
  OpId uncertain_costs = 0;  ///< ops whose cost varies where they are placed
  DrawSummary summary{};
};

/// Adds --draws, into `draws`.
CLI::Option* add_draws(CLI::App& command, std::int64_t& draws);

/// Simulates the draws of `step`.
DrawReport simulate_draws(const PlacedStep& step, std::int64_t draws, std::int64_t seed);

/// Says on standard error that no cost varies, and how to give costs a relative deviation.
void note_exact_costs();

/// Returns lines for people, to stand under the step time.
std::string to_text(const DrawReport& report);

/// Returns a JSON object.
Json to_json(const DrawReport& report);

}  // namespace emplace::cli
