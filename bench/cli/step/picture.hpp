#pragma once

// Pictures of grouped graphs and of placed steps.

#include "placed_step.hpp"

#include <emplace/graphs/grouping.hpp>
#include <emplace/graphs/grouping_picture.hpp>
#include <emplace/graphs/op_graph.hpp>

#include <string>
#include <string_view>

namespace emplace::cli {

/// Most groups that a picture shows: more are not legible.
inline constexpr GroupId kMaxPictureGroups = 4000;

/// Throws kUsage unless `path` has an ending of pictures.
void check_picture_path(std::string_view path);

/// Draws the groups in the colors of their passes; if there is a `step`, in those of the devices
/// that it places them on. Throws Error, kUsage for too many groups.
GroupingPicture draw_groups(const OpGraph& graph, const Grouping& grouping,
                            std::string_view grouping_name, const PlacedStep* step);

/// Does the same with as many groups as a screen shows, the neighbours among the finest ones folded
/// together.
GroupingPicture draw_folded_groups(const OpGraph& graph, const Grouping& finest,
                                   const PlacedStep* step);

/// Draws the timeline of a step into `path`, whose ending names the format. Throws Error.
void write_step_picture(const std::string& path, const PlacedStep& step);

}  // namespace emplace::cli
