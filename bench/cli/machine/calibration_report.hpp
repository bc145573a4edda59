#pragma once

// What `emplace calibrate` prints about a calibration.

#include <emplace/calibrate/calibration.hpp>

#include <string>

namespace emplace::cli {

/// Returns lines for people: what was measured, how well it fits, what copies cost, what is
/// missing.
std::string to_text(const calibrate::CalibratedMachine& calibration);

}  // namespace emplace::cli
