#include "profile_picture.hpp"

#include "picture_file.hpp"
#include "profile_report.hpp"
#include "terminal.hpp"

#include <emplace/base/error.hpp>
#include <emplace/base/svg.hpp>
#include <emplace/bench/log_plot.hpp>
#include <emplace/bench/text_table.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <vector>

namespace emplace::cli {
namespace {

using bench::LogPlot;

constexpr std::string_view kHtml = ".html";
constexpr double kPerSecond = 1e6;

// By OpClass; the first eight are Okabe and Ito's, told apart by all eyes.
constexpr std::array<std::string_view, kNumOpClasses> kColors = {
    "#0072b2", "#56b4e9", "#d55e00", "#009e73", "#cc79a7",
    "#e69f00", "#000000", "#b8a800", "#7f4f24", "#999999"};
constexpr std::string_view kRoofColor = "#333";

// Around what is drawn, and around a plot that holds nothing.
constexpr double kMargin = 2;
constexpr LogPlot::Place kNoIntensities = {0.1, 10000};

// The least and the most of numbers.
struct Range {
  double least = std::numeric_limits<double>::infinity();
  double most = 0;

  void add(double value) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
};

struct RatedOp {
  const OpMeasurement* measurement = nullptr;
  double flops_per_byte = 0;
  double flops_per_s = 0;
};

// Ops that compute nothing, or touch no memory, have no place on a roofline.
std::vector<RatedOp> rated_ops(const DeviceProfile& profile) {
  std::vector<RatedOp> ops;
  for (const OpMeasurement& measurement : profile.measured.all()) {
    if (measurement.flops > 0 && measurement.bytes > 0) {
      const auto flops = static_cast<double>(measurement.flops);
      ops.push_back({&measurement, flops / static_cast<double>(measurement.bytes),
                     flops / measurement.us * kPerSecond});
    }
  }
  return ops;
}

std::size_t class_index(const OpMeasurement& measurement) {
  return static_cast<std::size_t>(op_class_of(measurement.key.kind));
}

// Says of each class whether there are measurements.
std::array<bool, kNumOpClasses> measured_classes(const DeviceProfile& profile) {
  std::array<bool, kNumOpClasses> measured{};
  for (const OpMeasurement& measurement : profile.measured.all()) {
    measured[class_index(measurement)] = true;
  }
  return measured;
}

// Adds a series to `plot` for each class of which there are measurements; returns them by class.
std::array<std::size_t, kNumOpClasses> add_classes(LogPlot& plot, const DeviceProfile& profile) {
  const auto measured = measured_classes(profile);
  std::array<std::size_t, kNumOpClasses> series{};
  for (std::size_t at = 0; at < kNumOpClasses; ++at) {
    if (measured[at]) {
      series[at] = plot.add_series(std::string(to_string(static_cast<OpClass>(at))),
                                   std::string(kColors[at]));
    }
  }
  return series;
}

// The roof of so many FLOP/s and bytes/s: slanted up to the ridge, then flat.
std::vector<LogPlot::Place> roof(double flops_per_s, double bytes_per_s, const Range& intensities) {
  const double ridge = std::clamp(flops_per_s / bytes_per_s, intensities.least, intensities.most);
  const auto rate = [&](double intensity) {
    return std::min(flops_per_s, intensity * bytes_per_s);
  };
  return {{intensities.least, rate(intensities.least)},
          {ridge, rate(ridge)},
          {intensities.most, rate(intensities.most)}};
}

LogPlot roofline_plot(const DeviceProfile& profile) {
  const double peak = profile.peak_flops_per_us * kPerSecond;
  const double bandwidth = profile.memory_bytes_per_us * kPerSecond;
  const std::vector<RatedOp> ops = rated_ops(profile);
  Range intensities;
  Range rates;
  intensities.add(peak / bandwidth);
  rates.add(peak);
  for (const RatedOp& op : ops) {
    intensities.add(op.flops_per_byte);
    rates.add(op.flops_per_s);
  }
  if (ops.empty()) {
    intensities.add(kNoIntensities.x);
    intensities.add(kNoIntensities.y);
    rates.add(kNoIntensities.x * bandwidth);
  }
  intensities = {intensities.least / kMargin, intensities.most * kMargin};
  LogPlot plot(fmt::format("{}: rooflines{}", profile.name, ops.empty() ? "" : " and measured ops"),
               {"FLOP per byte", intensities.least, intensities.most},
               {"FLOP/s", rates.least / kMargin, rates.most * kMargin});
  // The axes are rounded outwards, and so are the roofs.
  const Range wide = {intensities.least / 10, intensities.most * 10};
  plot.add_curve("device", roof(peak, bandwidth, wide), {std::string(kRoofColor)});
  // The legend names a class once: by its points, or else by its roof.
  const auto measured = measured_classes(profile);
  for (std::size_t at = 0; at < kNumOpClasses; ++at) {
    if (const auto& roofline = profile.rooflines[at]) {
      plot.add_curve(
          measured[at] ? "" : std::string(to_string(static_cast<OpClass>(at))),
          roof(peak * roofline->compute_efficiency, bandwidth * roofline->memory_efficiency, wide),
          {std::string(kColors[at]), LogPlot::kDashes});
    }
  }
  const auto series = add_classes(plot, profile);
  for (const RatedOp& op : ops) {
    plot.add_point(series[class_index(*op.measurement)], {op.flops_per_byte, op.flops_per_s},
                   fmt::format("{}: {:.3f} us, {:.4g} FLOP/s", to_string(op.measurement->key),
                               op.measurement->us, op.flops_per_s));
  }
  return plot;
}

LogPlot residual_plot(const DeviceProfile& profile, const std::vector<Residual>& residuals) {
  Range times;
  Range ratios;
  ratios.add(0.5);
  ratios.add(2);
  for (const Residual& residual : residuals) {
    times.add(residual.measurement->us);
    ratios.add(1 + residual.error());
  }
  LogPlot plot(fmt::format("{}: rooflines against measured ops", profile.name),
               {"measured [us]", times.least / kMargin, times.most * kMargin},
               {"roofline / measured", ratios.least, ratios.most});
  const Range wide = {times.least / 100, times.most * 100};
  for (const auto& [ratio, name] : {std::pair(1.1, "10 % too long"), std::pair(1.0, "exact"),
                                    std::pair(0.9, "10 % too short")}) {
    plot.add_curve(name, {{wide.least, ratio}, {wide.most, ratio}},
                   {std::string(kRoofColor), ratio == 1 ? "" : LogPlot::kDashes});
  }
  const auto series = add_classes(plot, profile);
  for (const Residual& residual : residuals) {
    plot.add_point(series[class_index(*residual.measurement)],
                   {residual.measurement->us, 1 + residual.error()},
                   fmt::format("{}: measured {:.3f} us, roofline {:.3f} us ({:+.1f} %)",
                               to_string(residual.measurement->key), residual.measurement->us,
                               residual.roofline_us, residual.error() * 100));
  }
  return plot;
}

}  // namespace

void check_profile_picture_path(std::string_view path) {
  if (!names_picture(path) && !path.ends_with(kHtml)) {
    throw Error(ErrorCode::kUsage,
                fmt::format("--output: expected a name that ends in {} or {}, found '{}'",
                            fmt::join(kPictureEndings, ", "), kHtml, excerpt(path)));
  }
}

std::string profile_svg(const DeviceProfile& profile) {
  std::vector<LogPlot> plots = {roofline_plot(profile)};
  if (const std::vector<Residual> residuals = residuals_of(profile); !residuals.empty()) {
    plots.push_back(residual_plot(profile, residuals));
  }
  return LogPlot::to_svg(plots);
}

std::string profile_html(const DeviceProfile& profile) {
  const std::string title = escape_markup(profile.name);
  std::string text = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{0}</title>\n"
      "<style>\nbody {{ font-family: sans-serif; max-width: 60em; margin: 2em auto; }}\n"
      "table {{ border-collapse: collapse; margin: 1em 0; }}\n"
      "th, td {{ padding: 0.2em 0.7em; border-bottom: 1px solid #ddd; text-align: left; }}\n"
      ".number {{ text-align: right; }}\n</style>\n</head>\n<body>\n<h1>{0}</h1>\n<p>{1}</p>\n",
      title, escape_markup(profile.summary));
  bench::TextTable facts({{""}, {""}});
  for (const auto& [what, value] : facts_of(profile)) {
    facts.add_row({what, value});
  }
  text += facts.to_html() + profile_svg(profile) + "<h2>Op classes</h2>\n" +
          class_table(profile).to_html();
  if (profile.calibration) {
    text += "<p>Errors are |ln(predicted / measured)| of shapes left out, mean and worst.</p>\n";
  }
  if (const std::vector<Residual> residuals = residuals_of(profile); !residuals.empty()) {
    text += "<h2>The ops that rooflines predict worst</h2>\n" + residual_table(residuals).to_html();
  }
  return text + "</body>\n</html>\n";
}

void write_profile_picture(const std::string& path, const DeviceProfile& profile) {
  write_answer(path, names_picture(path) ? encode_picture(profile_svg(profile), path)
                                         : profile_html(profile));
}

}  // namespace emplace::cli
