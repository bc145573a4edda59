#include "search_progress.hpp"

#include <emplace/base/counted.hpp>
#include <emplace/sim/bounds.hpp>

#include <fmt/format.h>

namespace emplace::cli {
namespace {

constexpr auto kInterval = std::chrono::milliseconds(100);

}  // namespace

bench::CellWatch SearchProgress::watch(std::optional<double> time_limit_s) {
  bench::CellWatch watch{.ends_at_bound = true,
                         .progress =
                             [this](std::int64_t evaluations) {
                               evaluations_ = evaluations;
                               show();
                             },
                         .improved =
                             [this](const agents::Incumbent::Improvement& improvement) {
                               best_ = improvement.evaluation;
                               show();
                             }};
  if (time_limit_s) {
    watch.max_time = std::chrono::duration<double>(*time_limit_s);
  }
  return watch;
}

void SearchProgress::show() {
  const Clock::time_point now = Clock::now();
  if (now < shown_ + kInterval) {
    return;
  }
  shown_ = now;
  line_.show(fmt::format(
      "{:.1f} s, {}, best {}{:.3f} ms{}", std::chrono::duration<double>(now - begin_).count(),
      counted(evaluations_, "evaluation"), steps_ == 1 ? "" : counted(steps_, "step") + " in ",
      best_.step_time_us / 1e3,
      best_.status == agents::EvaluationStatus::kOk
          ? fmt::format(", {:.1f} % above the lower bound",
                        100 * gap_to_bound(best_.step_time_us, bound_us_))
          : " (out of memory)"));
}

}  // namespace emplace::cli
