#pragma once

// Baselines of REINFORCE (Williams 1992; Sutton, Barto 2018, section 13.4): a number that does not
// depend on the action is subtracted from its return, which keeps the gradient's expectation and
// lowers its variance. What remains is the advantage.

#include <emplace/base/json_cursor.hpp>

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace emplace::agents::policy_gradient {

/// Keeps an exponential moving average of costs.
class MovingBaseline {
 public:
  /// Returns the average before this mean cost, and then adds it to the average. The first mean is
  /// its own average.
  double before(double mean);

  /// Returns the average as a JSON array, empty before the first.
  std::string to_json() const;

  /// Restores what to_json() wrote, the same bits; throws kFormat if it is something else.
  void load(const JsonCursor& json);

 private:
  std::optional<double> average_;
};

/// Averages the returns at each step over the last episodes.
class StepBaseline {
 public:
  explicit StepBaseline(std::size_t episodes) : episodes_(episodes) {}

  /// Adds the returns of `workers` parallel episodes (step by step, worker by worker), and
  /// subtracts from them the mean at each step, these returns included.
  void subtract_from(std::vector<double>& returns, std::size_t workers);

  /// Returns the means of the last episodes as a JSON array of arrays.
  std::string to_json() const;

  /// Restores what to_json() wrote for episodes of `steps`, the same bits; throws kFormat if it is
  /// something else.
  void load(const JsonCursor& json, std::size_t steps);

 private:
  std::size_t episodes_;
  std::deque<std::vector<double>> means_;  // over workers, by step
};

}  // namespace emplace::agents::policy_gradient
