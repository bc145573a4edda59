#pragma once

// Where the source tree lies, for tests that read its files.

#include <string>
#include <string_view>

namespace emplace::test {

/// Returns the path of a file of the source tree: source_path("profiles/data/clusters").
std::string source_path(std::string_view relative);

}  // namespace emplace::test
