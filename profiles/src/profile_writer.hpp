#pragma once

// The parts of a profile file that also stand inside cluster files, as they are written.

#include <emplace/base/json.hpp>
#include <emplace/profiles/device_profile.hpp>

namespace emplace {

/// Returns the object that is a device profile.
Json to_json(const DeviceProfile& profile);

/// Returns the object that says where the numbers of a file come from.
Json to_json(const Provenance& provenance);

}  // namespace emplace
