#pragma once

// The memory of one device over a step, as `explain --memory` shows it.

#include "placed_step.hpp"

#include <emplace/base/json.hpp>

#include <string>
#include <string_view>

namespace emplace::cli {

/// Returns the device of the step's cluster that is called `name`; throws kUnknownName.
DeviceId find_device(const PlacedStep& step, std::string_view name);

/// Returns the peak and a chart of 60 x 10 characters: in each column the most that was taken at
/// once in a sixtieth of the step.
std::string memory_to_text(const PlacedStep& step, DeviceId device);

/// Returns a JSON answer, schema_version first, with every change of the memory.
Json memory_to_json(const PlacedStep& step, DeviceId device);

}  // namespace emplace::cli
