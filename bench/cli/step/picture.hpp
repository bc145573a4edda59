#pragma once

// Pictures of grouped graphs and of placed steps.

#include "placed_step.hpp"

#include <emplace/graphs/grouping.hpp>
#include <emplace/graphs/op_graph.hpp>

#include <string>
#include <string_view>

namespace emplace::cli {

/// Most groups that a picture shows: more are not legible.
inline constexpr GroupId kMaxPictureGroups = 4000;

/// Throws kUsage unless `path` ends in ".svg".
void check_picture_path(std::string_view path);

/// Draws the groups into `path`, an SVG file, in the colors of their passes; if there is a `step`,
/// in those of the devices that it places them on. Throws Error, kUsage for too many groups.
void write_group_picture(const std::string& path, const OpGraph& graph, const Grouping& grouping,
                         std::string_view grouping_name, const PlacedStep* step);

/// Draws the timeline of a step into `path`, an SVG file. Throws Error.
void write_step_picture(const std::string& path, const PlacedStep& step);

}  // namespace emplace::cli
