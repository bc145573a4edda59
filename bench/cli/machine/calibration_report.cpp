#include "calibration_report.hpp"

#include "terminal.hpp"

#include <emplace/bench/text_table.hpp>

#include <fmt/format.h>

#include <array>
#include <map>
#include <vector>

namespace emplace::cli {
namespace {

using bench::TextTable;
using Align = TextTable::Align;
// More would hide the rest.
constexpr std::size_t kMaxLeftOut = 10;

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
                     fmt::format("{:.2f}", device.launch.gap_us),
                     device.overlap ? percent_number(*device.overlap) : "", computed_by});
  }
  return devices.to_terminal(false, table_width()) + copies_to_text(calibration.copies) +
         left_out_to_text(calibration.left_out);
}

}  // namespace emplace::cli
