// The scatter plot of predicted against measured steps, as SVG.

#include "suite/units.hpp"

#include <emplace/base/svg.hpp>
#include <emplace/bench/fidelity.hpp>
#include <emplace/bench/log_plot.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

namespace emplace::bench {
namespace {

// So that the identity is the diagonal of the picture.
constexpr double kSide = 560;
// Around the points, and beyond the axes, which are rounded outwards.
constexpr double kRoom = 1.25;
constexpr double kBeyond = 10;

struct Band {
  double error;
  std::string_view color;
};
// The wider one first, so that the narrower one lies on it.
constexpr std::array kBands = {Band{0.25, "#eeeeee"}, Band{0.10, "#d4d4d4"}};

std::string title_of(const Fidelity& fidelity, std::size_t i) {
  const PublishedStep& step = fidelity.published.steps[i];
  return fmt::format(
      "{} on {}, {}, {} ({}): measured {:.1f} ms, predicted {:.1f} ms, ratio {:.2f}{}",
      step.graph.spec(), step.profile, numbers_of(step), step.software,
      fidelity.published.sources[step.source].name, step.measured_us() / kUsPerMs,
      *fidelity.steps[i].us / kUsPerMs, *fidelity.ratio(i),
      step.used_for_fit ? "; a profile was fitted to it" : "");
}

}  // namespace

std::string draw_fidelity(const Fidelity& fidelity) {
  double least = std::numeric_limits<double>::infinity();
  double most = 0;
  for (std::size_t i = 0; i < fidelity.steps.size(); ++i) {
    if (fidelity.steps[i].us) {
      const auto [low, high] =
          std::minmax({*fidelity.steps[i].us, fidelity.published.steps[i].measured_us()});
      least = std::min(least, low / kUsPerMs);
      most = std::max(most, high / kUsPerMs);
    }
  }
  if (most == 0) {
    least = 1;
    most = 1000;
  }
  least /= kRoom;
  most *= kRoom;
  LogPlot plot("Training steps: predicted against measured",
               {.title = "measured [ms]", .least = least, .most = most},
               {.title = "predicted [ms]", .least = least, .most = most}, kSide);
  const double from = least / kBeyond;
  const double to = most * kBeyond;
  for (const Band& band : kBands) {
    const double low = 1 - band.error;
    const double high = 1 + band.error;
    plot.add_band(fmt::format("within {:.0f} %", 100 * band.error),
                  {{from, from * low}, {from, from * high}, {to, to * high}, {to, to * low}},
                  std::string(band.color));
  }
  plot.add_curve("exact", {{from, from}, {to, to}}, {.color = "#333333"});
  for (const Accuracy& accuracy : accuracy_of(fidelity)) {
    if (accuracy.profile.empty() || accuracy.steps == accuracy.not_simulated) {
      continue;
    }
    const std::size_t color = plot.num_series() % kPictureColors.size();
    const std::size_t series =
        plot.add_series(accuracy.profile, std::string(kPictureColors[color]));
    for (std::size_t i = 0; i < fidelity.steps.size(); ++i) {
      const PublishedStep& step = fidelity.published.steps[i];
      if (step.profile == accuracy.profile && fidelity.steps[i].us) {
        plot.add_point(series, {step.measured_us() / kUsPerMs, *fidelity.steps[i].us / kUsPerMs},
                       title_of(fidelity, i),
                       step.used_for_fit ? LogPlot::Mark::kHollow : LogPlot::Mark::kFilled);
      }
    }
  }
  if (std::ranges::any_of(fidelity.published.steps, &PublishedStep::used_for_fit)) {
    plot.add_remark("hollow: fitted to");
  }
  return LogPlot::to_svg({&plot, 1});
}

}  // namespace emplace::bench
