#include "calibration_report.hpp"

#include "terminal.hpp"

#include <emplace/base/json.hpp>
#include <emplace/bench/rank_correlation.hpp>
#include <emplace/bench/text_table.hpp>
#include <emplace/graphs/op_kind.hpp>

#include <fmt/format.h>

#include <array>
#include <map>
#include <optional>
#include <vector>

namespace emplace::cli {
namespace {

using bench::TextTable;
using Align = TextTable::Align;
// More would hide the rest.
constexpr std::size_t kMaxLeftOut = 10;

std::optional<double> rank_correlation(std::span<const calibrate::ValidatedStep> steps) {
  std::vector<double> predicted_us;
  std::vector<double> measured_us;
  for (const calibrate::ValidatedStep& step : steps) {
    predicted_us.push_back(step.predicted_us);
    measured_us.push_back(step.measured_us);
  }
  return bench::kendall_tau(predicted_us, measured_us);
}

Json or_null(const std::optional<double>& number) { return number ? Json(*number) : Json(); }

std::string percent_number(double part) { return fmt::format("{:.1f}", 100 * part); }

std::string left_out_to_text(const std::vector<std::string>& left_out) {
  if (left_out.empty()) {
    return "";
  }
  std::string text = fmt::format("\n{} left out:\n", left_out.size());
  for (std::size_t i = 0; i < left_out.size() && i < kMaxLeftOut; ++i) {
    text += fmt::format("  {}\n", left_out[i]);
  }
  if (left_out.size() > kMaxLeftOut) {
    text += fmt::format("  and {} more\n", left_out.size() - kMaxLeftOut);
  }
  return text;
}

std::string_view to_string(calibrate::HostMemory host) {
  constexpr std::array<std::string_view, 3> kNames = {"", "pinned", "pageable"};
  return kNames[static_cast<std::size_t>(host)];
}

std::string copies_to_text(const calibrate::CopyFit& copies) {
  TextTable table({{"copy"},
                   {"host memory"},
                   {"latency [us]", Align::kRight},
                   {"GB/s", Align::kRight},
                   {"mean error [%]", Align::kRight, 1}});
  for (const calibrate::CopyCost& cost : copies.costs) {
    table.add_row({fmt::format("{}>{}", cost.from, cost.to), std::string(to_string(cost.host)),
                   fmt::format("{:.2f}", cost.alpha_us),
                   fmt::format("{:.2f}", cost.bytes_per_us / 1e3),
                   percent_number(cost.mean_error)});
  }
  std::string text = "\n" + table.to_terminal(false, table_width());
  for (const calibrate::CopyCost& cost : copies.costs) {
    if (cost.pieces.size() > 1) {
      const calibrate::CopyPiece& large = cost.pieces.back();
      text += fmt::format(
          "  {}>{}{}{} would need a separate line from {} bytes on: {:.2f} us and {:.2f} GB/s\n",
          cost.from, cost.to, cost.host == calibrate::HostMemory::kNone ? "" : " ",
          to_string(cost.host), large.from_bytes, large.alpha_us, large.bytes_per_us / 1e3);
    }
  }
  for (const calibrate::CopyPair& pair : copies.pairs) {
    text += fmt::format("  {}\n", pair.why);
  }
  return text;
}

}  // namespace

std::string to_text(const calibrate::CalibratedMachine& calibration) {
  TextTable devices({{"device"},
                     {"ops measured", Align::kRight},
                     {"launch [us]", Align::kRight},
                     {"copies hidden [%]", Align::kRight},
                     {"computed by", Align::kLeft, 1}});
  for (const calibrate::MeasuredDeviceOps& device : calibration.devices) {
    std::map<std::string, int> libraries;
    for (const calibrate::OpSample& sample : device.ops.samples) {
      ++libraries[sample.library];
    }
    std::string computed_by;
    for (const auto& [library, ops] : libraries) {
      computed_by += fmt::format("{}{} {}", computed_by.empty() ? "" : ", ", library, ops);
    }
    devices.add_row({device.device, fmt::format("{}", device.ops.samples.size()),
                     fmt::format("{:.2f}", device.launch.us),
                     device.overlap ? percent_number(*device.overlap) : "", computed_by});
  }
  return devices.to_terminal(false, table_width()) + copies_to_text(calibration.copies) +
         left_out_to_text(calibration.left_out);
}

std::string to_text(const calibrate::Validation& validation) {
  TextTable steps({{"placement"},
                   {"predicted [ms]", Align::kRight},
                   {"measured [ms]", Align::kRight},
                   {"error [%]", Align::kRight},
                   {"deviation [%]", Align::kRight, 1},
                   {"steps", Align::kRight, 2}});
  for (const calibrate::ValidatedStep& step : validation.steps) {
    steps.add_row({step.placement, fmt::format("{:.3f}", step.predicted_us / 1e3),
                   fmt::format("{:.3f}", step.measured_us / 1e3),
                   fmt::format("{:+.1f}", 100 * step.error()),
                   percent_number(step.relative_deviation), fmt::format("{}", step.steps)});
  }
  TextTable ops({{"device"},
                 {"op class"},
                 {"cost", Align::kLeft, 1},
                 {"ops", Align::kRight},
                 {"mean error [%]", Align::kRight, 1},
                 {"largest [%]", Align::kRight, 2}});
  for (const calibrate::ValidatedOps& row : validation.ops) {
    ops.add_row({row.device, std::string(to_string(row.op_class)),
                 std::string(emplace::to_string(row.source)), fmt::format("{}", row.ops),
                 percent_number(row.mean_error), percent_number(row.max_error)});
  }
  std::string text = fmt::format("\n{}: predicted against measured\n", validation.graph);
  if (validation.mean_step_error) {
    const std::optional<double> correlation = rank_correlation(validation.steps);
    const std::string tau = correlation                    ? fmt::format("{:.3f}", *correlation)
                            : validation.steps.size() == 1 ? "undefined: only one step"
                                                           : "undefined: all steps are equal";
    text += fmt::format("\n{}\n  mean error of steps {} %, rank correlation (Kendall's tau) {}\n",
                        steps.to_terminal(false, table_width()),
                        percent_number(*validation.mean_step_error), tau);
  }
  if (!validation.ops.empty()) {
    text += "\n" + ops.to_terminal(false, table_width());
  }
  return text + left_out_to_text(validation.left_out);
}

Json to_json(std::span<const calibrate::Validation> validations) {
  Json list = Json::array();
  for (const calibrate::Validation& validation : validations) {
    Json steps = Json::array();
    for (const calibrate::ValidatedStep& step : validation.steps) {
      steps.push_back({{"placement", step.placement},
                       {"predicted_us", step.predicted_us},
                       {"measured_us", step.measured_us},
                       {"error", step.error()},
                       {"relative_deviation", step.relative_deviation},
                       {"steps", step.steps}});
    }
    Json ops = Json::array();
    for (const calibrate::ValidatedOps& row : validation.ops) {
      ops.push_back({{"device", row.device},
                     {"op_class", emplace::to_string(row.op_class)},
                     {"source", emplace::to_string(row.source)},
                     {"ops", row.ops},
                     {"mean_error", row.mean_error},
                     {"max_error", row.max_error}});
    }
    list.push_back({{"graph", validation.graph},
                    {"mean_step_error", or_null(validation.mean_step_error)},
                    {"kendall_tau", or_null(rank_correlation(validation.steps))},
                    {"steps", std::move(steps)},
                    {"ops", std::move(ops)},
                    {"left_out", validation.left_out}});
  }
  return {{"schema_version", 1}, {"validations", std::move(list)}};
}

}  // namespace emplace::cli
