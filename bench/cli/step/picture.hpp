#pragma once

// Pictures of grouped graphs and of placed steps.

#include "placed_step.hpp"

#include <emplace/graphs/grouping.hpp>
#include <emplace/graphs/op_graph.hpp>

#include <span>
#include <string>
#include <string_view>

namespace emplace::cli {

/// Most groups that a picture shows: more are not legible.
inline constexpr GroupId kMaxPictureGroups = 4000;

/// Throws kUsage unless `path` ends in one of `endings`, such as ".svg".
void check_picture_path(std::string_view path, std::span<const std::string_view> endings);

/// Endings of the pictures of groups.
inline constexpr std::string_view kGroupPictures[] = {".svg", ".dot"};

/// Draws the groups into `path`, an SVG or DOT file, in the colors of their passes; if there is a
/// `step`, as SVG and in those of the devices that it places them on. Throws Error, kUsage for too
/// many groups or an ending that is not for this picture.
void write_group_picture(const std::string& path, const OpGraph& graph, const Grouping& grouping,
                         std::string_view grouping_name, const PlacedStep* step);

/// Draws the timeline of a step into `path`, an SVG file. Throws Error.
void write_step_picture(const std::string& path, const PlacedStep& step);

}  // namespace emplace::cli
