// List schedulers against the formulas of their papers, written down as plainly as they can be:
// without what makes them fast, and with a schedule of their own.

#include "agents/placing.hpp"
#include "agents/src/heuristic/list_scheduling.hpp"
#include "agents/src/heuristic/ranks.hpp"
#include "agents/task_graphs.hpp"
#include "support/test_names.hpp"

#include <emplace/base/random.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace emplace::agents::list_schedulers_test {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// Draws up to 30 tasks on up to 4 processors. Costs are so many different numbers that ties are
// rare; those that all rules have (tasks that end the graph) are broken alike.
TaskGraph random_tasks(RandomStream& random) {
  TaskGraph tasks;
  const auto num_tasks = static_cast<OpId>(2 + random.below(29));
  const std::size_t num_processors = 1 + random.below(4);
  for (OpId task = 1; task <= num_tasks; ++task) {
    std::vector<double>& costs = tasks.costs.emplace_back();
    for (std::size_t processor = 0; processor < num_processors; ++processor) {
      costs.push_back(static_cast<double>(1 + random.below(10'000)));
    }
    for (OpId from = 1; from < task; ++from) {
      if (random.uniform() < 3.0 / task) {
        tasks.edges.push_back({from, task, static_cast<std::int64_t>(1 + random.below(10'000))});
      }
    }
  }
  return tasks;
}

// Schedules a task graph by the rule of an agent.
class PlainScheduler {
 public:
  PlainScheduler(const TaskGraph& tasks, std::span<const GroupId> topological_order)
      : tasks_(tasks),
        order_(topological_order.begin(), topological_order.end()),
        processor_(tasks.costs.size(), -1),
        start_(tasks.costs.size(), 0),
        least_level_(start_),
        median_level_(start_),
        upward_(start_),
        downward_(start_),
        optimistic_(tasks.costs.size()) {
    rank();
  }

  std::vector<DeviceId> place(const std::string& agent) {
    for (std::size_t step = 0; step < order_.size(); ++step) {
      const auto [task, processor] = choose(agent);
      const double start = agent == "heft" || agent == "cpop" || agent == "peft"
                               ? inserted(task, processor)
                               : appended(task, processor);
      processor_[task] = processor;
      start_[task] = start;
    }
    return processor_;
  }

 private:
  using Pair = std::pair<std::size_t, DeviceId>;

  // Returns the task and the processor that the agent takes next: those with the least key.
  Pair choose(const std::string& agent) const {
    if (agent == "heft" || agent == "cpop" || agent == "peft") {
      return choose_task_first(agent);
    }
    Pair best;
    std::vector<double> best_key{kNever};
    for (const std::size_t task : ready()) {
      for (DeviceId processor = 0; processor < processors(); ++processor) {
        const double start = appended(task, processor);
        const double finish = start + cost(task, processor);
        std::vector<double> key;
        if (agent == "etf") {
          key = {start, -least_level_[task], 0};
        } else if (agent == "min-min") {
          key = {finish, 0};
        } else if (agent == "dls") {
          const double median = cost_of(task, Cost::kMedian);
          key = {-(median_level_[task] - start + median - cost(task, processor)), 0};
        } else {  // max-min: the latest of the earliest
          double earliest = kNever;
          for (DeviceId other = 0; other < processors(); ++other) {
            earliest = std::min(earliest, appended(task, other) + cost(task, other));
          }
          key = {-earliest, finish - earliest};
        }
        // On a tie the same task goes where it is cheaper; else the first task stays.
        if (key < best_key || (key == best_key && task == best.first &&
                               cost(task, processor) < cost(task, best.second))) {
          best = {task, processor};
          best_key = key;
        }
      }
    }
    return best;
  }

  Pair choose_task_first(const std::string& agent) const {
    const std::vector<std::size_t> ready_tasks = ready();
    const std::size_t task = *std::ranges::max_element(ready_tasks, {}, [&](std::size_t candidate) {
      return agent == "heft"   ? upward_[candidate]
             : agent == "cpop" ? upward_[candidate] + downward_[candidate]
                               : mean_optimistic(candidate);
    });
    if (agent == "cpop") {
      const std::vector<std::size_t> path = critical_path();
      if (std::ranges::count(path, task) == 1) {
        return {task, fastest_processor(path)};
      }
    }
    DeviceId best = 0;
    double least = kNever;
    for (DeviceId processor = 0; processor < processors(); ++processor) {
      const double finish = inserted(task, processor) + cost(task, processor);
      const double key = agent == "peft"
                             ? finish + optimistic_[task][static_cast<std::size_t>(processor)]
                             : finish;
      if (key < least) {
        least = key;
        best = processor;
      }
    }
    return {task, best};
  }

  enum class Cost { kLeast, kMean, kMedian };

  double cost(std::size_t task, DeviceId processor) const {
    return tasks_.costs[task][static_cast<std::size_t>(processor)];
  }
  DeviceId processors() const { return static_cast<DeviceId>(tasks_.costs.front().size()); }

  double cost_of(std::size_t task, Cost cost) const {
    std::vector<double> costs = tasks_.costs[task];
    std::ranges::sort(costs);
    const std::size_t half = costs.size() / 2;
    switch (cost) {
      case Cost::kLeast:
        return costs.front();
      case Cost::kMean:
        return std::accumulate(costs.begin(), costs.end(), 0.0) / static_cast<double>(costs.size());
      default:
        return costs.size() % 2 == 1 ? costs[half] : (costs[half - 1] + costs[half]) / 2;
    }
  }

  // Edges out of a task, or into it, as (other task, cost).
  std::vector<std::pair<std::size_t, double>> consumers(std::size_t task) const {
    std::vector<std::pair<std::size_t, double>> result;
    for (const TaskGraph::Edge& edge : tasks_.edges) {
      if (static_cast<std::size_t>(edge.from - 1) == task) {
        result.emplace_back(edge.to - 1, edge.cost);
      }
    }
    return result;
  }
  std::vector<std::pair<std::size_t, double>> producers(std::size_t task) const {
    std::vector<std::pair<std::size_t, double>> result;
    for (const TaskGraph::Edge& edge : tasks_.edges) {
      if (static_cast<std::size_t>(edge.to - 1) == task) {
        result.emplace_back(edge.from - 1, edge.cost);
      }
    }
    return result;
  }

  // Ranks, last task first (first task first for downward_), as edges lead to later tasks.
  void rank() {
    for (std::size_t task = tasks_.costs.size(); task-- > 0;) {
      double least = 0;
      double median = 0;
      for (const auto& [consumer, transfer] : consumers(task)) {
        least = std::max(least, least_level_[consumer]);
        median = std::max(median, median_level_[consumer]);
        upward_[task] = std::max(upward_[task], transfer + upward_[consumer]);
      }
      least_level_[task] = cost_of(task, Cost::kLeast) + least;
      median_level_[task] = cost_of(task, Cost::kMedian) + median;
      upward_[task] += cost_of(task, Cost::kMean);
      for (DeviceId processor = 0; processor < processors(); ++processor) {
        optimistic_[task].push_back(optimistic(task, processor));
      }
    }
    for (std::size_t task = 0; task < tasks_.costs.size(); ++task) {
      for (const auto& [producer, transfer] : producers(task)) {
        downward_[task] = std::max(downward_[task],
                                   downward_[producer] + cost_of(producer, Cost::kMean) + transfer);
      }
    }
  }
  double optimistic(std::size_t task, DeviceId processor) const {
    double longest = 0;
    for (const auto& [consumer, transfer] : consumers(task)) {
      double shortest = kNever;
      for (DeviceId other = 0; other < processors(); ++other) {
        shortest =
            std::min(shortest, optimistic_[consumer][static_cast<std::size_t>(other)] +
                                   cost(consumer, other) + (other == processor ? 0 : transfer));
      }
      longest = std::max(longest, shortest);
    }
    return longest;
  }
  double mean_optimistic(std::size_t task) const {
    return std::accumulate(optimistic_[task].begin(), optimistic_[task].end(), 0.0) / processors();
  }

  // The path from the task of the highest priority along tasks of the same priority.
  std::vector<std::size_t> critical_path() const {
    const auto longest = std::ranges::max_element(
        order_, {}, [&](GroupId group) { return upward_[static_cast<std::size_t>(group)]; });
    const auto first = static_cast<std::size_t>(*longest);
    std::vector<std::size_t> path{first};
    for (bool goes_on = true; goes_on;) {
      goes_on = false;
      for (const auto& [consumer, ignored] : consumers(path.back())) {
        if (!goes_on && std::abs(upward_[consumer] + downward_[consumer] - upward_[first]) < 1e-6) {
          path.push_back(consumer);
          goes_on = true;
          break;
        }
      }
    }
    return path;
  }
  DeviceId fastest_processor(const std::vector<std::size_t>& path) const {
    DeviceId best = 0;
    double least = kNever;
    for (DeviceId processor = 0; processor < processors(); ++processor) {
      double sum = 0;
      for (const std::size_t task : path) {
        sum += cost(task, processor);
      }
      if (sum < least) {
        least = sum;
        best = processor;
      }
    }
    return best;
  }

  // Tasks whose producers are all scheduled, in topological order.
  std::vector<std::size_t> ready() const {
    std::vector<std::size_t> result;
    for (const GroupId group : order_) {
      const auto task = static_cast<std::size_t>(group);
      const auto inputs = producers(task);
      if (processor_[task] < 0 && std::ranges::all_of(inputs, [&](const auto& input) {
            return processor_[input.first] >= 0;
          })) {
        result.push_back(task);
      }
    }
    return result;
  }

  double data_ready(std::size_t task, DeviceId processor) const {
    double latest = 0;
    for (const auto& [producer, transfer] : producers(task)) {
      const double finish = start_[producer] + cost(producer, processor_[producer]);
      latest = std::max(latest, finish + (processor_[producer] == processor ? 0 : transfer));
    }
    return latest;
  }
  // Busy times of a processor, by start.
  std::vector<std::pair<double, double>> busy(DeviceId processor) const {
    std::vector<std::pair<double, double>> result;
    for (std::size_t task = 0; task < processor_.size(); ++task) {
      if (processor_[task] == processor) {
        result.emplace_back(start_[task], start_[task] + cost(task, processor));
      }
    }
    std::ranges::sort(result);
    return result;
  }
  double appended(std::size_t task, DeviceId processor) const {
    double start = data_ready(task, processor);
    for (const auto& [begin, end] : busy(processor)) {
      start = std::max(start, end);
    }
    return start;
  }
  double inserted(std::size_t task, DeviceId processor) const {
    double start = data_ready(task, processor);
    for (const auto& [begin, end] : busy(processor)) {
      if (start + cost(task, processor) <= begin) {
        break;
      }
      start = std::max(start, end);
    }
    return start;
  }

  const TaskGraph& tasks_;
  std::vector<GroupId> order_;
  std::vector<DeviceId> processor_;  // of each task; -1: not scheduled
  std::vector<double> start_;
  std::vector<double> least_level_;
  std::vector<double> median_level_;
  std::vector<double> upward_;
  std::vector<double> downward_;
  std::vector<std::vector<double>> optimistic_;  // by task and processor
};

class ListScheduler : public testing::TestWithParam<std::string> {};

TEST_P(ListScheduler, PlacesRandomTaskGraphsByTheRuleOfItsPaper) {
  RandomStream random(17);
  for (int draw = 0; draw < 200; ++draw) {
    const TaskGraph tasks = random_tasks(random);
    const Problem problem = make_problem(tasks);
    ASSERT_EQ(place(GetParam(), problem),
              PlainScheduler(tasks, problem.group_order()).place(GetParam()))
        << "draw " << draw;
  }
}

// Against a search through all pairs, where many groups and devices can start at one time: costs
// and bytes are of few values, and many groups depend on none.
TEST(Etf, BreaksTiesAsASearchThroughAllPairsDoes) {
  RandomStream random(23);
  for (int draw = 0; draw < 200; ++draw) {
    TaskGraph tasks;
    const std::size_t num_processors = 1 + random.below(4);
    for (OpId task = 1; task <= 40; ++task) {
      std::vector<double>& costs = tasks.costs.emplace_back();
      for (std::size_t processor = 0; processor < num_processors; ++processor) {
        costs.push_back(static_cast<double>(1 + random.below(3)));
      }
      for (OpId from = 1; from < task; ++from) {
        if (random.uniform() < 1.0 / task) {
          tasks.edges.push_back({from, task, static_cast<std::int64_t>(random.below(3))});
        }
      }
    }
    const Problem problem = make_problem(tasks);
    const GroupTimes level_us =
        times_to_end_us(problem, least_costs_us(problem), Transfers::kIgnored);
    ListSchedule schedule(problem);
    while (!schedule.ready_groups().empty()) {
      const auto [group, device] =
          least_ready_pair(problem, schedule, [&](GroupId ready, DeviceId candidate) {
            return std::pair(schedule.start_if(ready, candidate), -level_us[ready]);
          });
      schedule.assign(group, device);
    }
    const Placement expected = std::move(schedule).take();
    ASSERT_THAT(place("etf", problem), testing::ElementsAreArray(expected.devices()))
        << "draw " << draw;
  }
}

INSTANTIATE_TEST_SUITE_P(Agents, ListScheduler,
                         testing::Values("heft", "cpop", "peft", "etf", "dls", "min-min",
                                         "max-min"),
                         test::kNamedByParameter);

// A schedule of 100,000 groups may take a minute, for which nobody waits who has stopped it.
TEST(ListSchedulers, EndWhereTheEvaluatorIsStopped) {
  const Problem problem = make_problem(example_of_2002());
  const std::atomic<bool> stop{true};
  for (const std::string name :
       {"cpop", "dls", "etf", "heft", "m-etf", "max-min", "min-min", "peft"}) {
    const std::vector<DeviceId> devices = place(name, problem, {.budget = {.stop = &stop}});
    EXPECT_THAT(devices, testing::Each(problem.placeable_devices().front())) << name;
    EXPECT_THAT(place(name, problem), testing::Not(testing::ContainerEq(devices))) << name;
  }
}

}  // namespace
}  // namespace emplace::agents::list_schedulers_test
