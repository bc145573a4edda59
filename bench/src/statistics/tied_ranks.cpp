#include "tied_ranks.hpp"

#include <algorithm>
#include <cstddef>

namespace emplace::bench {

TiedRanks tied_ranks(std::vector<std::pair<double, bool>> values) {
  std::ranges::sort(values);
  TiedRanks ranks;
  for (std::size_t begin = 0; begin < values.size();) {
    std::size_t end = begin;
    while (end < values.size() && values[end].first == values[begin].first) {
      ++end;
    }
    // Ranks begin + 1 to end; twice their mean is the sum of the first and the last.
    const auto doubled = static_cast<std::int64_t>(begin + 1 + end);
    for (std::size_t at = begin; at < end; ++at) {
      ranks.doubled.push_back(doubled);
      ranks.doubled_sum_of_marked += values[at].second ? doubled : 0;
    }
    const auto ties = static_cast<double>(end - begin);
    ranks.tie_correction += ties * ties * ties - ties;
    begin = end;
  }
  return ranks;
}

}  // namespace emplace::bench
