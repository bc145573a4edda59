#include <emplace/bench/holm.hpp>

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace emplace::bench {

std::vector<double> holm(std::span<const double> p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t test) { return p[test]; });
  std::vector<double> adjusted(p.size());
  double largest = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    largest = std::max(largest, std::min(1.0, static_cast<double>(p.size() - i) * p[order[i]]));
    adjusted[order[i]] = largest;
  }
  return adjusted;
}

}  // namespace emplace::bench
