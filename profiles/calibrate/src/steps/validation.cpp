#include "execution_plan.hpp"
#include "plan_runner.hpp"

#include <emplace/base/check.hpp>
#include <emplace/base/id_vector.hpp>
#include <emplace/base/random.hpp>
#include <emplace/calibrate/graph_sites.hpp>
#include <emplace/calibrate/validation.hpp>
#include <emplace/graphs/op_kind.hpp>
#include <emplace/sim/simulator.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>

namespace emplace::calibrate {
namespace {

// The groups cut in two along their order: `first` gets a prefix that takes it `ratio` times as
// long as the rest takes `second`, as near as a cut can be.
Placement cut_in_two(const Problem& problem, DeviceId first, DeviceId second, double ratio) {
  double rest_us = 0;
  for (const GroupId group : problem.group_order()) {
    rest_us += problem.group_cost_us(group, second);
  }
  Placement placement(problem.num_groups(), second);
  double prefix_us = 0;
  for (const GroupId group : problem.group_order()) {
    const double more_us = prefix_us + problem.group_cost_us(group, first);
    const double less_us = rest_us - problem.group_cost_us(group, second);
    if (std::abs(more_us - ratio * less_us) > std::abs(prefix_us - ratio * rest_us)) {
      break;
    }
    placement[group] = first;
    prefix_us = more_us;
    rest_us = less_us;
  }
  return placement;
}

// An order in which the simulated step started its ops; what started at once stands in
// topological order.
std::vector<OpId> order_of(const Problem& problem, std::span<const double> start_us) {
  std::vector<OpId> order(problem.topological_order().begin(), problem.topological_order().end());
  std::ranges::stable_sort(order, {}, [&](OpId op) { return start_us[index_of(op)]; });
  return order;
}

class Validator {
 public:
  Validator(const Problem& problem, std::span<ComputeDevice* const> devices,
            const ValidationOptions& options, const Progress& progress)
      : problem_(problem), devices_(devices), options_(options), progress_(progress) {
    EMPLACE_CHECK(devices.size() == index_of(problem.num_devices()),
                  "{} devices for a problem of {}", devices.size(), problem.num_devices());
  }

  void run_steps(std::span<const NamedPlacement> placements, Validation& result) const {
    Simulator simulator(problem_);
    std::size_t i = 0;
    // Says whether validation is to end; then it leaves out this placement and those after it.
    const auto leaves_out_rest = [&] {
      if (options_.sampling.is_stopped()) {
        result.left_out.push_back(
            fmt::format("{} of {} placements: validation was stopped before them",
                        placements.size() - i, placements.size()));
        return true;
      }
      return false;
    };
    for (; i < placements.size() && !leaves_out_rest(); ++i) {
      const NamedPlacement& named = placements[i];
      progress_({.what = fmt::format("{}: placement {} of {}: {}", result.graph, i + 1,
                                     placements.size(), named.name),
                 .done = static_cast<double>(i) / static_cast<double>(placements.size())});
      const SimResult& predicted = simulator.run(named.placement);
      if (predicted.status == StepStatus::kOutOfMemory) {
        result.left_out.push_back(
            fmt::format("{}: {} has too little memory", named.name,
                        problem_.cluster().devices[index_of(predicted.worst_device)].name));
        continue;
      }
      if (predicted.makespan_us == 0) {
        result.left_out.push_back(
            fmt::format("{}: the simulated step takes no time: it has nothing to run", named.name));
        continue;
      }
      try {
        const std::vector<double> times_us = run_placement(named.placement, predicted);
        if (leaves_out_rest()) {
          break;  // it has fewer steps than were wanted
        }
        std::vector<TimedRun> runs;
        std::ranges::transform(times_us, std::back_inserter(runs),
                               [](double us) { return TimedRun{.us = us}; });
        const Summary summary = summarize(runs);
        result.steps.push_back({.placement = named.name,
                                .predicted_us = predicted.makespan_us,
                                .measured_us = summary.median_us,
                                .relative_deviation = summary.relative_deviation,
                                .steps = summary.runs});
      } catch (const DeviceFailure& failure) {
        result.left_out.push_back(fmt::format("{}: {}", named.name, failure.what()));
      }
    }
  }

  void measure_ops(Validation& result) const {
    const std::vector<OpSite> sites = distinct_sites(std::span(&problem_.graph(), 1));
    for (std::size_t device = 0; device < devices_.size(); ++device) {
      measure_ops_on(device, sites, result);
    }
  }

 private:
  std::vector<double> run_placement(const Placement& placement, const SimResult& predicted) const {
    std::vector<DeviceId> device_of;
    for (OpId op = 0; op < problem_.num_ops(); ++op) {
      device_of.push_back(placement[problem_.grouping().group_of(op)]);
    }
    const ExecutionPlan plan = plan_step(problem_.graph(), device_of, problem_.num_devices(),
                                         order_of(problem_, predicted.start_us));
    PlanRunner runner(problem_.graph(), plan, devices_);
    const double wanted = options_.seconds_per_placement * 1e6 / predicted.makespan_us;
    const auto steps = static_cast<std::int32_t>(
        std::clamp(wanted, double{1} * options_.min_steps, double{1} * options_.max_steps));
    return runner.run(options_.warm_up_steps, steps, options_.sampling.stop);
  }

  void measure_ops_on(std::size_t device, std::span<const OpSite> sites, Validation& result) const {
    const Device& modelled = problem_.cluster().devices[device];
    const DeviceProfile& profile = problem_.cluster().profiles[modelled.profile];
    // Devices of one profile are alike.
    for (std::size_t other = 0; other < device; ++other) {
      if (problem_.cluster().devices[other].profile == modelled.profile) {
        return;
      }
    }
    OpSamples measured =
        calibrate::measure_ops(*devices_[device], sites, options_.sampling, progress_);
    for (std::string& why : measured.unstable) {
      result.left_out.push_back(fmt::format("{}: {}", modelled.name, why));
    }
    if (measured.not_measured > 0) {
      result.left_out.push_back(fmt::format("{}: {} ops: validation was stopped before them",
                                            modelled.name, measured.not_measured));
    }
    std::map<std::pair<OpClass, CostSource>, ValidatedOps> by_class;
    for (const OpSample& sample : measured.samples) {
      const Cost cost = op_cost(profile, sample.site.op, problem_.cluster().math);
      const OpClass op_class = op_class_of(sample.site.op.kind);
      const double error = std::abs(cost.us / sample.time.median_us - 1);
      ValidatedOps& ops = by_class[{op_class, cost.source}];
      ops.device = modelled.name;
      ops.op_class = op_class;
      ops.source = cost.source;
      ++ops.ops;
      ops.mean_error += error;
      ops.max_error = std::max(ops.max_error, error);
    }
    for (auto& [key, ops] : by_class) {
      ops.mean_error /= ops.ops;
      result.ops.push_back(std::move(ops));
    }
  }

  const Problem& problem_;
  std::span<ComputeDevice* const> devices_;
  const ValidationOptions& options_;
  const Progress& progress_;
};

}  // namespace

std::vector<NamedPlacement> validation_placements(const Problem& problem,
                                                  std::int32_t random_placements,
                                                  std::uint64_t seed) {
  std::vector<NamedPlacement> placements;
  const auto name_of = [&](DeviceId device) {
    return problem.cluster().devices[index_of(device)].name;
  };
  for (DeviceId device = 0; device < problem.num_devices(); ++device) {
    placements.push_back({name_of(device), Placement(problem.num_groups(), device)});
  }
  constexpr std::array kRatios = {std::pair{0.5, "1:2"}, std::pair{1.0, "1:1"},
                                  std::pair{2.0, "2:1"}};
  for (DeviceId first = 0; first < problem.num_devices(); ++first) {
    for (DeviceId second = 0; second < problem.num_devices(); ++second) {
      if (first == second) {
        continue;
      }
      for (const auto& [ratio, text] : kRatios) {
        placements.push_back({fmt::format("{} then {}, {}", name_of(first), name_of(second), text),
                              cut_in_two(problem, first, second, ratio)});
      }
    }
  }
  const std::span<const DeviceId> choices = problem.placeable_devices();
  if (choices.size() > 1) {
    RandomStream random(seed);
    for (std::int32_t i = 0; i < random_placements; ++i) {
      Placement placement(problem.num_groups());
      for (GroupId group = 0; group < problem.num_groups(); ++group) {
        placement[group] = choices[random.below(choices.size())];
      }
      placements.push_back({fmt::format("random {}", i), std::move(placement)});
    }
  }
  return placements;
}

Validation validate_steps(const std::string& graph, const Problem& problem,
                          std::span<const NamedPlacement> placements,
                          std::span<ComputeDevice* const> devices, const ValidationOptions& options,
                          const Progress& progress) {
  Validation result{.graph = graph};
  Validator(problem, devices, options, progress).run_steps(placements, result);
  if (!result.steps.empty()) {
    double error = 0;
    for (const ValidatedStep& step : result.steps) {
      error += std::abs(step.error()) / static_cast<double>(result.steps.size());
    }
    result.mean_step_error = error;
  }
  return result;
}

void validate_ops(const Problem& problem, std::span<ComputeDevice* const> devices,
                  const ValidationOptions& options, const Progress& progress,
                  Validation& validation) {
  Validator(problem, devices, options, progress).measure_ops(validation);
}

}  // namespace emplace::calibrate
