// Costs are latencies alone, in whole microseconds: the bandwidth of every link is so high that a
// megabyte takes no time.

#include "profiles/src/route_search.hpp"

#include <emplace/base/random.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <tuple>

namespace emplace::route_search_test {
namespace {

Link link_of(double latency_us) {
  return {.name = "", .bytes_per_us = 1e15, .latency_us = latency_us};
}

TEST(RouteSearch, AddsLatencyAndTheTimeForAMegabyte) {
  RouteSearch search(2, 2);
  search.add_arc(0, 1, 0, {.name = "", .bytes_per_us = 1024, .latency_us = 2.5});
  // 2.5 us + 1048576 bytes / (1024 bytes/us) = 1026.5 us.
  EXPECT_EQ(search.steps_to(1)[0].cost, (RouteCost{.ns = 1'026'500, .links = 1}));
  EXPECT_EQ(search.steps_to(1)[1].cost, RouteCost{});
  EXPECT_EQ(search.steps_to(0)[1].cost, RouteSearch::kNoRoute);  // a one-way street
}

struct Street {
  Place from;
  Place to;
  std::int64_t us;
};

struct Best {
  RouteCost cost{};
  std::vector<std::int32_t> links{};
};

// Tries every way without a place twice, and keeps the best by cost, then by its list of links.
void try_all(const std::vector<Street>& streets, DeviceId num_devices, Place here, DeviceId goal,
             std::vector<bool>& seen, Best& way, std::optional<Best>& best) {
  if (here == goal) {
    if (!best || std::tie(way.cost, way.links) < std::tie(best->cost, best->links)) {
      best = way;
    }
    return;
  }
  seen[static_cast<std::size_t>(here)] = true;
  for (std::size_t index = 0; index < streets.size(); ++index) {
    const Street& street = streets[index];
    const bool may_enter = street.to >= num_devices || street.to == goal;
    if (street.from == here && may_enter && !seen[static_cast<std::size_t>(street.to)]) {
      const RouteCost before = way.cost;
      way.cost = before + RouteCost{.ns = street.us * 1000, .links = 1};
      way.links.push_back(static_cast<std::int32_t>(index));
      try_all(streets, num_devices, street.to, goal, seen, way, best);
      way.links.pop_back();
      way.cost = before;
    }
  }
  seen[static_cast<std::size_t>(here)] = false;
}

// Latencies of 0 to 2 us on 14 links between 7 places: most pairs have several cheapest routes.
TEST(RouteSearch, FindsWhatTryingEveryWayFinds) {
  constexpr DeviceId kDevices = 3;
  constexpr Place kPlaces = 7;
  RandomStream random(7);
  int num_routes = 0;
  for (int network = 0; network < 500; ++network) {
    RouteSearch search(kDevices, kPlaces);
    std::vector<Street> streets;
    for (std::int32_t index = 0; index < 14; ++index) {
      const Street street = {.from = static_cast<Place>(random.below(kPlaces)),
                             .to = static_cast<Place>(random.below(kPlaces)),
                             .us = static_cast<std::int64_t>(random.below(3))};
      streets.push_back(street);
      search.add_arc(street.from, street.to, index, link_of(static_cast<double>(street.us)));
    }
    for (DeviceId to = 0; to < kDevices; ++to) {
      const IdVector<Place, RouteStep> steps = search.steps_to(to);
      for (DeviceId from = 0; from < kDevices; ++from) {
        std::optional<Best> best;
        std::vector<bool> seen(kPlaces);
        Best way;
        try_all(streets, kDevices, from, to, seen, way, best);
        const RouteCost found = steps[Place{from}].cost;
        ASSERT_EQ(found, best ? best->cost : RouteSearch::kNoRoute);
        if (best) {
          ASSERT_EQ(follow(steps, from), best->links);
          num_routes += from != to;
        }
      }
    }
  }
  EXPECT_GT(num_routes, 1000);
}

}  // namespace
}  // namespace emplace::route_search_test
