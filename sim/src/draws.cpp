#include "log_normal.hpp"

#include <emplace/base/check.hpp>
#include <emplace/base/quantiles.hpp>
#include <emplace/base/random.hpp>
#include <emplace/graphs/op_kind.hpp>
#include <emplace/profiles/op_key.hpp>
#include <emplace/sim/draws.hpp>
#include <emplace/sim/simulator.hpp>

#include <tbb/blocked_range.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

namespace emplace {
namespace {

// The quantile of the standard normal distribution at 97.5 %.
constexpr double kNormalOf95Percent = 1.959963984540054;

bool is_uncertain(const Problem& problem, OpId op, DeviceId device) {
  return problem.cost_us(op, device) > 0 && problem.cost_deviation(op, device) > 0;
}

// One thread's costs, which are drawn again and again, and its simulator by these costs.
struct Worker {
  explicit Worker(const Problem& problem) : costs(problem.costs()), simulator(problem, costs) {}
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  CostTable costs;
  Simulator simulator;
  std::vector<double> normals{};
  std::vector<double> factors{};
};

// Knows which costs vary, how far, and which of them together.
class CostSampler {
 public:
  explicit CostSampler(const Problem& problem) : problem_(problem) {
    std::vector<bool> seen(problem.cluster().profiles.size(), false);
    for (DeviceId device = 0; device < problem.num_devices(); ++device) {
      const std::size_t profile = problem.device(device).profile;
      if (!seen[profile]) {
        seen[profile] = true;
        add_device(device);
      }
    }
  }

  // Gives the worker the costs of one draw.
  void draw(RandomStream random, Worker& worker) const {
    worker.normals.resize(normals_.size());
    draw_normals(random, worker.normals);
    worker.factors.clear();
    for (const Factor& factor : factors_) {
      worker.factors.push_back(factor.distribution.factor(worker.normals[factor.normal]));
    }
    for (const Row& row : rows_) {
      const IdSpan<OpId, double> costs_us =
          worker.costs.of_profile(problem_.device(row.device).profile);
      for (const UncertainCost& cost : row.costs) {
        costs_us[cost.op] = problem_.cost_us(cost.op, row.device) * worker.factors[cost.factor];
      }
    }
  }

 private:
  // Names what errs together: a device class with one of its rooflines, or with the first of the
  // ops that have one cost.
  using ErrorSource = std::tuple<std::string_view, std::size_t, OpId>;
  static constexpr std::size_t kFallback = kNumOpClasses;
  static constexpr std::size_t kNoRoofline = kNumOpClasses + 1;

  struct Factor {
    std::size_t normal;
    LogNormal distribution;
  };

  struct UncertainCost {
    OpId op;
    std::size_t factor;
  };

  // The costs that vary on all devices of one profile, of which `device` is the first.
  struct Row {
    DeviceId device;
    std::vector<UncertainCost> costs;
  };

  void add_device(DeviceId device) {
    Row row{.device = device, .costs = {}};
    for (OpId op = 0; op < problem_.num_ops(); ++op) {
      if (is_uncertain(problem_, op, device)) {
        row.costs.push_back({op, factor_of(op, device)});
      }
    }
    if (!row.costs.empty()) {
      rows_.push_back(std::move(row));
    }
  }

  // Profiles of one class may have different relative deviations: then they share the normal number
  // only.
  std::size_t factor_of(OpId op, DeviceId device) {
    const double relative_deviation = problem_.cost_deviation(op, device);
    const std::size_t normal =
        normals_.emplace(error_source(op, device), normals_.size()).first->second;
    const auto [factor, is_new] =
        factor_of_.emplace(std::pair(normal, relative_deviation), factors_.size());
    if (is_new) {
      factors_.push_back({normal, LogNormal(relative_deviation)});
    }
    return factor->second;
  }

  // A cost of the profile is one number for all ops of a key, one of the graph is the op's own.
  OpId first_of_cost(OpId op, std::string_view device_class) {
    const Op& costed = problem_.op(op);
    const bool is_own = std::ranges::find(costed.measured, device_class,
                                          &MeasuredCost::device_class) != costed.measured.end();
    return is_own
               ? op
               : first_of_key_.emplace(std::pair(device_class, key_of(costed)), op).first->second;
  }

  ErrorSource error_source(OpId op, DeviceId device) {
    const std::string_view device_class = problem_.profile(device).device_class;
    switch (problem_.cost_source(op, device)) {
      case CostSource::kMeasured:
      case CostSource::kInterpolated:
        return {device_class, kNoRoofline, first_of_cost(op, device_class)};
      case CostSource::kRoofline: {
        const OpClass op_class = op_class_of(problem_.op(op).kind);
        return {device_class, static_cast<std::size_t>(op_class), 0};
      }
      case CostSource::kGuess:
        return {device_class, kFallback, 0};
    }
    EMPLACE_CHECK(false, "no such cost source");
  }

  const Problem& problem_;
  std::map<std::pair<std::string_view, OpKey>, OpId> first_of_key_;
  std::map<ErrorSource, std::size_t> normals_;  // numbered as they appear, like the factors
  std::map<std::pair<std::size_t, double>, std::size_t> factor_of_;
  std::vector<Factor> factors_;
  std::vector<Row> rows_;
};

// Returns 1 where the first beats the second, 0 where the second beats the first, 0.5 for a tie.
double score(const Draws& first, const Draws& second, std::size_t draw) {
  const bool first_fits = first.status[draw] == StepStatus::kOk;
  const bool second_fits = second.status[draw] == StepStatus::kOk;
  if (!first_fits || !second_fits) {
    return first_fits ? 1 : second_fits ? 0 : 0.5;
  }
  const double first_us = first.makespan_us[draw];
  const double second_us = second.makespan_us[draw];
  return first_us < second_us ? 1 : second_us < first_us ? 0 : 0.5;
}

}  // namespace

std::vector<Draws> simulate_draws(const Problem& problem, std::span<const Placement> placements,
                                  const DrawOptions& options) {
  EMPLACE_CHECK(options.draws >= 1 && options.draws <= kMaxDraws,
                "expected 1 to {} draws, found {}", kMaxDraws, options.draws);
  const std::size_t count = options.draws;
  std::vector<Draws> outcomes(placements.size());
  for (Draws& outcome : outcomes) {
    outcome.makespan_us.resize(count);
    outcome.status.resize(count);
  }
  const CostSampler sampler(problem);
  // Hashed, so that neighbouring seeds do not share all draws but one.
  const std::uint64_t first_stream = stable_hash("replica", options.seed);
  tbb::enumerable_thread_specific<Worker> workers([&] { return Worker(problem); });
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, count), [&](const auto& range) {
    Worker& worker = workers.local();
    for (std::size_t draw = range.begin(); draw < range.end(); ++draw) {
      sampler.draw(RandomStream(first_stream + draw), worker);
      for (std::size_t at = 0; at < placements.size(); ++at) {
        const SimResult& result = worker.simulator.run(placements[at]);
        outcomes[at].makespan_us[draw] = result.makespan_us;
        outcomes[at].status[draw] = result.status;
      }
    }
  });
  return outcomes;
}

OpId num_uncertain_costs(const Problem& problem, const Placement& placement) {
  OpId count = 0;
  for (OpId op = 0; op < problem.num_ops(); ++op) {
    count += is_uncertain(problem, op, placement[problem.grouping().group_of(op)]) ? 1 : 0;
  }
  return count;
}

DrawSummary summarize(const Draws& draws) {
  std::vector<double> sorted = draws.makespan_us;
  EMPLACE_CHECK(!sorted.empty(), "no draws");
  std::sort(sorted.begin(), sorted.end());
  const auto count = static_cast<double>(sorted.size());
  DrawSummary summary{.median_us = nearest_rank(sorted, 50),
                      .p05_us = nearest_rank(sorted, 5),
                      .p95_us = nearest_rank(sorted, 95),
                      .out_of_memory = std::count(draws.status.begin(), draws.status.end(),
                                                  StepStatus::kOutOfMemory)};
  // From the median on, so that equal draws have exactly their makespan as mean.
  double sum_us = 0;
  for (const double makespan_us : sorted) {
    sum_us += makespan_us - summary.median_us;
  }
  summary.mean_us = summary.median_us + sum_us / count;
  double squares = 0;
  for (const double makespan_us : sorted) {
    squares += (makespan_us - summary.mean_us) * (makespan_us - summary.mean_us);
  }
  summary.standard_deviation_us = sorted.size() > 1 ? std::sqrt(squares / (count - 1)) : 0;
  return summary;
}

DrawComparison compare(const Draws& first, const Draws& second) {
  const std::size_t draws = first.makespan_us.size();
  EMPLACE_CHECK(draws > 0 && second.makespan_us.size() == draws,
                "{} draws cannot be compared with {}", draws, second.makespan_us.size());
  double score_sum = 0;
  double difference_sum_us = 0;
  for (std::size_t draw = 0; draw < draws; ++draw) {
    score_sum += score(first, second, draw);
    difference_sum_us += first.makespan_us[draw] - second.makespan_us[draw];
  }
  const auto count = static_cast<double>(draws);
  const double p = score_sum / count;
  const double square = kNormalOf95Percent * kNormalOf95Percent;
  const double middle = (p + square / (2 * count)) / (1 + square / count);
  const double reach = kNormalOf95Percent / (1 + square / count) *
                       std::sqrt(p * (1 - p) / count + square / (4 * count * count));
  return {.probability = p,
          .probability_low = std::max(0.0, middle - reach),
          .probability_high = std::min(1.0, middle + reach),
          .mean_difference_us = difference_sum_us / count};
}

}  // namespace emplace
