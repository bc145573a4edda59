#include <emplace/agents/agent_spec.hpp>
#include <emplace/agents/evaluator.hpp>
#include <emplace/base/error.hpp>
#include <emplace/base/params.hpp>
#include <emplace/base/quantiles.hpp>
#include <emplace/bench/fidelity.hpp>
#include <emplace/bench/problem_set.hpp>
#include <emplace/bench/rank_correlation.hpp>
#include <emplace/calibrate/step_fit.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/profiles/cluster.hpp>
#include <emplace/profiles/op_key.hpp>
#include <emplace/sim/simulator.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace emplace::bench {
namespace {

std::shared_ptr<const OpGraph> graph_of(const PublishedGraph& graph) {
  return std::make_shared<const OpGraph>(load_graph(graph.spec()));
}

Cluster one_device(const PublishedStep& step) {
  Cluster cluster;
  cluster.name = step.profile;
  cluster.math = step.math == kTf32Math ? MathMode::kTf32 : MathMode::kFloat32;
  cluster.profiles.push_back(load_device_profile(step.profile));
  cluster.devices.push_back({.name = "gpu:0"});
  cluster.transfer_model = TransferModel::kPhysical;
  cluster.topology = Topology(1, {});
  return cluster;
}

// The cluster with only its first `count` placeable devices for agents.
Cluster first_devices(const std::string& name, std::int64_t count) {
  Cluster cluster = load_cluster(name);
  std::int64_t placeable = 0;
  for (Device& device : cluster.devices) {
    if (device.placeable) {
      device.placeable = placeable < count;
      ++placeable;
    }
  }
  if (placeable < count) {
    throw Error(
        ErrorCode::kUnsupported,
        fmt::format("cluster '{}' has {} devices for agents, not {}", name, placeable, count));
  }
  return cluster;
}

Problem compile(std::shared_ptr<const OpGraph> graph, Cluster cluster) {
  Grouping grouping = group_graph(*graph, 0);
  return {std::move(graph), std::move(grouping),
          std::make_shared<const Cluster>(std::move(cluster))};
}

StepPrediction predict(const Problem& problem, const Placement& placement) {
  Simulator simulator(problem);
  const SimResult& result = simulator.run(placement);
  return {.us = result.makespan_us, .status = result.status, .bytes_over = result.bytes_over};
}

StepPrediction predict_placed_by(const std::string& agent, const Problem& problem) {
  agents::Evaluator evaluator(problem, {});
  return predict(problem, agents::AgentSpec(agent).make()->place(problem, evaluator));
}

// A step as its parts: the time of its ops alone, by precision, and what does not scale with them.
struct StepParts {
  StepPrediction prediction{};  // without step factors
  StepFactors alone_us{};
  StepFactors factors{};  // of the profile
  bool has_factors = false;

  double us(const StepFactors& step_factors) const {
    double us = prediction.alone_us;
    for (std::size_t at = 0; at < alone_us.size(); ++at) {
      us += (step_factors[at] - 1) * alone_us[at];
    }
    return us;
  }
};

StepParts parts_of(const PublishedStep& step) {
  try {
    Cluster cluster = one_device(step);
    StepParts parts;
    parts.factors =
        std::exchange(cluster.profiles.front().step_factors, DeviceProfile().step_factors);
    parts.has_factors = parts.factors != cluster.profiles.front().step_factors;
    const Problem problem = compile(graph_of(step.graph), std::move(cluster));
    parts.prediction = predict(problem, Placement(problem.num_groups(), 0));
    for (OpId op = 0; op < problem.num_ops(); ++op) {
      const Precision precision = precision_of(problem.profile(0), problem.op(op).kind,
                                               key_type(problem.op(op)), problem.cluster().math);
      parts.alone_us[static_cast<std::size_t>(precision)] += problem.cost_us(op, 0);
    }
    parts.prediction.alone_us = parts.prediction.us.value_or(0);
    return parts;
  } catch (const Error& error) {
    return {.prediction = {.why_none = error.what()}};
  }
}

// Fits to the steps of all publishers but one; nothing if there are none.
std::optional<StepFactors> factors_without(const std::string& publisher,
                                           const PublishedSteps& published,
                                           std::span<const StepParts> parts) {
  std::vector<calibrate::StepSample> samples;
  for (std::size_t at = 0; at < parts.size(); ++at) {
    const PublishedStep& step = published.steps[at];
    if (parts[at].has_factors && parts[at].prediction.us && !step.used_for_fit &&
        publisher_of(published, step) != publisher) {
      samples.push_back({.alone_us = parts[at].alone_us, .us = step.measured_us()});
    }
  }
  return samples.empty() ? std::nullopt : std::optional(calibrate::fit_step_factors(samples));
}

SpeedupPrediction predict(const PublishedSpeedup& speedup) {
  try {
    const Problem problem =
        compile(graph_of(speedup.graph), first_devices(speedup.cluster, speedup.devices));
    const Placement one(problem.num_groups(), problem.placeable_devices().front());
    return {.one = predict(problem, one), .placed = predict_placed_by(speedup.agent, problem)};
  } catch (const Error& error) {
    return {.one = {.why_none = error.what()}, .placed = {.why_none = error.what()}};
  }
}

void predict_without_publisher(Fidelity& fidelity, std::span<const StepParts> parts) {
  const PublishedSteps& published = fidelity.published;
  std::map<std::string, StepFactors> factors;
  for (std::size_t at = 0; at < parts.size(); ++at) {
    if (!parts[at].prediction.us || !parts[at].has_factors) {
      continue;
    }
    const std::string publisher = publisher_of(published, published.steps[at]);
    if (!factors.contains(publisher)) {
      const std::optional<StepFactors> fitted = factors_without(publisher, published, parts);
      factors.emplace(publisher, fitted.value_or(parts[at].factors));
      if (fitted) {
        fidelity.factors.push_back({publisher, *fitted});
      }
    }
    fidelity.steps[at].us = parts[at].us(factors.at(publisher));
  }
  std::ranges::sort(fidelity.factors, {}, &LeftOut::publisher);
  if (const auto of_all = factors_without("", published, parts)) {
    fidelity.factors.push_back({"", *of_all});
  }
}

// Sums up the steps for which `is_in` holds, in a summary that says so already.
template <class IsIn>
Accuracy sum_up(const Fidelity& fidelity, Accuracy accuracy, IsIn is_in) {
  std::vector<double> predicted;
  std::vector<double> measured;
  std::vector<double> ratios;
  std::vector<double> errors;
  double sum = 0;
  for (std::size_t i = 0; i < fidelity.steps.size(); ++i) {
    const PublishedStep& step = fidelity.published.steps[i];
    if (!is_in(step)) {
      continue;
    }
    const StepPrediction& prediction = fidelity.steps[i];
    ++accuracy.steps;
    accuracy.not_simulated += prediction.us ? 0 : 1;
    accuracy.out_of_memory += prediction.status == StepStatus::kOutOfMemory ? 1 : 0;
    accuracy.used_for_fit += step.used_for_fit ? 1 : 0;
    if (prediction.us && fidelity.judges(i)) {
      predicted.push_back(*prediction.us);
      measured.push_back(step.measured_us());
      ratios.push_back(predicted.back() / measured.back());
      errors.push_back(std::abs(ratios.back() - 1));
      sum += errors.back();
    }
  }
  accuracy.judging = std::ssize(errors);
  if (!errors.empty()) {
    accuracy.mean_error = sum / static_cast<double>(errors.size());
    accuracy.median_ratio = emplace::median(std::move(ratios));
    accuracy.median_error = emplace::median(std::move(errors));
    accuracy.tau = kendall_tau(predicted, measured);
  }
  return accuracy;
}

}  // namespace

std::optional<double> SpeedupPrediction::speedup() const {
  return one.us && placed.us ? std::optional(*one.us / *placed.us) : std::nullopt;
}

std::optional<double> Fidelity::ratio(std::size_t step) const {
  const std::optional<double>& us = steps[step].us;
  return us ? std::optional(*us / published.steps[step].measured_us()) : std::nullopt;
}

bool Fidelity::judges(std::size_t step) const {
  return steps[step].us.has_value() && !published.steps[step].used_for_fit;
}

Fidelity predict_published(
    PublishedSteps published,
    const std::function<void(std::size_t, std::size_t, const std::string&)>& progress) {
  Fidelity fidelity{.published = std::move(published)};
  const PublishedSteps& all = fidelity.published;
  const std::size_t count = all.steps.size() + all.speedups.size();
  const auto tell = [&](const std::string& graph, const std::string& where) {
    if (progress) {
      progress(fidelity.steps.size() + fidelity.speedups.size(), count,
               fmt::format("{} on {}", graph, where));
    }
  };
  std::vector<StepParts> parts;
  for (const PublishedStep& step : all.steps) {
    tell(step.graph.spec(), step.profile);
    parts.push_back(parts_of(step));
    fidelity.steps.push_back(parts.back().prediction);
  }
  predict_without_publisher(fidelity, parts);
  for (const PublishedSpeedup& speedup : all.speedups) {
    tell(speedup.graph.spec(), speedup.cluster);
    fidelity.speedups.push_back(predict(speedup));
  }
  return fidelity;
}

std::vector<Accuracy> accuracy_of(const Fidelity& fidelity) {
  std::vector<Accuracy> all;
  for (const PublishedStep& step : fidelity.published.steps) {
    if (std::ranges::find(all, step.profile, &Accuracy::profile) == all.end()) {
      all.push_back(sum_up(fidelity, {.profile = step.profile}, [&](const PublishedStep& other) {
        return other.profile == step.profile;
      }));
    }
  }
  for (const PublishedStep& step : fidelity.published.steps) {
    const std::string numbers = numbers_of(step);
    if (std::ranges::find(all, numbers, &Accuracy::numbers) == all.end()) {
      all.push_back(sum_up(fidelity, {.numbers = numbers}, [&](const PublishedStep& other) {
        return numbers_of(other) == numbers;
      }));
    }
  }
  for (const PublishedStep& step : fidelity.published.steps) {
    const std::string publisher = publisher_of(fidelity.published, step);
    if (std::ranges::find(all, publisher, &Accuracy::publisher) == all.end()) {
      all.push_back(sum_up(fidelity, {.publisher = publisher}, [&](const PublishedStep& other) {
        return publisher_of(fidelity.published, other) == publisher;
      }));
    }
  }
  all.push_back(sum_up(fidelity, {}, [](const PublishedStep&) { return true; }));
  return all;
}

std::string publisher_of(const PublishedSteps& published, const PublishedStep& step) {
  const std::string& repository = published.sources[step.source].repository;
  return repository.substr(0, repository.find('/'));
}

std::string numbers_of(const PublishedStep& step) {
  try {
    for (const auto& [key, value] : Spec::parse(step.graph.spec()).given) {
      if (key == "dtype") {
        return value;
      }
    }
  } catch (const Error&) {
    // Why it is no name of a graph, the prediction says: such a step is not simulated.
  }
  return step.math;
}

}  // namespace emplace::bench
