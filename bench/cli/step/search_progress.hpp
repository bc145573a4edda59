#pragma once

// A line at the terminal that says how far the search of an agent is.

#include "terminal.hpp"

#include <emplace/agents/evaluator.hpp>
#include <emplace/bench/executor.hpp>

#include <chrono>
#include <cstdint>
#include <optional>

namespace emplace::cli {

/// Shows evaluations, the best step time and how far it is above the lower bound.
class SearchProgress {
 public:
  /// Starts the line for a problem of so many steps whose lower bound is `bound_us`, in
  /// microseconds.
  explicit SearchProgress(double bound_us, std::int64_t steps = 1)
      : bound_us_(bound_us), steps_(steps) {}

  /// Returns what shows the progress of a cell, which ends at the bound or, if there is one, at the
  /// time limit. Requires: this outlives the cell.
  bench::CellWatch watch(std::optional<double> time_limit_s);

 private:
  using Clock = std::chrono::steady_clock;

  void show();

  double bound_us_;
  std::int64_t steps_;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point shown_{};
  std::int64_t evaluations_ = 0;
  agents::Evaluation best_{};
  ProgressLine line_;
};

}  // namespace emplace::cli
