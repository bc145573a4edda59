#pragma once

// Numbers with their noun, in texts for people.

#include <cstdint>
#include <string>
#include <string_view>

namespace emplace {

/// Returns "1 cell" or "3 cells". Requires: `several` where the plural is not `one` with an s.
std::string counted(std::int64_t number, std::string_view one, std::string_view several = "");

}  // namespace emplace
