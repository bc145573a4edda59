#pragma once

// JSON files for people to read: each value that holds no object stands in one line, so a profile
// has one measurement, link or roofline in each.

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace emplace {

/// Returns `value` laid out, with a newline at its end. Numbers are the shortest that are read back
/// as the same; bytes that are not UTF-8 are replaced.
std::string lay_out(const nlohmann::ordered_json& value);

}  // namespace emplace
