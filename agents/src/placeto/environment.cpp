#include "environment.hpp"

#include "policy_gradient/group_limit.hpp"
#include "search/starts.hpp"

#include <emplace/agents/placement_json.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace emplace::agents::placeto {
namespace {

constexpr double kBytesPerGigabyte = 1e9;
constexpr double kUsPerSecond = 1e6;

// Of the authors' file, in units of time: what each 10^9 bytes over the memory limit add to a time,
// and its upper limit.
constexpr double kMemoryPenalty = 2;
constexpr double kTimeCap = 10;

// The total work: the time of all ops in sequence, each on the device that runs it fastest.
double work_us(const Problem& problem) {
  double sum_us = 0;
  for (OpId op = 0; op < problem.num_ops(); ++op) {
    double least_us = std::numeric_limits<double>::infinity();
    for (const DeviceId device : problem.placeable_devices()) {
      least_us = std::min(least_us, problem.cost_us(op, device));
    }
    sum_us += least_us;
  }
  return sum_us;
}

// Says whether the rollouts of `problem` keep start times: those of all groups at each visit to
// one. Refuses those that are too many.
bool keeps_start_times(const Problem& problem, const EpisodeOptions& options) {
  const bool keeps = options.reward != Reward::kTerminal;
  if (keeps) {
    policy_gradient::check_group_limit(
        "placeto", problem.num_groups(),
        {.per_pair_bytes = static_cast<double>(sizeof(float) * options.workers)},
        "reward=terminal");
  }
  return keeps;
}

std::vector<GroupId> visiting_order(const Problem& problem, Order rule, RandomStream& random) {
  std::vector<GroupId> order(problem.group_order().begin(), problem.group_order().end());
  if (rule == Order::kReverse) {
    std::ranges::reverse(order);
  } else if (rule == Order::kRandom) {
    random.shuffle(std::span(order));
  }
  return order;
}

}  // namespace

Environment::Environment(Evaluator& environment_evaluator, const Options& all_options)
    : evaluator(&environment_evaluator),
      options(all_options.episode),
      keeps_start_times(placeto::keeps_start_times(environment_evaluator.problem(), options)),
      graph(environment_evaluator.problem()),
      baseline(all_options.update.baseline_episodes) {
  const Problem& problem = evaluator->problem();
  order = visiting_order(problem, options.order, evaluator->random());
  if (options.start == Start::kRandom || options.start == Start::kBest) {
    const std::size_t starts = options.start == Start::kRandom ? options.workers : 1;
    for (std::size_t i = 0; i < starts; ++i) {
      fixed_starts.push_back(random_placement(problem, evaluator->random()));
    }
  } else {
    fixed_starts.emplace_back(problem.num_groups(), problem.placeable_devices().front());
  }
  const double work = work_us(problem);
  us_per_unit = options.relative_times && work > 0 ? work : kUsPerSecond;
}

std::int64_t evaluations_per_episode(const EpisodeOptions& options, GroupId num_groups) {
  return options.reward == Reward::kTerminal ? 1 : std::int64_t{num_groups} + 1;
}

void Environment::load(const JsonCursor& json) {
  json.expect_only({"order", "starts", "baseline"});
  const JsonCursor list = json.at("order");
  std::vector<GroupId> groups;
  for (const JsonCursor& group : list.elements()) {
    groups.push_back(static_cast<GroupId>(group.integer(0, evaluator->problem().num_groups() - 1)));
  }
  std::vector<GroupId> sorted = groups;
  std::ranges::sort(sorted);
  if (groups.size() != graph.size() || std::ranges::adjacent_find(sorted) != sorted.end()) {
    list.fail(fmt::format("expected each of {} groups once", graph.size()));
  }
  order = std::move(groups);
  const std::vector<JsonCursor> starts = json.at("starts").elements();
  if (starts.size() != fixed_starts.size()) {
    json.at("starts").fail(
        fmt::format("expected {} placements, found {}", fixed_starts.size(), starts.size()));
  }
  for (std::size_t i = 0; i < starts.size(); ++i) {
    fixed_starts[i] = placement_from_json(starts[i], evaluator->problem());
  }
  baseline.load(json.at("baseline"), order.size());
}

std::string Environment::to_json() const {
  std::string starts;
  for (const Placement& start : fixed_starts) {
    starts += fmt::format("{}[{}]", starts.empty() ? "" : ", ", fmt::join(start.devices(), ", "));
  }
  return fmt::format(R"({{"order": [{}], "starts": [{}], "baseline": {}}})", fmt::join(order, ", "),
                     starts, baseline.to_json());
}

Placement Environment::next_start(std::size_t worker) const {
  const Placement& fixed = fixed_starts[worker % fixed_starts.size()];
  if (options.random_start > 0 && evaluator->random().uniform() < options.random_start) {
    return random_placement(evaluator->problem(), evaluator->random());
  }
  switch (options.start) {
    case Start::kRandomEachEpisode:
      return random_placement(evaluator->problem(), evaluator->random());
    case Start::kBest:
      return evaluator->incumbent().placement().value_or(fixed);
    case Start::kOneDevice:
    case Start::kRandom:
      break;
  }
  return fixed;
}

double Environment::time_of(const Evaluation& evaluation, const StepOutline& outline) const {
  const Problem& problem = evaluator->problem();
  const double time = evaluation.step_time_us / us_per_unit;
  double over = 0;
  for (DeviceId device = 0; device < problem.num_devices(); ++device) {
    const double limit = options.memory_limit_gb > 0
                             ? options.memory_limit_gb * kBytesPerGigabyte
                             : static_cast<double>(problem.memory_bytes(device));
    const auto peak = static_cast<double>(outline.peak_bytes[device]);
    over = std::max(over, (peak - limit) / kBytesPerGigabyte);
  }
  return std::min(time + kMemoryPenalty * over, kTimeCap);
}

void Environment::read_devices(const Placement& placement, std::span<std::int32_t> devices) const {
  const std::span<const DeviceId> placeable = evaluator->problem().placeable_devices();
  std::ranges::transform(placement.devices(), devices.begin(), [&](DeviceId device) {
    // A pinned group may be where no other can go: it is seen on the last device.
    return static_cast<std::int32_t>(
        std::min(std::ranges::find(placeable, device), placeable.end() - 1) - placeable.begin());
  });
}

}  // namespace emplace::agents::placeto
