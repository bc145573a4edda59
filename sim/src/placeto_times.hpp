#pragma once

// When things happened in a step under the rules of the `placeto` engine: what a full run and a
// replay both write, and the little that both compute.

#include <emplace/sim/problem.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace emplace {

/// Holds the times of a run. Behind the last output there is one that nobody reads.
struct PlacetoTimes {
  static constexpr double kNotSent = -1.0;
  static constexpr std::int32_t kNone = -1;

  /// Makes room for the times of one problem.
  explicit PlacetoTimes(const Problem& problem);

  PlacetoTimes(const PlacetoTimes&) = delete;
  PlacetoTimes& operator=(const PlacetoTimes&) = delete;

  /// Returns when an op that starts and costs as given lets go of its inputs (rule 14).
  static double last_use_us(double start_us, double cost_us) {
    return whole(start_us) + whole(cost_us) - 1;
  }

  /// Returns the output that all consumers of `op` read; the one behind the last if it has no
  /// consumers, and kNone if they read several.
  static std::int32_t only_output(const Problem& problem, OpId op);

  /// Sends each output of `op` that a consumer wants for which `is_elsewhere(consumer)` holds, once
  /// and in the order of first mention (rule 8). Takes and returns when the channel is free.
  template <class IsElsewhere>
  double send(const Problem& problem, OpId op, double channel_free_us,
              const IsElsewhere& is_elsewhere);

  std::vector<double> start_us;           ///< by op
  std::vector<double> known_us;           ///< end_us, then transfer_end_us, then a zero
  std::span<double> end_us;               ///< by op
  std::span<double> transfer_end_us;      ///< by output
  std::vector<double> transfer_start_us;  ///< by output
  std::vector<double> last_uses_us;       ///< by op: last_use_us(); behind the last, of nobody
  std::vector<OpId> turns;                ///< all ops in the order in which they took their turns

  std::vector<double> transfer_us;  ///< by output: how long it takes; behind the last, any time
  double gap_after_transfer_us;

 private:
  static double whole(double us) { return static_cast<double>(static_cast<std::int64_t>(us)); }
};

template <class IsElsewhere>
double PlacetoTimes::send(const Problem& problem, OpId op, double channel_free_us,
                          const IsElsewhere& is_elsewhere) {
  const auto [first, last] = problem.outputs(op);
  for (auto output = static_cast<std::size_t>(first); output < static_cast<std::size_t>(last);
       ++output) {
    transfer_start_us[output] = transfer_end_us[output] = kNotSent;
  }
  for (const Problem::Child& child : problem.children(op)) {
    const auto output = static_cast<std::size_t>(child.output);
    if (is_elsewhere(child.op) && transfer_start_us[output] == kNotSent) {
      transfer_start_us[output] = std::max(channel_free_us, end_us[static_cast<std::size_t>(op)]);
      transfer_end_us[output] = transfer_start_us[output] + transfer_us[output];
      channel_free_us = transfer_end_us[output] + gap_after_transfer_us;
    }
  }
  return channel_free_us;
}

}  // namespace emplace
