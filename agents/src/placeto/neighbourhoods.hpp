#pragma once

// Who reads from whom, as the networks and the searches in Placeto's graph want it.

#include "nn/segment_sum.hpp"

#include <emplace/sim/problem.hpp>

namespace emplace::agents::placeto {

/// Lists the neighbours of each group of a problem.
struct Neighbourhoods {
  explicit Neighbourhoods(const Problem& problem);

  nn::SegmentSum producers{};
  nn::SegmentSum consumers{};
};

}  // namespace emplace::agents::placeto
