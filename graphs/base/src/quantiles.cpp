#include <emplace/base/check.hpp>
#include <emplace/base/quantiles.hpp>

#include <algorithm>
#include <numeric>

namespace emplace {
namespace {

// Puts the larger of the two in the middle into its place, nothing larger before it.
std::vector<double>::iterator part_in_the_middle(std::vector<double>& values) {
  EMPLACE_CHECK(!values.empty(), "nothing has no median");
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return middle;
}

}  // namespace

double median(std::vector<double> values) {
  const auto middle = part_in_the_middle(values);
  if (values.size() % 2 == 1) {
    return *middle;
  }
  return std::midpoint(*std::max_element(values.begin(), middle), *middle);
}

double upper_median(std::vector<double> values) { return *part_in_the_middle(values); }

double nearest_rank(std::span<const double> ascending, std::size_t percent) {
  EMPLACE_CHECK(!ascending.empty(), "nothing has no quantiles");
  EMPLACE_CHECK(percent >= 1 && percent <= 100, "a quantile of {} %", percent);
  return ascending[(percent * ascending.size() + 99) / 100 - 1];
}

}  // namespace emplace
