// Moves and changes of priorities give what a full run of the whole placement gives, in each model.

#include "support/walks.hpp"

#include <emplace/base/check.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/grouping_strategy.hpp>
#include <emplace/profiles/cluster.hpp>
#include <emplace/sim/neighbourhood.hpp>
#include <emplace/sim/simulator.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

namespace emplace::neighbourhood_test {
namespace {

Problem inception_on(const std::string& cluster) {
  auto graph = std::make_shared<const OpGraph>(load_graph("inception-v3"));
  Grouping grouping = find_grouping("neighbours").group(*graph, 100);
  return Problem(std::move(graph), std::move(grouping),
                 std::make_shared<const Cluster>(load_cluster(cluster)));
}

Placement with_priorities(Placement placement, RandomStream& random) {
  IdVector<GroupId, Priority> priorities;
  for (GroupId group = 0; group < placement.size(); ++group) {
    priorities.push_back(static_cast<Priority>(random.below(10)));
  }
  placement.set_priorities(std::move(priorities));
  return placement;
}

class Neighbourhoods : public testing::TestWithParam<const char*> {};

TEST_P(Neighbourhoods, EqualFullRunsOnAWalk) {
  const Problem problem = inception_on(GetParam());
  RandomStream random(4);
  for (const bool has_order : {false, true}) {
    Placement base = test::random_placement(problem, random);
    if (has_order) {
      base = with_priorities(std::move(base), random);
    }
    Neighbourhood neighbourhood(problem);
    Simulator simulator(problem);
    EXPECT_EQ(neighbourhood.start(base).makespan_us, simulator.run(base).makespan_us);
    for (int round = 0; round < 200; ++round) {
      std::vector<Move> moves = {
          {test::random_group(problem, random), test::random_device(problem, random)}};
      if (const Move second{test::random_group(problem, random), 0};
          second.group != moves.front().group) {
        moves.push_back(second);
      }
      const std::array<PriorityChange, 1> change = {
          {{test::random_group(problem, random), static_cast<Priority>(random.below(10))}}};
      const bool reorders = has_order && random.below(2) == 0;
      const auto try_it = [&](double cutoff_us) -> const SimResult& {
        return reorders ? neighbourhood.try_priorities(change, cutoff_us)
                        : neighbourhood.try_moves(moves, cutoff_us);
      };
      const SimResult& step = try_it(1e12);
      const SimResult& expected = simulator.run(neighbourhood.tried());
      ASSERT_EQ(step.makespan_us, expected.makespan_us);
      ASSERT_TRUE(std::ranges::equal(step.start_us, expected.start_us));
      ASSERT_TRUE(std::ranges::equal(step.end_us, expected.end_us));
      ASSERT_TRUE(std::ranges::equal(step.peak_bytes, expected.peak_bytes));
      const double step_us = step.makespan_us;
      ASSERT_TRUE(try_it(step_us).is_cut_off);
      ASSERT_TRUE(try_it(step_us / 2).is_cut_off);
      switch (random.below(4)) {
        case 0:
          ASSERT_FALSE(try_it(step_us * 1.01).is_cut_off);
          neighbourhood.accept();
          base = neighbourhood.base();
          break;
        case 1:
          base = neighbourhood.tried();
          neighbourhood.go_to(base);
          break;
        default:
          break;
      }
      ASSERT_EQ(neighbourhood.base(), base);
    }
  }
}

TEST_P(Neighbourhoods, RefuseWhatIsNoMove) {
  const Problem problem = inception_on(GetParam());
  Neighbourhood neighbourhood(problem);
  neighbourhood.start(Placement(problem.num_groups()));
  const auto refused = [&](Move move) {
    EXPECT_THROW(neighbourhood.try_moves({&move, 1}), InternalError);
  };
  refused({problem.num_groups(), 0});
  refused({-1, 0});
  refused({0, problem.num_devices()});
  refused({0, -1});
  const PriorityChange change{0, 1};
  EXPECT_THROW(neighbourhood.try_priorities({&change, 1}), InternalError);
  EXPECT_THROW(neighbourhood.go_to(Placement(1)), InternalError);
}

INSTANTIATE_TEST_SUITE_P(Models, Neighbourhoods,
                         testing::Values("p2-8xlarge-4", "dgx-1-v100", "p2-8xlarge-4-grappler"),
                         [](const testing::TestParamInfo<const char*>& cluster) {
                           std::string name = cluster.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace emplace::neighbourhood_test
