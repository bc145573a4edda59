#pragma once

// How the best placement of a search came about: when each improvement was found, and those that
// are worth keeping. A search can improve thousands of times by next to nothing; a curve of the
// best so far needs the steps that can be seen.

#include <emplace/agents/evaluator.hpp>
#include <emplace/bench/cell.hpp>

#include <chrono>
#include <span>
#include <vector>

namespace emplace::bench {

/// Notes the times at which an evaluator improves. Belongs to one evaluator, and starts with it.
class ImprovementClock {
 public:
  /// Notes an improvement as the evaluator reports it; one call at a time.
  void note(const agents::Incumbent::Improvement& improvement);

  /// Returns the improvements that the evaluator lists, with their times.
  std::vector<Improvement> timed(
      std::span<const agents::Incumbent::Improvement> improvements) const;

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::vector<Improvement> noted_;
};

/// Returns the first improvement, the first that fits, the last, and each that lowers the objective
/// by at least `share` of the one returned before it. Requires: each is better than the one before.
std::vector<Improvement> thin_out(std::span<const Improvement> improvements, double share);

}  // namespace emplace::bench
