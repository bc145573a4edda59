#include "profile_report.hpp"

#include "terminal.hpp"

#include <emplace/base/escape.hpp>
#include <emplace/base/json.hpp>
#include <emplace/calibrate/sample_fit.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace emplace::cli {

std::string percent(double part) { return fmt::format("{:.1f} %", part * 100); }

namespace {

using bench::TextTable;
using Align = TextTable::Align;

constexpr std::size_t kShownResiduals = 10;

// The mean and the largest error of a cost source, and of how many ops; nothing if it predicted
// none.
std::vector<std::string> error_cells(const PredictionError* error) {
  if (error == nullptr || error->predicted == 0) {
    return {"", "", ""};
  }
  return {fmt::format("{}", error->predicted), percent(error->mean), percent(error->max)};
}

// "15.667 TFLOP/s in float32, 125.338 in float16; 80 multiprocessors".
std::string peaks_of(const DeviceProfile& profile) {
  std::string text = fmt::format("{:.3f} TFLOP/s", profile.peak_flops_per_us / 1e6);
  if (profile.tf32_flops_per_us > 0 || profile.float16_flops_per_us > 0) {
    text += " in float32";
  }
  if (profile.tf32_flops_per_us > 0) {
    text += fmt::format(", {:.3f} in TF32", profile.tf32_flops_per_us / 1e6);
  }
  if (profile.float16_flops_per_us > 0) {
    text += fmt::format(", {:.3f} in float16", profile.float16_flops_per_us / 1e6);
  }
  if (profile.multiprocessors > 0) {
    text += fmt::format("; {} multiprocessors", profile.multiprocessors);
  }
  return text;
}

std::vector<std::string> class_cells(std::string_view name, const Roofline* roofline,
                                     const ClassCalibration* calibration, bool with_interpolated) {
  std::vector<std::string> cells = {std::string(name)};
  if (roofline != nullptr) {
    cells.insert(cells.end(),
                 {fmt::format("{:.2f}", roofline->fixed_us), percent(roofline->compute_efficiency),
                  percent(roofline->memory_efficiency), percent(roofline->relative_deviation)});
  } else {
    cells.insert(cells.end(), {"fallback", "", "", ""});
  }
  cells.push_back(calibration != nullptr ? fmt::format("{}", calibration->measurements) : "");
  const auto add_error = [&](const PredictionError* error) {
    const std::vector<std::string> more = error_cells(error);
    cells.insert(cells.end(), more.begin(), more.end());
  };
  if (with_interpolated) {
    add_error(calibration != nullptr ? &calibration->interpolated : nullptr);
  }
  add_error(calibration != nullptr ? &calibration->roofline : nullptr);
  return cells;
}

}  // namespace

std::vector<Residual> residuals_of(const DeviceProfile& profile) {
  std::vector<Residual> residuals;
  for (const OpMeasurement& measurement : profile.measured.all()) {
    residuals.push_back({&measurement, roofline_us(profile, measurement)});
  }
  std::ranges::stable_sort(residuals, std::ranges::greater{},
                           [](const Residual& residual) { return std::abs(residual.error()); });
  return residuals;
}

TextTable class_table(const DeviceProfile& profile) {
  // Only measured ops can be interpolated.
  const bool with_interpolated =
      profile.calibration && profile.calibration->all.interpolated.predicted > 0;
  std::vector<TextTable::Column> columns = {{"op class"},
                                            {"fixed [us]", Align::kRight, 3},
                                            {"compute", Align::kRight},
                                            {"memory", Align::kRight},
                                            {"deviation", Align::kRight, 8},
                                            {"measured", Align::kRight, 5}};
  if (with_interpolated) {
    columns.insert(columns.end(), {{"interpolated", Align::kRight, 6},
                                   {"mean error, interpolated", Align::kRight, 4},
                                   {"worst, interpolated", Align::kRight, 7}});
  }
  columns.insert(columns.end(), {{"by roofline", Align::kRight, 5},
                                 {"mean error, roofline", Align::kRight, 1},
                                 {"worst, roofline", Align::kRight, 6}});
  TextTable table(std::move(columns));
  const auto add_class = [&](std::string_view name, const Roofline* roofline,
                             const ClassCalibration* calibration) {
    table.add_row(class_cells(name, roofline, calibration, with_interpolated));
  };
  for (std::size_t at = 0; at < kNumOpClasses; ++at) {
    const std::optional<Roofline>& own = profile.rooflines[at];
    const std::optional<ClassCalibration> none;
    const std::optional<ClassCalibration>& calibrated =
        profile.calibration ? profile.calibration->classes[at] : none;
    const Roofline* roofline = own ? &*own : nullptr;
    const ClassCalibration* calibration = calibrated ? &*calibrated : nullptr;
    if (roofline != nullptr || calibration != nullptr) {
      add_class(to_string(static_cast<OpClass>(at)), roofline, calibration);
    }
    for (const CostCase& which : profile.cases[at]) {
      std::string name = "  " + calibrate::describe(which);
      if (!which.proxy.empty()) {
        name += fmt::format(" (proxy: {})", which.proxy);
      }
      add_class(name, &which.roofline, nullptr);
    }
  }
  add_class("fallback", &profile.fallback,
            profile.calibration ? &profile.calibration->all : nullptr);
  return table;
}

TextTable residual_table(const std::vector<Residual>& residuals) {
  TextTable table({{"op"},
                   {"library", Align::kLeft, 2},
                   {"measured [us]", Align::kRight},
                   {"roofline [us]", Align::kRight, 1},
                   {"error", Align::kRight}});
  for (std::size_t at = 0; at < std::min(residuals.size(), kShownResiduals); ++at) {
    const Residual& residual = residuals[at];
    table.add_row({to_string(residual.measurement->key), residual.measurement->library,
                   fmt::format("{:.3f}", residual.measurement->us),
                   fmt::format("{:.3f}", residual.roofline_us),
                   fmt::format("{:+.1f} %", residual.error() * 100)});
  }
  return table;
}

std::string stream_of(const DeviceProfile& profile) {
  std::vector<std::string> parts;
  if (profile.stream_bytes_per_us > 0) {
    parts.push_back(fmt::format("{:.1f} GB/s by BabelStream", profile.stream_bytes_per_us / 1e3));
  }
  if (profile.cache_bytes > 0) {
    parts.push_back(fmt::format("cache {:.1f} MB", static_cast<double>(profile.cache_bytes) / 1e6));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

// Empty if ops take in steps what they take alone.
std::string step_factors_of(const DeviceProfile& profile) {
  if (profile.step_factors == DeviceProfile().step_factors) {
    return "";
  }
  std::string text;
  for (std::size_t at = 0; at < kPrecisions.size(); ++at) {
    text += fmt::format("{}{:.2f}{} in {}", at == 0 ? "" : ", ", profile.step_factors[at],
                        at == 0 ? " times as long" : "", kPrecisions[at]);
  }
  return text;
}

std::vector<std::pair<std::string, std::string>> facts_of(const DeviceProfile& profile) {
  std::vector<std::pair<std::string, std::string>> facts = {
      {"device class", profile.device_class},
      {"peak", peaks_of(profile)},
      {"memory",
       fmt::format("{:.1f} GB at {:.1f} GB/s", static_cast<double>(profile.memory_bytes) / 1e9,
                   profile.memory_bytes_per_us / 1e3)},
      {"stream", stream_of(profile)},
      {"in steps", step_factors_of(profile)},
      {"slots",
       fmt::format("{}, each busy for {:.2f} us before an op", profile.slots, profile.launch_us)}};
  if (profile.calibration && !profile.calibration->product.empty()) {
    const Calibration& calibration = *profile.calibration;
    facts.insert(facts.end(),
                 {{"measured on", fmt::format("{}, {}", calibration.product, calibration.date)},
                  {"software", calibration.software},
                  {"clocks", calibration.clocks},
                  {"rejected", fmt::format("{} runs below the clock, {} without records",
                                           calibration.runs_throttled, calibration.runs_lost)}});
  }
  facts.insert(
      facts.end(),
      {{"provenance", fmt::format("{}, {}", profile.provenance.kind, profile.provenance.date)},
       {"source", profile.provenance.source},
       {"notes", profile.provenance.notes}});
  std::erase_if(facts, [](const auto& fact) { return fact.second.empty(); });
  return facts;
}

std::string to_text(const DeviceProfile& profile) {
  std::string text = escape_terminal(fmt::format("{}: {}", profile.name, profile.summary)) + '\n';
  for (const auto& [what, value] : facts_of(profile)) {
    text += fmt::format("  {:<14}{}\n", what, escape_terminal(value));
  }
  text += '\n' + class_table(profile).to_terminal(false, table_width());
  if (profile.calibration) {
    text += "\nerrors are |ln(predicted / measured)| of shapes left out, mean and worst\n";
  }
  if (const std::vector<Residual> residuals = residuals_of(profile); !residuals.empty()) {
    text += "\nthe ops that rooflines predict worst\n\n";
    text += residual_table(residuals).to_terminal(false, table_width());
  }
  return text;
}

Json to_json(const DeviceProfile& profile) {
  Json residuals = Json::array();
  for (const Residual& residual : residuals_of(profile)) {
    const OpMeasurement& measurement = *residual.measurement;
    residuals.push_back({{"kind", measurement.key.kind},
                         {"shape", measurement.key.shape},
                         {"type", to_string(measurement.key.type)},
                         {"us", measurement.us},
                         {"roofline_us", residual.roofline_us},
                         {"error", residual.error()}});
  }
  return {{"profile", Json::of_text(write_device_profile_json(profile))},
          {"residuals", std::move(residuals)}};
}

}  // namespace emplace::cli
