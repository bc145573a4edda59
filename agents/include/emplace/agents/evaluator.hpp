#pragma once

// What an agent may use while it places: simulated steps, a budget for them, a random stream, and
// the best placement so far. An evaluation is one simulated step; each is charged to the budget.
// All results depend on the seed alone, never on threads.
//
// What is simulated keeps the constraints of the problem, whatever an agent asks for
// (Problem::constrain): pinned groups stay, and tied ones move together.
//
// An evaluator belongs to one thread; evaluating many placements uses the threads of the present
// TBB arena. Searches that go from one placement to its neighbours evaluate moves
// (move_evaluator.hpp).
//
// An evaluator may have others on coarser levels of its problem, for agents
// that decide coarsely. They share its budget and its random numbers, and what they evaluate counts
// for it, so its incumbent is the best that any of them found.
//
// A search may split a part of its budget among searches that run side by side (run_in_parallel):
// each has an evaluator of its own, so that the result does not depend on the number of threads.

#include <emplace/agents/budget.hpp>
#include <emplace/agents/evaluation.hpp>
#include <emplace/agents/incumbent.hpp>
#include <emplace/base/random.hpp>
#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace emplace::agents {

class GroupNesting;       // private
class NeighbourhoodPool;  // private

/// Simulates the steps of placements within a budget.
class Evaluator {
 public:
  /// Counts the evaluations between two reports of progress.
  static constexpr std::int64_t kProgressInterval = 128;

  struct Options {
    std::uint64_t seed = 0;
    Budget::Limits budget{};
    /// Ends the budget when a placement that fits takes no longer than this; 0 for never. With a
    /// lower bound as value, that placement is optimal.
    double enough_us = 0;
    /// Whether placements may use devices that are not placeable: for agents that do not respect
    /// them (AgentInfo::respects_placeable).
    bool any_device = false;
    /// Receives the evaluations done so far about every kProgressInterval; may be empty. One call
    /// at a time, of any thread.
    std::function<void(std::int64_t)> progress{};
    /// Receives improvements as they come, each better than the one before; may be empty. One call
    /// at a time, of any thread. Searches side by side report what is better than all before, with
    /// the evaluations known so far; the incumbent counts in the order of the searches.
    std::function<void(const Incumbent::Improvement&)> improved{};
  };

  /// What changes during a search, so that it can be saved and resumed.
  struct State {
    RandomStream::State random{};
    std::int64_t evaluations = 0;
    std::int64_t evaluations_to_best = 0;
    std::optional<Placement> best_placement{};
    Evaluation best_evaluation{};
  };

  /// Requires: `problem` outlives it.
  Evaluator(const Problem& problem, Options options);

  /// Makes one on a coarser level: evaluate() returns exactly what that of `finer` does for the
  /// same devices. The budget, the random numbers and the progress are those of `finer`. The
  /// incumbent is the best of this level; it starts with that of `finer` if the level can express
  /// it. Requires: `level` is the problem of `finer` with each group within one group of `level`;
  /// both outlive it.
  Evaluator(Evaluator& finer, const Problem& level);
  ~Evaluator();

  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  /// Evaluates one placement. Returns kBudgetSpent, and simulates nothing, if the budget is
  /// exhausted. Requires: a device for each group of the problem. Throws kUnsupported, and counts
  /// nothing, if the incumbent refuses it (Incumbent::check).
  Evaluation evaluate(const Placement& placement);

  /// Evaluates many in parallel and counts them in the order given; those beyond the budget are
  /// kBudgetSpent. The result is the same on any number of threads. Sets the outline of each step
  /// within the budget. Requires: as many outlines as placements, or none.
  std::vector<Evaluation> evaluate(std::span<const Placement> placements,
                                   std::span<StepOutline> outlines = {});

  /// Runs `search` for each index below `count` side by side, on the threads of the present TBB
  /// arena, each with an evaluator of its own: the same problem, a random stream and an equal part
  /// of `share` of the budget that is left. What they evaluate counts for this one, in the order of
  /// the indices. They begin without an incumbent. The result is the same on any number of threads.
  void run_in_parallel(std::size_t count, double share,
                       const std::function<void(std::size_t, Evaluator&)>& search);

  /// Returns the problem to place.
  const Problem& problem() const { return *problem_; }

  Budget& budget();
  const Budget& budget() const;

  /// Returns the random stream.
  RandomStream& random();

  /// Returns the best placement evaluated so far and its history.
  const Incumbent& incumbent() const { return incumbent_; }

  /// Records a proof (Incumbent::prove_bound).
  void prove_bound(double us) { incumbent_.prove_bound(us); }

  /// Returns the present state. Requires: no coarser level.
  State state() const;

  /// Continues from the state of an evaluator of the same problem and options. Requires: the best
  /// placement, if there is one, has a device for each group; no coarser level. Throws kUnsupported
  /// as evaluate() does.
  void restore(const State& state);

 private:
  friend class MoveEvaluator;

  struct Shared;  // by an evaluator and those on coarser levels

  Evaluator(const Problem& problem, Options options, std::shared_ptr<NeighbourhoodPool> pool);

  NeighbourhoodPool& pool();
  bool is_finest() const { return this == &finest_; }
  Placement constrained(Placement placement) const;
  Placement expanded(const Placement& placement) const;
  double cutoff_us(double cutoff_us) const;
  void outline_of(const SimResult& result, StepOutline& outline) const;
  void record(const Placement& finest, const Evaluation& evaluation);
  void keep_if_best(const Placement& placement, const Evaluation& evaluation,
                    std::int64_t evaluations);
  void absorb(const Evaluator& child);
  void end_if_enough();

  const Problem* problem_;
  Evaluator* finer_ = nullptr;  // of one on a coarser level
  Evaluator& finest_;           // below all levels
  std::shared_ptr<Shared> shared_;
  std::unique_ptr<const GroupNesting> nesting_;  // of the finest groups, on a coarser level
  Incumbent incumbent_;
};

}  // namespace emplace::agents
