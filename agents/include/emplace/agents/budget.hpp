#pragma once

// How much an agent may search: a number of evaluations, or a time, or both. Agents that spend
// their budget in phases ask for share_used() and read no clock. With a time the results differ
// from run to run.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace emplace::agents {

/// Counts evaluations and time; the time runs from its construction.
class Budget {
 public:
  /// No limit on evaluations, if time is the budget.
  static constexpr std::int64_t kUnlimited = std::int64_t{1} << 60;

  struct Limits {
    std::int64_t max_evaluations = 1000;
    std::optional<std::chrono::duration<double>> max_time{};
    /// Ends the budget early when it turns true (Ctrl-C); may be null.
    const std::atomic<bool>* stop = nullptr;
  };

  explicit Budget(const Limits& limits) : limits_(limits) {}

  /// Counts evaluations: those of an Evaluator, or steps that an agent simulated by itself, as
  /// heuristics do where memory is tight. Requires: no more than evaluations_left().
  void charge(std::int64_t evaluations) { evaluations_ += evaluations; }

  /// Returns the number of evaluations so far.
  std::int64_t evaluations() const { return evaluations_; }

  /// Returns the evaluations that are left; 0 if the budget has ended or was stopped.
  std::int64_t evaluations_left() const;

  /// Returns whether no evaluation is left.
  bool exhausted() const { return evaluations_left() == 0; }

  /// Returns how much is used, of evaluations or of time, whichever is more: 0 at the start, 1 at
  /// the end.
  double share_used() const;

  /// Returns the seconds that are left, or nothing if time is not limited.
  std::optional<double> seconds_left() const;

  /// Returns whether it was told to stop (Limits::stop).
  bool stopped() const;

  /// Leaves no evaluations.
  void end() { has_ended_ = true; }

  /// Returns how many searches can run in parallel in the time of one. 1 if only evaluations are
  /// limited, because the result must not depend on the number of threads.
  std::size_t concurrency() const;

  /// Returns the limits of each of `count` searches that share the part `share` of what is left
  /// and run on the threads of the present TBB arena.
  Limits split(std::size_t count, double share) const;

 private:
  using Clock = std::chrono::steady_clock;

  double share_of_time() const;

  Limits limits_;
  Clock::time_point begin_ = Clock::now();
  std::int64_t evaluations_ = 0;
  bool has_ended_ = false;
};

}  // namespace emplace::agents
