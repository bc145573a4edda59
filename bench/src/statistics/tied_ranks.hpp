#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace emplace::bench {

/// Holds the ranks of values, with the mean rank for ties, doubled so that they are integers.
struct TiedRanks {
  std::vector<std::int64_t> doubled{};  ///< in ascending order
  std::int64_t doubled_sum_of_marked = 0;
  double tie_correction = 0;  ///< sum of t^3 - t over sets of t ties
};

/// Ranks values, each with whether it is marked.
TiedRanks tied_ranks(std::vector<std::pair<double, bool>> values);

}  // namespace emplace::bench
