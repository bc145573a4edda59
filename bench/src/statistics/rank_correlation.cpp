#include <emplace/base/check.hpp>
#include <emplace/bench/rank_correlation.hpp>

#include <cmath>
#include <cstdint>

namespace emplace::bench {

std::optional<double> kendall_tau(std::span<const double> x, std::span<const double> y) {
  EMPLACE_CHECK(x.size() == y.size(), "{} and {} values", x.size(), y.size());
  std::int64_t agree = 0;
  std::int64_t disagree = 0;
  std::int64_t tied_x = 0;  // and not y
  std::int64_t tied_y = 0;  // and not x
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (std::size_t j = i + 1; j < x.size(); ++j) {
      const bool same_x = x[i] == x[j];
      const bool same_y = y[i] == y[j];
      if (same_x && same_y) {
        continue;
      }
      if (same_x) {
        ++tied_x;
      } else if (same_y) {
        ++tied_y;
      } else if ((x[i] < x[j]) == (y[i] < y[j])) {
        ++agree;
      } else {
        ++disagree;
      }
    }
  }
  const auto untied = static_cast<double>(agree + disagree);
  const double scale =
      std::sqrt((untied + static_cast<double>(tied_x)) * (untied + static_cast<double>(tied_y)));
  if (scale == 0) {
    return std::nullopt;
  }
  return static_cast<double>(agree - disagree) / scale;
}

}  // namespace emplace::bench
