#include "group_neighbours.hpp"

#include <emplace/base/ids.hpp>

namespace emplace::agents {

GroupNeighbours::GroupNeighbours(const Problem& problem) {
  for (GroupId group = 0; group < problem.num_groups(); ++group) {
    for (const GroupEdge& edge : problem.group_in_edges(group)) {
      producers.add(0, edge.producer);
    }
    producers.end_row();
    for (const GroupEdge& edge : problem.group_out_edges(group)) {
      consumers.add(0, edge.consumer);
    }
    consumers.end_row();
  }
}

}  // namespace emplace::agents
