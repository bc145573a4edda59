#pragma once

// Several graphs as one: networks that share devices, and do not wait for each other. The step ends
// when the last of them ends. Users name it "A + B".

#include <emplace/graphs/op_graph.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace emplace {

/// Returns the graphs that a text names: those between " + ", or all of it.
std::vector<std::string> split_graphs(std::string_view text);

/// Returns the text that names these graphs together.
std::string join_graphs(std::span<const std::string> graphs);

/// Returns how graphs are called within one: by what is before the parameters, without folder and
/// ending, and from the second with the same name on with a number, "resnet-50_2". Their ops and
/// scopes are called "NAME/...".
std::vector<std::string> part_names(std::span<const std::string> graphs);

/// Returns one graph with the ops of all, in order, called by `names`. Requires: valid graphs, and
/// as many different names.
OpGraph side_by_side(std::span<const OpGraph> graphs, std::span<const std::string> names);

}  // namespace emplace
