#pragma once

#include <emplace/graphs/op_graph.hpp>

#include <vector>

namespace emplace::calibrate {

/// Returns graphs in which ops of every kind stand: all of the catalog as they come by default, for
/// training where a graph can do both; and one in which a part of a split is not used, so that its
/// gradient is of kind zeros.
std::vector<OpGraph> graphs_of_every_kind();

}  // namespace emplace::calibrate
