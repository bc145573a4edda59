#include "measuring_progress.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string>

namespace emplace::cli {
namespace {

constexpr int kBarWidth = 20;
// Before so much is done, the rest cannot be told from it.
constexpr double kLeastDone = 0.01;

// "3 min 20 s", "45 s".
std::string duration_text(double seconds) {
  const auto whole = static_cast<long long>(std::ceil(seconds));
  return whole < 60 ? fmt::format("{} s", whole)
                    : fmt::format("{} min {} s", whole / 60, whole % 60);
}

}  // namespace

void MeasuringProgress::show(const calibrate::ProgressNote& note) {
  if (note.done == 0 || note.done < done_) {
    begin_ = Clock::now();
  }
  done_ = note.done;
  const auto filled = static_cast<int>(done_ * kBarWidth);
  std::string text = fmt::format("[{:#<{}}{:.<{}}] {:2.0f} %", "", filled, "", kBarWidth - filled,
                                 std::floor(100 * done_));
  if (done_ >= kLeastDone) {
    const double passed_s = std::chrono::duration<double>(Clock::now() - begin_).count();
    text += fmt::format(", {} left", duration_text(passed_s * (1 - done_) / done_));
  }
  line_.show(fmt::format("{}  {}", text, note.what));
}

}  // namespace emplace::cli
