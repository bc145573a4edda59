#pragma once

// The parts of a profile file that also stand inside cluster files.

#include <emplace/graphs/json_cursor.hpp>
#include <emplace/profiles/device_profile.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace emplace {

/// Reads a device profile, wherever it is written.
DeviceProfile read_device_profile(const JsonCursor& json);

/// Reads where the numbers of a file come from.
Provenance read_provenance(const JsonCursor& json);

/// Reads the name of a device, switch or link: 1 to 100 bytes.
std::string read_name(const JsonCursor& json);

/// Fails at `json`: "unknown <what> '<name>'", and which of `names` are near.
[[noreturn]] void fail_unknown_name(const JsonCursor& json, std::string_view what,
                                    std::string_view name, const std::vector<std::string>& names);

}  // namespace emplace
