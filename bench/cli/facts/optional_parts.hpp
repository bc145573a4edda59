#pragma once

// The parts of emplace that a build leaves out where it does not find what they need. CMake says
// which are in (bench/cli/CMakeLists.txt).

#include <span>
#include <string_view>

namespace emplace::cli {

/// Describes one part.
struct OptionalPart {
  std::string_view name{};        ///< the library or toolkit that it needs
  std::string_view brings{};      ///< what a user gets by it
  bool present = false;           ///< in this build
  std::string_view how_to_get{};  ///< a command line; `./emplace` builds again by itself
  bool adds_names = false;        ///< it adds agents, groupings or formats to the listings
};

/// Returns all parts.
std::span<const OptionalPart> optional_parts();

}  // namespace emplace::cli
