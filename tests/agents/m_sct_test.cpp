// Agent m-sct and its linear program, where they are built.

#ifdef EMPLACE_WITH_CLP

#include "agents/placing.hpp"
#include "agents/task_graphs.hpp"
#include "clp/favourite_children.hpp"
#include "support/problems.hpp"

#include <emplace/base/random.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>
#include <vector>

namespace emplace::agents::m_sct_test {
namespace {

using testing::Each;
using testing::ElementsAre;

// a(2) and e(2), then b(20) of both and c(10) of a. b is the favourite child of a: it makes the
// longer path, and e's data comes soon after a ends. The relaxation pays x of a's 10 and 1 - x of
// e's 1, and both together are the least where 10 x = 1 - x.
TaskGraph fork_and_join() {
  return {{{2, 2}, {2, 2}, {20, 20}, {10, 10}}, {{1, 3, 10}, {2, 3, 1}, {1, 4, 8}}};
}

TEST(FavouriteChildren, KeepTheEdgeOfTheLongestPath) {
  const FavouriteChildren favourites = favourite_children(make_problem(fork_and_join()));
  EXPECT_THAT(favourites.child, ElementsAre(2, kNoGroup, kNoGroup, kNoGroup));
  EXPECT_NEAR(favourites.bound_us, 2 + 10 / 11.0 + 20, 1e-6);
}

// a(1) -> b(1), c(1) with 10 each: half of each edge is paid, and no child is preferred.
TEST(FavouriteChildren, AreNoneWhereEdgesShareTheBenefit) {
  const FavouriteChildren favourites = favourite_children(
      make_problem(TaskGraph{{{1, 1}, {1, 1}, {1, 1}}, {{1, 2, 10}, {1, 3, 10}}}));
  EXPECT_THAT(favourites.child, Each(kNoGroup));
  EXPECT_NEAR(favourites.bound_us, 1 + 5 + 1, 1e-6);
}

TEST(FavouriteChildren, AreNoneIfTheSolverIsStopped) {
  int asked = 0;
  const FavouriteChildren favourites =
      favourite_children(make_problem(fork_and_join()), [&] { return ++asked > 0; });
  EXPECT_GT(asked, 0);
  EXPECT_THAT(favourites.child, Each(kNoGroup));
  EXPECT_EQ(favourites.bound_us, 0);
}

TEST(FavouriteChildren, CostNothingAlongAChain) {
  const FavouriteChildren favourites =
      favourite_children(test::make_problem(test::chain_graph({10, 20, 30}, 5)));
  EXPECT_THAT(favourites.child, ElementsAre(1, 2, kNoGroup));
  EXPECT_NEAR(favourites.bound_us, 60, 1e-6);
}

// Returns the shortest step if the edges that are paid may be chosen: one of 2^edges.
double integer_optimum_us(const TaskGraph& tasks) {
  const std::size_t num_tasks = tasks.costs.size();
  double best_us = std::numeric_limits<double>::infinity();
  for (unsigned free = 0; free < 1U << tasks.edges.size(); ++free) {
    std::set<OpId> parents;
    std::set<OpId> children;
    bool is_matching = true;
    std::vector<double> finish(num_tasks + 1, 0);
    for (std::size_t edge = 0; edge < tasks.edges.size(); ++edge) {
      if ((free >> edge & 1U) != 0) {
        is_matching = parents.insert(tasks.edges[edge].from).second && is_matching;
        is_matching = children.insert(tasks.edges[edge].to).second && is_matching;
      }
    }
    if (!is_matching) {
      continue;
    }
    double step_us = 0;
    for (OpId task = 1; task <= static_cast<OpId>(num_tasks); ++task) {  // edges lead upwards
      double start = 0;
      for (std::size_t edge = 0; edge < tasks.edges.size(); ++edge) {
        const TaskGraph::Edge& into = tasks.edges[edge];
        const bool is_free = (free >> edge & 1U) != 0;
        if (into.to == task) {
          start = std::max(start, finish[static_cast<std::size_t>(into.from)] +
                                      (is_free ? 0.0 : static_cast<double>(into.cost)));
        }
      }
      finish[static_cast<std::size_t>(task)] =
          start + tasks.costs[static_cast<std::size_t>(task) - 1].front();
      step_us = std::max(step_us, finish[static_cast<std::size_t>(task)]);
    }
    best_us = std::min(best_us, step_us);
  }
  return best_us;
}

// The relaxation is between the longest path without transfers and the integer program, and its
// favourites are a matching.
TEST(FavouriteChildren, BoundTheIntegerProgram) {
  RandomStream random(5);
  for (int draw = 0; draw < 100; ++draw) {
    TaskGraph tasks;
    for (OpId task = 1; task <= 7; ++task) {
      tasks.costs.emplace_back(2, static_cast<double>(1 + random.below(20)));
      for (OpId from = 1; from < task && tasks.edges.size() < 10; ++from) {
        if (random.below(3) == 0) {
          tasks.edges.push_back({from, task, static_cast<std::int64_t>(1 + random.below(30))});
        }
      }
    }
    TaskGraph without_transfers = tasks;
    for (TaskGraph::Edge& edge : without_transfers.edges) {
      edge.cost = 0;
    }
    const FavouriteChildren favourites = favourite_children(make_problem(tasks));
    EXPECT_LE(favourites.bound_us, integer_optimum_us(tasks) + 1e-6);
    EXPECT_GE(favourites.bound_us, integer_optimum_us(without_transfers) - 1e-6);
    std::set<GroupId> children;
    for (const GroupId child : favourites.child) {
      EXPECT_TRUE(child == kNoGroup || children.insert(child).second);
    }
  }
}

// At 2, m-etf puts c behind a on P1, and b has to wait until 12. m-sct keeps P1 for b, which starts
// at 3, and c goes to P2 at 10.
TEST(MSct, WaitsForAFavouriteChild) {
  const Problem problem = make_problem(fork_and_join());
  EXPECT_THAT(place("m-etf", problem), ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(place("m-sct", problem), ElementsAre(0, 1, 0, 1));
}

TEST(MSct, GoesOnWhereAFavouriteChildDoesNotFit) {
  const Problem problem = test::make_problem(
      test::make_graph({{.name = "a", .output_bytes = 10, .persistent_bytes = 60},
                        {.name = "b", .producers = {0}, .persistent_bytes = 60}}),
      {.memory_bytes = 100});
  EXPECT_THAT(place("m-sct", problem), ElementsAre(0, 1));
}

}  // namespace
}  // namespace emplace::agents::m_sct_test

#endif  // EMPLACE_WITH_CLP
