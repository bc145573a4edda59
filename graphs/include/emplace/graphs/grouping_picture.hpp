#pragma once

// A grouped graph as a picture for people: as SVG, or in Graphviz' DOT language.
//
// Groups of the forward pass run down; those of the backward pass and of the updates stand beside
// what they belong to and run up, so that a training step has the shape of a U. A group is named by
// the scope that its ops share, or by its first and last layer, and tells its ops, FLOPs and the
// bytes that other groups read. It is the darker the more work it holds. An edge is the thicker the
// more bytes it moves.

#include <emplace/graphs/grouping.hpp>
#include <emplace/graphs/op_graph.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace emplace {

/// Which color groups have, by whatever tells them apart: what runs them, for one.
struct GroupColors {
  /// Describes one group.
  struct Mark {
    std::size_t color = 0;  ///< an index into `legend`
    double share = 0;       ///< 0 to 1: how dark; 1 for the heaviest group
    std::string label{};    ///< the second line in its box
    std::string note{};     ///< more, for viewers that show it when one points at the group
  };

  /// What the colors of kPictureColors stand for; empty where no group has that color.
  std::vector<std::string> legend{};
  std::vector<Mark> marks{};  ///< by group
  std::string edge_legend{};  ///< what edges between groups of different colors are
};

/// Returns blue for forward, orange for backward and updates, and green for both, and shares of the
/// work; labels tell ops, FLOPs and bytes. Requires: validate() accepts the graph.
GroupColors colors_by_pass(const OpGraph& graph, const Grouping& grouping);

/// Returns the picture of a grouping of `graph` as SVG; `caption` stands above it, below the
/// graph's name. Requires: validate() accepts the graph; a mark for each group.
std::string write_grouping_svg(const OpGraph& graph, const Grouping& grouping,
                               const std::string& caption, const GroupColors& colors);

/// Returns the picture in DOT, which `dot -Tsvg` draws; `caption` stands above it, behind the
/// graph's name. An edge tells its bytes if they are at least half of what any moves. Requires:
/// validate() accepts the graph.
std::string write_grouping_dot(const OpGraph& graph, const Grouping& grouping,
                               const std::string& caption);

}  // namespace emplace
