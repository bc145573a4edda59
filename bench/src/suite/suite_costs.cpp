#include "units.hpp"

#include <emplace/base/check.hpp>
#include <emplace/bench/suite_costs.hpp>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>

namespace emplace::bench {
namespace {

// A weight is a double in decimal digits, with what separates it from the next one.
constexpr std::int64_t kBytesPerWeight = 21;

// The lines of two published stores have these sizes within a third (docs/notes/sweep-costs.md).
constexpr double kLineBytes = 550;
constexpr double kPlacementBytesPerGroup = 0.6;
constexpr double kHistoryBytes = 250;
constexpr double kHistoryBytesPerGroup = 0.5;
constexpr double kBytesPerDraw = 19.3;

std::int64_t policy_bytes(const agents::TrainableAgent& agent, const Problem& problem) {
  std::int64_t weights = 0;
  for (const agents::PolicyLayer& layer :
       agent.layers(static_cast<DeviceId>(problem.placeable_devices().size()))) {
    weights += layer.weights();
  }
  return weights * kBytesPerWeight;
}

}  // namespace

ProblemSize size_of(const Problem& problem) {
  ProblemSize size{.ops = problem.num_ops(), .groups = problem.num_groups()};
  for (OpId op = 0; op < problem.num_ops() && !size.has_spreads; ++op) {
    for (DeviceId device = 0; device < problem.num_devices(); ++device) {
      size.has_spreads = size.has_spreads || problem.cost_deviation(op, device) > 0;
    }
  }
  return size;
}

std::int64_t evaluations_of(const Cell& cell) {
  return cell.agent.info().deterministic ? 0 : cell.max_evaluations;
}

double work_of(const Cell& cell, const ProblemSize& size) {
  const std::int64_t simulations =
      std::max<std::int64_t>(evaluations_of(cell), 1) + (size.has_spreads ? kCellDraws : 0);
  return static_cast<double>(simulations) * static_cast<double>(size.ops);
}

std::int64_t expected_bytes(const Cell& cell, const ProblemSize& size) {
  const auto groups = static_cast<double>(size.groups);
  double bytes = kLineBytes + kPlacementBytesPerGroup * groups;
  if (evaluations_of(cell) > 0) {
    bytes += kHistoryBytes + kHistoryBytesPerGroup * groups;
  }
  if (size.has_spreads) {
    bytes += kBytesPerDraw * static_cast<double>(kCellDraws);
  }
  return static_cast<std::int64_t>(bytes);
}

SuiteCosts costs_of(const Suite& suite, std::uint64_t root_seed,
                    const std::function<void(const Problem&)>& each) {
  SuiteCosts costs{.cells = cells_of(suite, root_seed),
                   .trainings = trainings_of(suite, root_seed)};
  std::map<std::string, ProblemSize> sizes;
  for_each_problem(costs.cells, [&](const Cell& cell, const Problem& problem) {
    sizes.emplace(problem_key(cell), size_of(problem));
    costs.problems.push_back({cell.graph, cell.cluster, hash_of(problem), step_hash_of(problem)});
    if (each) {
      each(problem);
    }
  });
  costs.sizes.reserve(costs.cells.size());
  costs.cells_work.reserve(costs.cells.size());
  for (const Cell& cell : costs.cells) {
    costs.sizes.push_back(sizes.at(problem_key(cell)));
    costs.cells_work.push_back(work_of(cell, costs.sizes.back()));
  }
  costs.trainings_work.resize(costs.trainings.size());
  costs.trainings_evaluations.resize(costs.trainings.size());
  costs.policies_bytes.resize(costs.trainings.size());
  const std::vector<ProblemHash> trained = hash_trained(
      suite, costs.trainings, costs.problems, [&](std::size_t training, const Problem& problem) {
        const TrainingPlan& plan = costs.trainings[training].plan;
        const auto agent = make_trainable(plan.agent, plan.groups_are_given());
        const std::int64_t evaluations =
            plan.episodes * agent->evaluations_per_episode(problem.num_groups());
        costs.trainings_evaluations[training] += evaluations;
        costs.trainings_work[training] +=
            static_cast<double>(evaluations) * static_cast<double>(problem.num_ops());
        costs.policies_bytes[training] = policy_bytes(*agent, problem);
      });
  costs.problems.insert(costs.problems.end(), trained.begin(), trained.end());
  return costs;
}

std::vector<Piece> SuiteCosts::pieces() const {
  std::map<std::string, std::size_t> training_at;  // by the hash of its plan
  for (std::size_t training = 0; training < trainings.size(); ++training) {
    training_at.emplace(hash_of(trainings[training].plan), training);
  }
  std::vector<Piece> pieces;
  std::map<std::size_t, std::size_t> piece_of;  // of a training
  for (std::size_t cell = 0; cell < cells.size(); ++cell) {
    if (cells[cell].policy.empty()) {
      pieces.push_back({.cells = {cell}, .work = cells_work[cell]});
      continue;
    }
    const auto training = training_at.find(cells[cell].training);
    EMPLACE_CHECK(training != training_at.end(), "no training {}", cells[cell].training);
    const auto [piece, is_new] = piece_of.emplace(training->second, pieces.size());
    if (is_new) {
      pieces.push_back({.trainings = {training->second}, .work = trainings_work[training->second]});
    }
    pieces[piece->second].cells.push_back(cell);
    pieces[piece->second].work += cells_work[cell];
  }
  return pieces;
}

ShardWork SuiteCosts::work_of(Shard shard) const {
  if (!shard.is_whole()) {
    return divide(pieces(), shard.count)[static_cast<std::size_t>(shard.index - 1)];
  }
  ShardWork work{.cells = std::vector<std::size_t>(cells.size()),
                 .trainings = std::vector<std::size_t>(trainings.size())};
  std::iota(work.cells.begin(), work.cells.end(), std::size_t{0});
  std::iota(work.trainings.begin(), work.trainings.end(), std::size_t{0});
  return work;
}

}  // namespace emplace::bench
