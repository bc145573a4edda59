// How flows share links, as worked examples: bandwidths and bytes are small, and each expected
// moment is derived beside it.

#include "sim/src/physical/network.hpp"

#include "support/machines.hpp"

#include <emplace/base/random.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <vector>

namespace emplace::physical::network_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Link fair(double bytes_per_us) { return {.bytes_per_us = bytes_per_us}; }
Link fifo(double bytes_per_us) {
  return {.bytes_per_us = bytes_per_us, .sharing = LinkSharing::kFifo};
}
Link fatpipe(double bytes_per_us) {
  return {.bytes_per_us = bytes_per_us, .sharing = LinkSharing::kFatpipe};
}

// A topology whose route from device 2i to device 2i + 1 is `routes[i]`; only flows from even to
// odd devices are meant. A fair link of no concern completes it.
Topology pairs(std::vector<Link> links, const std::vector<std::vector<std::int32_t>>& routes) {
  links.push_back(fair(1));
  const auto other = static_cast<std::int32_t>(links.size() - 1);
  const auto num_devices = static_cast<DeviceId>(2 * routes.size());
  Topology topology(num_devices, std::move(links));
  for (DeviceId from = 0; from < num_devices; ++from) {
    for (DeviceId to = 0; to < num_devices; ++to) {
      if (from != to) {
        topology.set_route(from, to, {other});
      }
    }
  }
  for (std::size_t pair = 0; pair < routes.size(); ++pair) {
    topology.set_route(static_cast<DeviceId>(2 * pair), static_cast<DeviceId>(2 * pair + 1),
                       routes[pair]);
  }
  return topology;
}

// Adds flow `name` on the route of a pair.
void add(Network& network, std::int32_t name, DeviceId pair, double bytes, double now_us = 0) {
  network.add(name, 2 * pair, 2 * pair + 1, bytes, now_us);
}

double rate(const Network& network, DeviceId pair) { return network.rate(2 * pair, 2 * pair + 1); }

// Lets all flows run to their ends; returns when each ended.
std::map<std::int32_t, double> run_to_end(Network& network, double now_us = 0) {
  std::map<std::int32_t, double> ends;
  std::vector<Network::Ended> ended;
  for (network.share(now_us); network.next_end_us() < kInfinity; network.share(now_us)) {
    now_us = network.next_end_us();
    ended.clear();
    network.take_ended(now_us, ended);
    EXPECT_FALSE(ended.empty());
    for (const Network::Ended& flow : ended) {
      ends[flow.flow] = flow.at_us;
    }
  }
  return ends;
}

TEST(Network, AFlowAloneGetsTheBandwidthOfItsNarrowestLink) {
  const Topology topology = pairs({fair(10), fair(4), fair(8)}, {{0, 1, 2}});
  Network network(topology, 2, 1);
  EXPECT_EQ(network.next_end_us(), kInfinity);
  add(network, 0, 0, 100, 7);
  network.share(7);
  EXPECT_DOUBLE_EQ(rate(network, 0), 4);
  EXPECT_DOUBLE_EQ(network.next_end_us(), 7 + 100.0 / 4);
}

// A flow on the route of a pair, and when it ends.
struct Flow {
  DeviceId pair;
  double bytes;
  double end_us;
};

// Expects of flows that begin together, in this order, when they end.
void expect_ends(const Topology& topology, const std::vector<Flow>& flows) {
  Network network(topology, topology.num_devices(), 6);
  for (std::size_t name = 0; name < flows.size(); ++name) {
    add(network, static_cast<std::int32_t>(name), flows[name].pair, flows[name].bytes);
  }
  auto ends = run_to_end(network);
  for (std::size_t name = 0; name < flows.size(); ++name) {
    EXPECT_DOUBLE_EQ(ends[static_cast<std::int32_t>(name)], flows[name].end_us) << name;
  }
}

// Expects the rate of the flows of each pair, which has one or, where it is named, several.
void expect_rates(const Topology& topology, const std::vector<double>& rates,
                  const std::vector<DeviceId>& more_flows = {}) {
  Network network(topology, topology.num_devices(), 6);
  std::int32_t name = 0;
  for (; name < std::ssize(rates); ++name) {
    add(network, name, name, 100);
  }
  for (const DeviceId pair : more_flows) {
    add(network, name++, pair, 100);
  }
  network.share(0);
  for (std::size_t pair = 0; pair < rates.size(); ++pair) {
    EXPECT_DOUBLE_EQ(rate(network, static_cast<DeviceId>(pair)), rates[pair]) << pair;
  }
}

TEST(Network, FlowsOnOneLinkShareItEqually) {
  // Three flows at 4 bytes/us. The one of 40 ends at 10. Of the others 60 and 100 bytes are left,
  // at 6 bytes/us: the second ends at 20. Then 40 bytes are left for the third, at 12.
  expect_ends(pairs({fair(12)}, {{0}, {0}}), {{0, 40, 10}, {1, 100, 20}, {1, 140, 20 + 40.0 / 12}});
}

TEST(Network, AFlowThatComesLaterTakesItsShareFromThen) {
  const Topology topology = pairs({fair(10)}, {{0}, {0}});
  Network network(topology, 4, 2);
  // 100 bytes at 10 bytes/us: at 4 us, 60 are left. Then 5 bytes/us each: the second flow's 30 are
  // through at 10, when 30 of the first are left, at 10 bytes/us again: 13.
  add(network, 0, 0, 100, 0);
  network.share(0);
  EXPECT_DOUBLE_EQ(network.next_end_us(), 10);
  add(network, 1, 1, 30, 4);
  auto ends = run_to_end(network, 4);
  EXPECT_DOUBLE_EQ(ends[1], 10);
  EXPECT_DOUBLE_EQ(ends[0], 13);
}

TEST(Network, WhatANarrowLinkLeavesGoesToTheOthers) {
  // Link 0 of 10 has flows a and b; b also takes link 1 of 2. Max-min: b gets 2, a the other 8.
  const Topology topology = pairs({fair(10), fair(2)}, {{0}, {0, 1}});
  expect_rates(topology, {8, 2});
  expect_ends(topology, {{0, 80, 10}, {1, 30, 15}});  // never more than its own link gives
}

TEST(Network, ALongFlowGetsAnEqualShareOfALineOfLinks) {
  // The classic line (Bertsekas and Gallager, Data Networks, 6.5.2): n links of bandwidth 1, a
  // flow over all, and one flow on each. Max-min gives 1/2 to everyone.
  expect_rates(pairs({fair(1), fair(1), fair(1)}, {{0, 1, 2}, {0}, {1}, {2}}),
               {0.5, 0.5, 0.5, 0.5});
}

TEST(Network, SharesAreFixedLinkByLinkFromTheNarrowest) {
  // Link 0 of 3 has a, b and c, the least share: 1 each. Then link 3 of 3 has f alone: 3. Then link
  // 1 of 5 has c and d: what c leaves is d's, 4. Of the 12 of link 2, e gets what is left: 5.
  expect_rates(
      pairs({fair(3), fair(5), fair(12), fair(3)}, {{0}, {0}, {0, 1}, {1, 2}, {2}, {2, 3}}),
      {1, 1, 1, 4, 5, 3});
}

TEST(Network, AFatpipeLimitsEachFlowAlone) {
  // Three flows over a fatpipe of 5, two of them on a link of 12 as well, with a fourth flow that
  // has no other limit: the limited get 12/3 = 4 there, and 5 where nothing else is in the way.
  expect_rates(pairs({fatpipe(5), fair(12)}, {{0, 1}, {1}, {0}}), {4, 4, 5}, {0});
}

TEST(Network, WhatALimitedFlowCannotUseGoesToTheOthers) {
  // A link of 12, a flow limited to 3: the other gets 9.
  const Topology topology = pairs({fatpipe(3), fair(12)}, {{0, 1}, {1}});
  expect_rates(topology, {3, 9});
  expect_ends(topology, {{0, 30, 10}, {1, 90, 10}});
}

TEST(Network, AFifoLinkServesOneAfterTheOtherInTheOrderOfArrival) {
  // 10 bytes/us: 50 bytes until 5, 20 until 7, 30 until 10, although the shortest came second.
  const Topology topology = pairs({fifo(10)}, {{0}, {0}});
  Network network(topology, 4, 3);
  add(network, 2, 0, 50);
  add(network, 0, 1, 20);
  add(network, 1, 0, 30);
  auto ends = run_to_end(network);
  EXPECT_DOUBLE_EQ(ends[2], 5);
  EXPECT_DOUBLE_EQ(ends[0], 7);
  EXPECT_DOUBLE_EQ(ends[1], 10);
}

TEST(Network, AFlowMovesWhenAllItsFifoLinksAdmitIt) {
  // a holds link 0 until 10. b came second and wants links 0 and 1: it holds its place on link 1,
  // so c, which wants only link 1, waits for b: b until 20, c until 30.
  expect_ends(pairs({fifo(10), fifo(10)}, {{0}, {0, 1}, {1}}),
              {{0, 100, 10}, {1, 100, 20}, {2, 100, 30}});
}

TEST(Network, LinksWantedInOppositeOrdersDoNotBlockEachOther) {
  // Routes name links in any order; whoever came first has both.
  expect_ends(pairs({fifo(10), fifo(10)}, {{0, 1}, {1, 0}}), {{0, 100, 10}, {1, 100, 20}});
}

TEST(Network, AFlowOnAFifoLinkSharesItsFairLinks) {
  // a and b take fifo link 0 and fair link 1 of 12; c takes only link 1. First a and c, at 6: a's
  // 60 until 10. Then b and c: b's 60 until 20, when c has its 120.
  expect_ends(pairs({fifo(100), fair(12)}, {{0, 1}, {1}}),
              {{0, 60, 10}, {0, 60, 20}, {1, 120, 20}});
}

TEST(Network, EqualFlowsEndTogether) {
  constexpr std::int32_t kFlows = 1000;
  const Topology topology = test::star(8, fair(7), fair(7));
  Network network(topology, 8, kFlows * 8);
  std::int32_t name = 0;
  for (std::int32_t flow = 0; flow < kFlows; ++flow) {
    for (DeviceId from = 0; from < 8; ++from) {
      network.add(name++, from, (from + 1) % 8, 13, 0);
    }
  }
  network.share(0);
  const double end_us = network.next_end_us();
  EXPECT_NEAR(end_us, 13.0 * kFlows / 7, 1e-9);
  std::vector<Network::Ended> ended;
  network.take_ended(end_us, ended);
  EXPECT_EQ(ended.size(), kFlows * 8);
  network.share(end_us);
  EXPECT_EQ(network.next_end_us(), kInfinity);
}

// One flow on each of 60 routes that share a link of 60 bytes/us, of 1, 2, ... bytes. Until the
// n-th ends, 61 - n share the link, and each gets one byte more.
TEST(Network, ManyRoutesShareALinkUntilTheyEndOneByOne) {
  constexpr std::int32_t kRoutes = 60;
  std::vector<Link> links{fair(kRoutes)};
  std::vector<std::vector<std::int32_t>> routes;
  for (std::int32_t route = 1; route <= kRoutes; ++route) {
    links.push_back(fair(1000));
    routes.push_back({0, route});
  }
  const Topology topology = pairs(links, routes);
  Network network(topology, topology.num_devices(), kRoutes);
  for (std::int32_t at = 0; at < kRoutes; ++at) {
    const std::int32_t name = 7 * at % kRoutes;  // the first to end are not the last that came
    add(network, name, name, name + 1);
  }
  auto ends = run_to_end(network);
  double end_us = 0;
  for (std::int32_t name = 0; name < kRoutes; ++name) {
    end_us += static_cast<double>(kRoutes - name) / kRoutes;
    EXPECT_NEAR(ends[name], end_us, 1e-9) << name;
  }
}

TEST(Network, ForgetsEverythingOnReset) {
  const Topology topology = pairs({fifo(10), fatpipe(4)}, {{0, 1}});
  Network network(topology, 2, 2);
  for (int round = 0; round < 3; ++round) {
    add(network, 0, 0, 100);
    add(network, 1, 0, 100);
    network.share(0);
    EXPECT_DOUBLE_EQ(network.next_end_us(), 25);
    network.reset();
    EXPECT_EQ(network.next_end_us(), kInfinity);
  }
}

// A network with the flows that move and those that wait, for checks against first principles.
class Watched {
 public:
  struct Flow {
    DeviceId from;
    DeviceId to;
    double left;
    int order;
  };

  Watched(const Topology& topology, DeviceId num_devices, std::int32_t max_flows)
      : topology_(topology), network_(topology, num_devices, max_flows) {}

  void add(std::int32_t name, DeviceId from, DeviceId to, double bytes) {
    network_.add(name, from, to, bytes, now_us_);
    flows_[name] = {from, to, bytes, static_cast<int>(flows_.size()) + num_ended_};
  }

  bool is_empty() const { return flows_.empty(); }

  // Shares, checks, and goes to the next end, or to `until_us`.
  void advance(double until_us) {
    network_.share(now_us_);
    check();
    const double next_us = std::min(network_.next_end_us(), until_us);
    ASSERT_GE(next_us, now_us_);
    ASSERT_LT(next_us, kInfinity) << "flows are left that never end";
    for (auto& [name, flow] : flows_) {
      flow.left -= rate(flow) * (next_us - now_us_);
    }
    now_us_ = next_us;
    std::vector<Network::Ended> ended;
    network_.take_ended(now_us_, ended);
    for (const Network::Ended& end : ended) {
      EXPECT_NEAR(flows_.at(end.flow).left, 0, 1e-6);  // it got its bytes, no more and no less
      flows_.erase(end.flow);
      ++num_ended_;
    }
  }

  double now_us() const { return now_us_; }

 private:
  const Link& link(std::int32_t id) const { return topology_.links()[id]; }

  bool takes(const Flow& flow, std::int32_t id) const {
    const auto route = topology_.route(flow.from, flow.to);
    return std::find(route.begin(), route.end(), id) != route.end();
  }

  // A flow moves if no flow that came before it is on one of its fifo links.
  bool moves(const Flow& flow) const {
    return std::ranges::none_of(flows_, [&](const auto& other) {
      return other.second.order < flow.order &&
             std::ranges::any_of(topology_.route(flow.from, flow.to), [&](std::int32_t id) {
               return link(id).sharing == LinkSharing::kFifo && takes(other.second, id);
             });
    });
  }

  double rate(const Flow& flow) const {
    return moves(flow) ? network_.rate(flow.from, flow.to) : 0;
  }

  // Max-min fairness by its definition: no link is over its bandwidth, and each flow that moves has
  // a bottleneck, a link that is full on which no flow is faster, or a limit that it has reached.
  void check() const {
    std::vector<double> used(topology_.links().size());
    std::vector<double> fastest(used.size());
    for (const auto& [name, flow] : flows_) {
      for (const std::int32_t id : topology_.route(flow.from, flow.to)) {
        used[id] += rate(flow);
        fastest[id] = std::max(fastest[id], rate(flow));
      }
    }
    const auto is_full = [](double bytes_per_us, double bandwidth) {
      return bytes_per_us >= bandwidth * (1 - 1e-9);
    };
    for (std::size_t id = 0; id < used.size(); ++id) {
      const double most = link(static_cast<std::int32_t>(id)).sharing == LinkSharing::kFatpipe
                              ? fastest[id]
                              : used[id];
      EXPECT_LE(most, link(static_cast<std::int32_t>(id)).bytes_per_us * (1 + 1e-9));
    }
    for (const auto& [name, flow] : flows_) {
      const bool is_held = std::ranges::any_of(
          topology_.route(flow.from, flow.to), [&, &flow = flow](std::int32_t id) {
            return link(id).sharing == LinkSharing::kFatpipe
                       ? is_full(rate(flow), link(id).bytes_per_us)
                       : is_full(used[id], link(id).bytes_per_us) &&
                             rate(flow) >= fastest[id] * (1 - 1e-9);
          });
      EXPECT_TRUE(is_held || !moves(flow)) << "flow " << name << " could be faster";
    }
  }

  const Topology& topology_;
  Network network_;
  std::map<std::int32_t, Flow> flows_;
  int num_ended_ = 0;
  double now_us_ = 0;
};

TEST(Network, IsMaxMinFairAtEveryMoment) {
  RandomStream random(11);
  for (int round = 0; round < 300 && !::testing::Test::HasFailure(); ++round) {
    SCOPED_TRACE(round);
    constexpr DeviceId kDevices = 6;
    constexpr std::int32_t kFlows = 40;
    std::vector<Link> links;
    for (int id = 0; id < 7; ++id) {
      const double bytes_per_us = static_cast<double>(1 + random.below(20));
      const std::array kinds{fair(bytes_per_us), fair(bytes_per_us), fifo(bytes_per_us),
                             fatpipe(bytes_per_us)};
      links.push_back(kinds[random.below(kinds.size())]);
    }
    Topology topology(kDevices, links);
    for (DeviceId from = 0; from < kDevices; ++from) {
      for (DeviceId to = 0; to < kDevices; ++to) {
        if (from != to) {
          std::vector<std::int32_t> route{0, 1, 2, 3, 4, 5, 6};
          random.shuffle(std::span(route));
          route.resize(1 + random.below(4));
          topology.set_route(from, to, route);
        }
      }
    }
    Watched network(topology, kDevices, kFlows);
    for (std::int32_t flow = 0; flow < kFlows; ++flow) {
      const auto from = static_cast<DeviceId>(random.below(kDevices));
      const auto to = static_cast<DeviceId>(
          (static_cast<std::uint64_t>(from) + 1 + random.below(kDevices - 1)) % kDevices);
      network.add(flow, from, to, static_cast<double>(1 + random.below(100)));
      const double until_us = network.now_us() + static_cast<double>(random.below(4));
      while (!network.is_empty() && network.now_us() < until_us) {
        network.advance(until_us);
      }
    }
    while (!network.is_empty()) {
      network.advance(kInfinity);
    }
  }
}

}  // namespace
}  // namespace emplace::physical::network_test
