#pragma once

// What uncertain costs make of a step, as `simulate --replicas` tells it.

#include "options.hpp"
#include "placed_step.hpp"

#include <emplace/base/json.hpp>
#include <emplace/sim/replicas.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace emplace::cli {

/// Says how many replicas to simulate, and what to compare.
struct ReplicaFlags {
  std::int64_t replicas = 0;  ///< 0: none
  std::string against{};      ///< path of a placement file, or empty
};

/// Holds the replicas of a placement, and of another if it is compared.
struct ReplicaReport {
  std::int64_t replicas = 0;
  std::int64_t seed = 0;

  struct Side {
    OpId uncertain_costs = 0;  ///< ops whose cost varies where they are placed
    ReplicaSummary summary{};
  };
  Side side{};

  struct Other {
    std::string path{};
    Side side{};
    ReplicaComparison comparison{};  ///< of the placement with the other
  };
  std::optional<Other> other{};
};

/// Adds --replicas and --against, and lets --seed go with --replicas too. Requires: the options of
/// add_agent_options().
void add_replica_options(CLI::App& command, ReplicaFlags& flags);

/// Simulates the replicas of `step`, a placement of `problem`. Throws Error for a wrong placement
/// file.
ReplicaReport simulate_replicas(const PlacedStep& step, const ProblemOptions& problem,
                                const ReplicaFlags& flags, std::int64_t seed);

/// Says on standard error if no cost varies, and how to give costs a relative deviation.
void note_exact_costs(const ReplicaReport& report);

/// Returns lines for people, to stand under the step time.
std::string to_text(const ReplicaReport& report);

/// Returns a JSON object.
Json to_json(const ReplicaReport& report);

}  // namespace emplace::cli
