// An event list against a list of all events that is searched through.

#include "sim/src/physical/event_list.hpp"

#include <emplace/base/id_vector.hpp>
#include <emplace/base/random.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace emplace::physical::event_list_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(EventList, GivesTheEventsUntilATimeInTheOrderOfTheirNumbers) {
  EventList<std::int32_t> events;
  EXPECT_EQ(events.next_us(), kInfinity);
  events.push(3, 2);
  events.push(4, 0);
  events.push(6, 1);
  EXPECT_EQ(events.next_us(), 3);
  std::vector<std::int32_t> taken{7};
  EXPECT_EQ(events.take(5, 3, taken), 4);
  EXPECT_EQ(taken, (std::vector<std::int32_t>{0, 2}));
  EXPECT_EQ(events.take(5, 4.5, taken), 4.5);
  EXPECT_TRUE(taken.empty());
  EXPECT_EQ(events.next_us(), 6);
  events.clear();
  EXPECT_EQ(events.next_us(), kInfinity);
}

TEST(EventList, AgreesWithASearchThroughAll) {
  RandomStream random(1);
  EventList<std::int32_t> events;
  IdVector<std::int32_t, double> at_us;
  std::vector<std::int32_t> left;
  double now_us = 0;
  for (std::int32_t event = 0; event < 1000; ++event) {
    now_us += static_cast<double>(random.below(3));
    at_us.push_back(now_us + static_cast<double>(random.below(30)));
    events.push(at_us[event], event);
    left.push_back(event);

    const double until_us = now_us + static_cast<double>(random.below(4));
    std::vector<std::int32_t> expected;
    double last_us = 0;
    for (const std::int32_t other : left) {
      if (at_us[other] <= until_us) {
        expected.push_back(other);
        last_us = std::max(last_us, at_us[other]);
      }
    }
    std::vector<std::int32_t> taken;
    ASSERT_EQ(events.take(until_us, 0, taken), last_us);
    ASSERT_EQ(taken, expected);
    std::erase_if(left, [&](std::int32_t other) { return at_us[other] <= until_us; });
  }
}

}  // namespace
}  // namespace emplace::physical::event_list_test
