#pragma once

// What `show` prints of a device profile: its rooflines, what they are worth, and the ops
// that they predict worst.

#include <emplace/base/json.hpp>
#include <emplace/bench/text_table.hpp>
#include <emplace/profiles/device_profile.hpp>

#include <string>
#include <vector>

namespace emplace::cli {

/// Holds a measurement and what the roofline of its class says of it.
struct Residual {
  const OpMeasurement* measurement = nullptr;
  double roofline_us = 0;

  /// Returns (predicted - measured) / measured.
  double error() const { return roofline_us / measurement->us - 1; }
};

/// Returns the measurements of `profile`, which must outlive them, the worst predicted first.
std::vector<Residual> residuals_of(const DeviceProfile& profile);

/// Returns a line for each class with a roofline or measurements, and one for the fallback.
bench::TextTable class_table(const DeviceProfile& profile);

/// Returns a line for each of the first `residuals`, at most ten.
bench::TextTable residual_table(const std::vector<Residual>& residuals);

/// Returns lines on the device and where its numbers come from, each what it tells and what it is.
std::vector<std::pair<std::string, std::string>> facts_of(const DeviceProfile& profile);

/// Returns the report for a terminal.
std::string to_text(const DeviceProfile& profile);

/// Returns the profile as its file has it, and all residuals.
Json to_json(const DeviceProfile& profile);

/// Returns 0.035 as "3.5 %".
std::string percent(double part);

}  // namespace emplace::cli
