#pragma once

// What is a character in UTF-8.

#include <cstddef>
#include <string_view>

namespace emplace {

/// Returns the length of the UTF-8 sequence that begins `text`, or 0 if none does. Requires: `text`
/// is not empty.
std::size_t utf8_length(std::string_view text);

/// Says whether all of `text` is UTF-8.
bool is_utf8(std::string_view text);

}  // namespace emplace
