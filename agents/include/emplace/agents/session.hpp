#pragma once

// What an agent may use while it places: a budget of evaluations, a random stream, and the best
// placement so far. An evaluation is one simulated step; each is charged to the budget. All results
// of a session depend on its seed alone, never on threads.
//
// Agents minimize Evaluation::objective_us(): the step time, plus 2 s for each 10^9 bytes over the
// capacity of a device (the penalty of Addanki et al. 2019). The penalty guides a search towards
// placements that fit; the best of a session is always one that fits, if there is any. A session
// belongs to one thread; evaluating many placements uses the threads of the present TBB arena.
// Searches that go from one placement to its neighbours evaluate moves (src/move_evaluator.hpp).
//
// A session may have sessions on coarser levels of its problem (src/coarsening/), for agents
// that decide coarsely. They share its budget and its random numbers, and what they evaluate counts
// for it, so its best placement is the best that any of them found.
//
// A search may split a part of its budget among searches that run side by side (run_in_parallel):
// each has a session of its own, so that the result does not depend on the number of threads.
//
// The budget is a number of evaluations, or a time, or both. Agents that spend their budget in
// phases ask for share_used() and read no clock. With a time the results differ from run to run.

#include <emplace/base/id_vector.hpp>
#include <emplace/base/random.hpp>
#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>
#include <emplace/sim/simulator.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace emplace::agents {

class GroupNesting;       // private
class NeighbourhoodPool;  // private

/// How an evaluation ended.
enum class EvaluationStatus : std::uint8_t {
  kOk,
  kOutOfMemory,
  kCutOff,  ///< the step takes as long as the caller's cut-off or longer
  kBudgetSpent,
};

/// The result of one evaluation: the simulation of one step.
struct Evaluation {
  EvaluationStatus status = EvaluationStatus::kBudgetSpent;
  double step_time_us = 0;
  std::int64_t bytes_over = 0;  ///< memory beyond the capacities, summed over devices

  /// Returns what agents minimize; infinity if it was cut off or the budget was spent.
  double objective_us() const;

  /// Returns whether this one is preferred: one that fits before one that does not, then the lower
  /// objective.
  bool better_than(const Evaluation& other) const;
};

/// Returns the evaluation of a simulated step.
Evaluation evaluation_of(const SimResult& result);

/// More details of a simulated step.
struct StepOutline {
  IdVector<GroupId, double> group_start_us{};     ///< when the first op of each group starts
  IdVector<DeviceId, std::int64_t> peak_bytes{};  ///< peak memory of each device
};

/// Gives an agent its budget and its random numbers.
class Session {
 public:
  /// Counts the evaluations between two reports of progress.
  static constexpr std::int64_t kProgressInterval = 128;

  /// Describes a placement that was better than all before it.
  struct Improvement {
    std::int64_t evaluations = 0;  ///< made until it was found
    Evaluation evaluation{};
  };

  /// No limit on evaluations, if time is the budget.
  static constexpr std::int64_t kUnlimited = std::int64_t{1} << 60;

  struct Options {
    std::uint64_t seed = 0;
    std::int64_t max_evaluations = 1000;
    /// Ends the session when it has lasted that long.
    std::optional<std::chrono::duration<double>> max_time{};
    /// Ends the session when a placement that fits takes no longer than this; 0 for never. With a
    /// lower bound as value, that placement is optimal.
    double enough_us = 0;
    /// Whether placements may use devices that are not placeable: for agents that do not respect
    /// them (AgentInfo::respects_placeable).
    bool any_device = false;
    /// Ends the session early when it turns true (Ctrl-C); may be null.
    const std::atomic<bool>* stop = nullptr;
    /// Receives the evaluations done so far about every kProgressInterval; may be empty. One call
    /// at a time, of any thread.
    std::function<void(std::int64_t)> progress{};
    /// Receives improvements as they come, each better than the one before; may be empty. One call
    /// at a time, of any thread. Searches side by side report what is better than all before, with
    /// the evaluations known so far; improvements() counts in the order of the searches.
    std::function<void(const Improvement&)> improved{};
  };

  /// What changes while a session runs, so that it can be saved and resumed.
  struct State {
    RandomStream::State random{};
    std::int64_t evaluations = 0;
    std::int64_t evaluations_to_best = 0;
    std::optional<Placement> best_placement{};
    Evaluation best_evaluation{};
  };

  /// Starts a session. Requires: `problem` outlives it.
  Session(const Problem& problem, Options options);

  /// Starts a session on a coarser level: evaluate() returns exactly what that of `parent` does for
  /// the same devices, and is charged to it. Random numbers, the evaluations so far and those left,
  /// stop and progress are the parent's. The best placement is the best of this level; it starts
  /// with that of the parent if the level can express it. Requires: `level` is the parent's problem
  /// with each group within one group of `level`; both outlive it.
  Session(Session& parent, const Problem& level);
  ~Session();

  /// Returns the present state.
  State state() const;

  /// Continues from the state of a session of the same problem and options. Requires: the best
  /// placement, if there is one, has a device for each group of the problem; no parent. Throws
  /// kUnsupported as evaluate() does.
  void restore(State state);

  /// Evaluates one placement. Returns kBudgetSpent, and simulates nothing, if the session is
  /// exhausted. Requires: a device for each group of the problem. Throws kUnsupported, and counts
  /// nothing, if one of them is not placeable (unless Options::any_device).
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

  /// Counts steps that an agent simulated by itself: heuristics do, where memory is tight.
  /// Requires: no more than evaluations_left().
  void charge(std::int64_t simulations);

  /// Runs `search` for each index below `count` side by side, on the threads of the present TBB
  /// arena, each with a session of its own: the same problem, a random stream and an equal part of
  /// `share` of the budget that is left. What they evaluate counts for this session, in the order
  /// of the indices. The sessions begin without a best placement. The result is the same on any
  /// number of threads. On a coarser level they are of that level.
  void run_in_parallel(std::size_t count, double share,
                       const std::function<void(std::size_t, Session&)>& search);

  /// Returns how many searches can run in parallel in the time of one. 1 if only evaluations are
  /// limited, because the result must not depend on the number of threads.
  std::size_t concurrency() const;

  /// Returns the problem to place.
  const Problem& problem() const { return *problem_; }

  /// Returns the evaluations that are left; 0 if the session was stopped.
  std::int64_t evaluations_left() const;

  /// Returns how much of the budget is used, of evaluations or of time, whichever is more: 0 at the
  /// start, 1 at the end.
  double share_used() const;

  /// Returns the seconds that are left, or nothing if time is not the budget.
  std::optional<double> seconds_left() const;

  /// Returns whether the session was told to stop (Options::stop).
  bool stopped() const;

  /// Returns whether no evaluation is left.
  bool exhausted() const { return evaluations_left() == 0; }

  /// Returns the number of evaluations so far.
  std::int64_t evaluations() const {
    return parent_ == nullptr ? evaluations_ : parent_->evaluations();
  }

  /// Returns the session's random stream.
  RandomStream& random() { return parent_ == nullptr ? random_ : parent_->random(); }

  /// Returns the best placement evaluated so far, the earliest among equals; empty before the
  /// first.
  const std::optional<Placement>& best_placement() const { return best_placement_; }

  /// Returns its evaluation.
  const Evaluation& best_evaluation() const { return best_evaluation_; }

  /// Returns the improvements so far: each is better than the one before, the last is the best. In
  /// a restored session the first is the best one before it was saved.
  const std::vector<Improvement>& improvements() const { return improvements_; }

  /// Returns the number of evaluations until the best was found; 0 before the first.
  std::int64_t evaluations_to_best() const { return evaluations_to_within(0); }

  /// Returns the number of evaluations until a placement was found whose objective is within
  /// `share` of the best one (0.02 for 2 %). If the best fits, so does that placement.
  std::int64_t evaluations_to_within(double share) const;

  /// Records a proof that no placement that fits the placeable devices takes less than `us`
  /// microseconds. The best placement is optimal if it takes no longer.
  void prove_bound(double us) { proven_bound_us_ = std::max(proven_bound_us_, us); }

  /// Returns the largest bound that was proven; 0 if none.
  double proven_bound_us() const { return proven_bound_us_; }

 private:
  friend class MoveEvaluator;  // evaluates moves

  using Clock = std::chrono::steady_clock;

  enum class Reports : std::uint8_t { kNo, kYes };

  Session(const Problem& problem, Options options, std::shared_ptr<NeighbourhoodPool> pool);

  double share_of_time() const;
  void run_in_parallel_on_level(std::size_t count, double share,
                                const std::function<void(std::size_t, Session&)>& search);
  // What a MoveEvaluator needs. A session on a coarser level has the finest session above it.
  Session& finest() { return parent_ == nullptr ? *this : parent_->finest(); }
  GroupId coarse_of(GroupId finest_group) const;
  Placement expand_to_finest(const Placement& placement) const;
  double cutoff_us(double cutoff_us) const;
  void outline_of(const SimResult& result, StepOutline& outline) const;
  void keep_on_levels(const Placement& placement, const Evaluation& evaluation);
  void check(const Placement& placement) const;
  void absorb(const Session& child);
  void record(const Placement& placement, const Evaluation& evaluation);
  void keep_if_best(const Placement& placement, const Evaluation& evaluation,
                    std::int64_t evaluations, Reports reports = Reports::kYes);
  std::vector<Evaluation> evaluate_by_parent(std::span<const Placement> placements,
                                             std::span<StepOutline> outlines);

  const Problem* problem_;
  Session* parent_ = nullptr;                    // of a session on a coarser level
  std::unique_ptr<const GroupNesting> nesting_;  // of the parent's groups
  Options options_;
  RandomStream random_;
  std::shared_ptr<NeighbourhoodPool> pool_;
  Clock::time_point begin_ = Clock::now();
  std::int64_t evaluations_ = 0;
  std::optional<Placement> best_placement_;
  Evaluation best_evaluation_;
  std::vector<Improvement> improvements_;
  double proven_bound_us_ = 0;
};

}  // namespace emplace::agents
