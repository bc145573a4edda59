#pragma once

// What an agent may use while it places: a budget of evaluations, a random stream, and the best
// placement so far. An evaluation is one simulated step; each is charged to the budget. All results
// of a session depend on its seed alone, never on threads.
//
// Agents minimize Evaluation::objective_us(): the step time, plus 2 s for each 10^9 bytes over the
// capacity of a device (the penalty of Addanki et al. 2019). The penalty guides a search towards
// placements that fit; the best of a session is always one that fits, if there is any. A session
// belongs to one thread; evaluating many placements uses the threads of the present TBB arena.

#include <emplace/graphs/id_vector.hpp>
#include <emplace/graphs/random.hpp>
#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>
#include <emplace/sim/simulator.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace emplace::agents {

/// Says how an evaluation ended.
enum class EvaluationStatus : std::uint8_t { kOk, kOutOfMemory, kBudgetSpent };

/// Holds the result of one evaluation: the simulation of one step.
struct Evaluation {
  EvaluationStatus status = EvaluationStatus::kBudgetSpent;
  double step_time_us = 0;
  std::int64_t bytes_over = 0;  ///< memory beyond the capacities, summed over devices

  /// Returns what agents minimize; infinity if the budget was spent.
  double objective_us() const;

  /// Says whether this one is preferred: one that fits before one that does not, then the lower
  /// objective.
  bool better_than(const Evaluation& other) const;
};

/// Holds more details of a simulated step.
struct StepOutline {
  IdVector<GroupId, double> group_start_us{};     ///< when the first op of each group starts
  IdVector<DeviceId, std::int64_t> peak_bytes{};  ///< peak memory of each device
};

/// Gives an agent its budget and its randomness.
class Session {
 public:
  /// Counts the evaluations between two reports of progress.
  static constexpr std::int64_t kProgressInterval = 128;

  struct Options {
    std::uint64_t seed = 0;
    std::int64_t max_evaluations = 1000;
    /// Ends the session early when it turns true (Ctrl-C); may be null.
    const std::atomic<bool>* stop = nullptr;
    /// Receives the evaluations done so far at each multiple of kProgressInterval; may be empty.
    std::function<void(std::int64_t)> progress{};
  };

  /// Holds what changes while a session runs, so that it can be saved and resumed.
  struct State {
    RandomStream::State random{};
    std::int64_t evaluations = 0;
    std::int64_t evaluations_to_best = 0;
    std::optional<Placement> best_placement{};
    Evaluation best_evaluation{};
  };

  /// Starts a session. Requires: `problem` outlives it.
  Session(const Problem& problem, Options options);
  ~Session();

  /// Returns the present state.
  State state() const;

  /// Continues from the state of a session of the same problem and options. Requires: the best
  /// placement, if there is one, has a device of the problem for each of its groups.
  void restore(State state);

  /// Evaluates one placement. Returns kBudgetSpent, and simulates nothing, if the session is
  /// exhausted. Requires: a device of the problem for each of its groups.
  Evaluation evaluate(const Placement& placement);

  /// Evaluates many in parallel and counts them in the order given; those beyond the budget are
  /// kBudgetSpent. The result is the same on any number of threads.
  std::vector<Evaluation> evaluate(std::span<const Placement> placements) {
    return evaluate(placements, {});
  }

  /// Does the same, and sets the outline of each step within the budget. Requires: as many outlines
  /// as placements, or none.
  std::vector<Evaluation> evaluate(std::span<const Placement> placements,
                                   std::span<StepOutline> outlines);

  /// Returns the problem to place.
  const Problem& problem() const { return *problem_; }

  /// Returns the evaluations that are left; 0 if the session was stopped.
  std::int64_t evaluations_left() const;

  /// Says whether no evaluation is left.
  bool exhausted() const { return evaluations_left() == 0; }

  /// Returns the number of evaluations so far.
  std::int64_t evaluations() const { return evaluations_; }

  /// Returns the session's random stream.
  RandomStream& random() { return random_; }

  /// Returns the best placement evaluated so far, the earliest among equals; empty before the
  /// first.
  const std::optional<Placement>& best_placement() const { return best_placement_; }

  /// Returns its evaluation.
  const Evaluation& best_evaluation() const { return best_evaluation_; }

  /// Describes a placement that was better than all before it.
  struct Improvement {
    std::int64_t evaluations = 0;  ///< made until it was found
    Evaluation evaluation{};
  };

  /// Returns the improvements so far: each is better than the one before, the last is the best. In
  /// a restored session the first is the best one before it was saved.
  const std::vector<Improvement>& improvements() const { return improvements_; }

  /// Returns the number of evaluations until the best was found; 0 before the first.
  std::int64_t evaluations_to_best() const { return evaluations_to_within(0); }

  /// Returns the number of evaluations until a placement was found whose objective is within
  /// `share` of the best one (0.02 for 2 %). Where the best fits, so does that placement.
  std::int64_t evaluations_to_within(double share) const;

  /// Records a proof that no placement which fits the placeable devices takes less than `us`
  /// microseconds. The best placement is optimal where it takes no longer.
  void prove_bound(double us) { proven_bound_us_ = std::max(proven_bound_us_, us); }

  /// Returns the largest bound that was proven; 0 if none.
  double proven_bound_us() const { return proven_bound_us_; }

 private:
  struct Workspaces;  // a simulator for each thread

  void record(const Placement& placement, const Evaluation& evaluation);

  const Problem* problem_;
  Options options_;
  RandomStream random_;
  std::unique_ptr<Workspaces> workspaces_;
  std::int64_t evaluations_ = 0;
  std::optional<Placement> best_placement_;
  Evaluation best_evaluation_;
  std::vector<Improvement> improvements_;
  double proven_bound_us_ = 0;
};

}  // namespace emplace::agents
