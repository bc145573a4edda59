#pragma once

// Pictures of grouped graphs: SVG where Graphviz is installed, else what it would draw them from.

#include <emplace/graphs/grouping.hpp>
#include <emplace/graphs/op_graph.hpp>

#include <string>
#include <string_view>

namespace emplace::cli {

/// Most groups that a picture shows: one with more is neither legible nor soon drawn.
inline constexpr GroupId kMaxPictureGroups = 512;

/// Throws kUsage unless `path` ends in ".svg" or ".dot".
void check_picture_path(std::string_view path);

/// Draws the groups into `path`. Where an SVG is asked for and Graphviz' `dot` is not on the PATH,
/// writes DOT beside it and says so. Throws Error, kUsage for too many groups.
void write_picture(const std::string& path, const OpGraph& graph, const Grouping& grouping,
                   std::string_view grouping_name);

}  // namespace emplace::cli
