#pragma once

// What a search minimizes where memory is tight: the step time, and a price for each byte that does
// not fit,
//     L(evaluation) = step time + price * bytes over.
// A fixed price is too low for some problems, whose searches end out of memory, and too high for
// others, whose searches cannot cross from one feasible region to the next. So the price is a
// multiplier that adapts, as in augmented Lagrangian methods: each move that leaves the search on a
// placement that does not fit raises it, each other move lowers it. The search then goes back and
// forth over the border of what fits, near which the good placements are (strategic oscillation;
// Gendreau, Hertz, Laporte, Management Science 40(10), 1994). Where all fits, L is the step time.
//
// Where memory is tight, chance alone seldom finds the way back, whatever the price: it rises
// without end, and its level is lost. So a search that has been out of memory for many moves
// is_lost(). It shall go back to where it left what fits, where a byte then costs twice as much as
// before.
//
// No parameter has a unit: the price begins where the first overflow that is seen costs as much as
// its step takes. One thread.

#include <emplace/agents/evaluation.hpp>

namespace emplace::agents {

/// Holds the present price of a byte; see the head of this file.
class MemoryPenalty {
 public:
  /// Moves after which a search that is out of memory is lost.
  static constexpr int kLongestExcursion = 64;

  /// Returns what the search minimizes, in microseconds at the present price; infinity if the
  /// budget was spent. Compare two evaluations without an update() in between.
  double objective_us(const Evaluation& evaluation);

  /// Adapts the price after a move that left the search on a placement with this evaluation.
  void update(const Evaluation& reached);

  /// Says whether the last kLongestExcursion moves or more have left the search out of memory.
  bool is_lost() const { return moves_outside_ >= kLongestExcursion; }

  /// Sets the price to twice that of the last move that ended on what fits (or of the first
  /// overflow), when the search goes back there.
  void go_back();

  /// Returns the price; 0 while everything has fitted.
  double us_per_byte() const { return us_per_byte_; }

 private:
  double first_us_per_byte_ = 0;
  double us_per_byte_ = 0;
  double us_per_byte_inside_ = 0;  // after the last move that ended on what fits
  int moves_outside_ = 0;          // since then
};

}  // namespace emplace::agents
