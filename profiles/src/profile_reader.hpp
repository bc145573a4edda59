#pragma once

// The parts of a profile file that also stand inside cluster files.

#include <emplace/base/json_cursor.hpp>
#include <emplace/profiles/device_profile.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace emplace {

/// Bounds names: long enough to be distinct, short enough to search for near ones.
inline constexpr std::size_t kMaxNameBytes = 100;

/// Bounds a route in a file, so that a hostile one costs seconds at most.
inline constexpr std::size_t kMaxRouteLinks = 64;

/// Reads a device profile, wherever it is written.
DeviceProfile read_device_profile(const JsonCursor& json);

/// Reads where the numbers of a file come from.
Provenance read_provenance(const JsonCursor& json);

/// Returns the index of the op class called `name`, the key under which `json` stands; fails there
/// if it is unknown or kOther, whose ops have no class of their own.
std::size_t op_class_index(const JsonCursor& json, std::string_view name);

/// Reads the name of a device, switch or link: 1 to 100 bytes.
std::string read_name(const JsonCursor& json);

/// Fails at `json`: "unknown <what> '<name>'", and which of `names` are near.
[[noreturn]] void fail_unknown_name(const JsonCursor& json, std::string_view what,
                                    std::string_view name, const std::vector<std::string>& names);

}  // namespace emplace
