#pragma once

// What uncertain costs make of a step, as `simulate --draws` tells it.

#include "options.hpp"
#include "placed_step.hpp"

#include <emplace/base/json.hpp>
#include <emplace/sim/draws.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace emplace::cli {

/// Says how many draws to simulate, and what to compare.
struct DrawFlags {
  std::int64_t draws = 0;  ///< 0: none
  std::string against{};   ///< path of a placement file, or empty
};

/// Holds the draws of a placement, and of another if it is compared.
struct DrawReport {
  std::int64_t draws = 0;
  std::int64_t seed = 0;

  struct Side {
    OpId uncertain_costs = 0;  ///< ops whose cost varies where they are placed
    DrawSummary summary{};
  };
  Side side{};

  struct Other {
    std::string path{};
    Side side{};
    DrawComparison comparison{};  ///< of the placement with the other
  };
  std::optional<Other> other{};
};

/// Adds --draws and --against, and lets --seed go with --draws too. Requires: the options of
/// add_agent_options().
void add_draw_options(CLI::App& command, DrawFlags& flags);

/// Simulates the draws of `step`, a placement of `problem`. Throws Error for a wrong placement
/// file.
DrawReport simulate_draws(const PlacedStep& step, const ProblemOptions& problem,
                          const DrawFlags& flags, std::int64_t seed);

/// Says on standard error if no cost varies, and how to give costs a relative deviation.
void note_exact_costs(const DrawReport& report);

/// Returns lines for people, to stand under the step time.
std::string to_text(const DrawReport& report);

/// Returns a JSON object.
Json to_json(const DrawReport& report);

}  // namespace emplace::cli
