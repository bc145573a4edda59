#pragma once

// Graphviz' program `dot`, if the machine has it.

#include <optional>
#include <string>
#include <string_view>

namespace emplace::cli {

/// Returns the path of the program `name` in the folders of PATH; nothing if none holds it.
std::optional<std::string> find_program(std::string_view name);

/// Draws a picture: runs `dot`, a path, on DOT text without a shell and returns the SVG. Throws
/// kUnsupported if it fails or takes more than `limit_s` seconds, after which it is killed.
std::string draw_svg(const std::string& dot, std::string_view text, int limit_s);

}  // namespace emplace::cli
