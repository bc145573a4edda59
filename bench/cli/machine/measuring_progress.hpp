#pragma once

// A line at the terminal that says how far measuring is: a bar, the share that is done, about how
// long the rest of the stage takes, and what is measured now.

#include "terminal.hpp"

#include <emplace/calibrate/sampling.hpp>

#include <chrono>

namespace emplace::cli {

/// Shows the progress of one stage after the other; a stage begins where less is done than before.
class MeasuringProgress {
 public:
  /// Shows a note.
  void show(const calibrate::ProgressNote& note);

  /// Clears the line.
  void clear() { line_.show(""); }

 private:
  using Clock = std::chrono::steady_clock;

  Clock::time_point begin_ = Clock::now();
  double done_ = 0;
  ProgressLine line_;
};

}  // namespace emplace::cli
