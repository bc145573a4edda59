#pragma once

// What `emplace calibrate` tells of a calibration and of its validation.

#include <emplace/base/json.hpp>
#include <emplace/calibrate/calibration.hpp>
#include <emplace/calibrate/validation.hpp>

#include <span>
#include <string>

namespace emplace::cli {

/// Returns lines for people: what was measured, how well it fits, what copies cost, what is
/// missing.
std::string to_text(const calibrate::CalibratedMachine& calibration);

/// Returns lines for people: predicted and measured steps, errors of ops, rank correlation.
std::string to_text(const calibrate::Validation& validation);

/// Returns the validations as JSON, schema_version first.
Json to_json(std::span<const calibrate::Validation> validations);

}  // namespace emplace::cli
