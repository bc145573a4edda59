#include "memory_penalty.hpp"

#include <algorithm>
#include <limits>

namespace emplace::agents {
namespace {

// Factors of one move. Up is four times as fast as down, so that a search stands on placements that
// fit four fifths of the time; 64 moves on others raise the price sixteenfold.
constexpr double kUp = 1.0442737824274138;    // 2^(1/16)
constexpr double kDown = 1.0108892860517004;  // 2^(1/64)
constexpr double kLargestChange = 1 << 20;    // of the first price, up or down

}  // namespace

double MemoryPenalty::objective_us(const Evaluation& evaluation) {
  if (!evaluation.has_step()) {
    return std::numeric_limits<double>::infinity();
  }
  const auto bytes_over = static_cast<double>(evaluation.bytes_over);
  if (bytes_over > 0 && first_us_per_byte_ == 0) {
    first_us_per_byte_ = evaluation.step_time_us / bytes_over;
    us_per_byte_ = first_us_per_byte_;
    us_per_byte_inside_ = first_us_per_byte_;
  }
  return evaluation.step_time_us + us_per_byte_ * bytes_over;
}

void MemoryPenalty::update(const Evaluation& reached) {
  if (reached.status == EvaluationStatus::kOutOfMemory) {
    us_per_byte_ = std::min(us_per_byte_ * kUp, first_us_per_byte_ * kLargestChange);
    moves_outside_ = std::min(moves_outside_ + 1, kLongestExcursion);
  } else if (reached.status == EvaluationStatus::kOk) {
    us_per_byte_ = std::max(us_per_byte_ / kDown, first_us_per_byte_ / kLargestChange);
    us_per_byte_inside_ = us_per_byte_;
    moves_outside_ = 0;
  }
}

void MemoryPenalty::go_back() {
  us_per_byte_ = std::min(2 * us_per_byte_inside_, first_us_per_byte_ * kLargestChange);
  us_per_byte_inside_ = us_per_byte_;
  moves_outside_ = 0;
}

}  // namespace emplace::agents
