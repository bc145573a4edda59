#include <emplace/agents/busy_times.hpp>
#include <emplace/base/random.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace emplace::agents::busy_times_test {
namespace {

TEST(BusyTimes, WorkGoesWhereItFitsFirst) {
  BusyTimes device;
  EXPECT_EQ(device.start_of_idle(3, 5), 3);
  device.add(10, 20);
  device.add(24, 30);
  EXPECT_EQ(device.start_of_idle(0, 10), 0);
  EXPECT_EQ(device.start_of_idle(1, 10), 30);
  EXPECT_EQ(device.start_of_idle(1, 4), 1);
  EXPECT_EQ(device.start_of_idle(12, 4), 20);
  EXPECT_EQ(device.start_of_idle(12, 5), 30);
  EXPECT_EQ(device.start_of_idle(40, 5), 40);
  EXPECT_EQ(device.last_finish_us(), 30);
}

// Says the same by going through all times.
double first_fit(const std::vector<std::pair<double, double>>& busy, double ready_us,
                 double cost_us) {
  double start_us = ready_us;
  for (const auto& [begin_us, end_us] : busy) {
    if (end_us > ready_us) {
      if (start_us + cost_us <= begin_us) {
        break;
      }
      start_us = std::max(start_us, end_us);
    }
  }
  return start_us;
}

TEST(BusyTimes, FindsWhatASearchThroughAllTimesFinds) {
  // Costs of nothing are among them, and times that are not whole.
  RandomStream random(7);
  for (const double unit_us : {1.0, 0.1}) {
    BusyTimes device;
    std::vector<std::pair<double, double>> busy;
    for (int round = 0; round < 6000; ++round) {
      const double ready_us = unit_us * static_cast<double>(random.below(40'000));
      const double cost_us =
          random.below(8) == 0 ? 0 : unit_us * static_cast<double>(random.below(12));
      const double start_us = device.start_of_idle(ready_us, cost_us);
      ASSERT_EQ(start_us, first_fit(busy, ready_us, cost_us)) << round;
      const std::pair added(start_us, start_us + cost_us);
      device.add(added.first, added.second);
      busy.insert(
          std::upper_bound(busy.begin(), busy.end(), added,
                           [](const auto& a, const auto& b) { return a.second < b.second; }),
          added);
    }
  }
}

}  // namespace
}  // namespace emplace::agents::busy_times_test
