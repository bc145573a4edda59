#pragma once

// Numbers with their noun, in texts for people.

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace emplace {

/// Returns "1 cell" or "3 cells". Requires: `several` if the plural is not `one` with an s.
template <std::convertible_to<std::int64_t> Number>
std::string counted(Number number, std::string_view one, std::string_view several = "") {
  std::string text = std::to_string(number) + ' ';
  return number == 1       ? text.append(one)
         : several.empty() ? text.append(one) + 's'
                           : text.append(several);
}

}  // namespace emplace
