#pragma once

// A grouped graph as a picture for people, in SVG.
//
// Groups of the forward pass run down; those of the backward pass and of the updates are next to
// what they belong to and run up, so that a training step has the shape of a U. A group is named by
// the scope that its ops share, or by its first and last layer, and shows its ops, FLOPs and the
// bytes that other groups read. Groups with more work are darker; edges that move more bytes are
// thicker.

#include <emplace/graphs/grouping.hpp>
#include <emplace/graphs/op_graph.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace emplace {

/// The colors of groups, for example by the device that runs them.
struct GroupColors {
  /// Describes one group.
  struct Mark {
    std::size_t color = 0;  ///< an index into `legend`
    double share = 0;       ///< 0 to 1: how dark; 1 for the heaviest group
    std::string label{};    ///< the second line in its box
    std::string note{};     ///< more, for viewers that show it when the pointer is on the group
  };

  /// What the colors of kPictureColors mean; empty if no group has that color.
  std::vector<std::string> legend{};
  std::vector<Mark> marks{};  ///< by group
  std::string edge_legend{};  ///< what edges between groups of different colors mean
};

/// Returns blue for forward, orange for backward and updates, and green for both, and shares of the
/// work; labels show ops, FLOPs and bytes. Requires: validate() accepts the graph.
GroupColors colors_by_pass(const OpGraph& graph, const Grouping& grouping);

/// A picture as SVG, and its size in pixels.
struct GroupingPicture {
  std::string svg{};
  double width = 0;
  double height = 0;
};

/// Draws a grouping of `graph`; `caption` is above it, below the graph's
/// name. Requires: validate() accepts the graph; a mark for each group.
GroupingPicture draw_grouping(const OpGraph& graph, const Grouping& grouping,
                              const std::string& caption, const GroupColors& colors);

}  // namespace emplace
