#pragma once

// Reads what a calibration left in a profile file: the members "measured" and "calibration".

#include "profile_reader.hpp"

#include <emplace/base/json_cursor.hpp>
#include <emplace/profiles/device_profile.hpp>

namespace emplace {

/// Reads measurements; refuses two of one key.
MeasurementTable read_measurements(const JsonCursor& json);

/// Reads how the measurements came about.
Calibration read_calibration(const JsonCursor& json);

}  // namespace emplace
