#pragma once

// Who reads from whom, as segment sums of a network read it.

#include "nn/segment_sum.hpp"

#include <emplace/sim/problem.hpp>

namespace emplace::agents {

/// Lists the neighbours of each group of a problem.
struct GroupNeighbours {
  explicit GroupNeighbours(const Problem& problem);

  nn::SegmentSum producers{};
  nn::SegmentSum consumers{};
};

}  // namespace emplace::agents
