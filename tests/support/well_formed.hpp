#pragma once

// Whether text is XML, as a picture must be.

#include <string_view>

namespace emplace::test {

/// Says whether `text` is a well-formed document.
bool is_well_formed(std::string_view text);

}  // namespace emplace::test
