#include <emplace/base/random.hpp>
#include <emplace/sim/lanes.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace emplace::lanes_test {
namespace {

// Against a search through all rows, with many starts and ends at one time.
TEST(Lanes, GivesTheFirstRowThatIsFree) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    RandomStream random(seed);
    Lanes lanes;
    std::vector<double> busy_until;
    double start = 0;
    for (int i = 0; i < 300; ++i) {
      start += static_cast<double>(random.below(3));
      const double end = start + static_cast<double>(random.below(20));
      const auto first =
          std::ranges::find_if(busy_until, [start](double until) { return until <= start; });
      const auto expected = first - busy_until.begin();
      if (first == busy_until.end()) {
        busy_until.push_back(end);
      } else {
        *first = end;
      }
      ASSERT_EQ(lanes.take(start, end), expected);
      ASSERT_EQ(lanes.count(), static_cast<int>(busy_until.size()));
    }
  }
}

}  // namespace
}  // namespace emplace::lanes_test
