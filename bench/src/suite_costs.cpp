#include "units.hpp"

#include <emplace/bench/suite_costs.hpp>
#include <emplace/graphs/check.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <memory>
#include <numeric>
#include <string>

namespace emplace::bench {
namespace {

// A weight is a double in decimal digits, with what separates it from the next one.
constexpr std::int64_t kBytesPerWeight = 21;

// While a policy is written, its file is in memory so many times (docs/notes/sweep-costs.md).
constexpr std::int64_t kCopiesOfPolicy = 4;

std::int64_t policy_bytes(const agents::TrainableAgent& agent, const Problem& problem) {
  std::int64_t weights = 0;
  for (const agents::PolicyLayer& layer :
       agent.layers(static_cast<DeviceId>(problem.placeable_devices().size()))) {
    weights += layer.weights();
  }
  return weights * kBytesPerWeight;
}

std::int64_t whole_us(double seconds) { return std::llround(seconds * kUsPerS); }

}  // namespace

SuiteCosts costs_of(const Suite& suite, std::uint64_t root_seed, const CostModel& model) {
  SuiteCosts costs{.cells = cells_of(suite, root_seed),
                   .trainings = trainings_of(suite, root_seed)};
  std::map<std::string, ProblemSize> sizes;
  for_each_problem(costs.cells, [&](const Cell& cell, const Problem& problem) {
    sizes.emplace(problem_key(cell), size_of(problem));
    costs.problems.push_back({cell.graph, cell.cluster, hash_of(problem), step_hash_of(problem)});
  });
  costs.sizes.reserve(costs.cells.size());
  costs.cells_us.reserve(costs.cells.size());
  costs.cells_bytes.reserve(costs.cells.size());
  for (const Cell& cell : costs.cells) {
    costs.sizes.push_back(sizes.at(problem_key(cell)));
    costs.cells_us.push_back(whole_us(model.seconds(cell, costs.sizes.back())));
    costs.cells_bytes.push_back(
        model.bytes(cell.agent, costs.sizes.back(), cell.groups_are_given()));
  }
  std::vector<double> trainings_s(costs.trainings.size());
  costs.trainings_bytes.resize(costs.trainings.size());
  costs.policies_bytes.resize(costs.trainings.size());
  const std::vector<ProblemHash> trained = hash_trained(
      suite, costs.trainings, costs.problems, [&](std::size_t training, const Problem& problem) {
        const TrainingPlan& plan = costs.trainings[training].plan;
        const auto agent = make_trainable(plan.agent, plan.groups_are_given());
        const ProblemSize size = size_of(problem);
        trainings_s[training] +=
            model.seconds(plan.agent, plan.episodes * agent->evaluations_per_episode(problem), size,
                          plan.groups_are_given());
        costs.policies_bytes[training] = policy_bytes(*agent, problem);
        costs.trainings_bytes[training] =
            std::max(costs.trainings_bytes[training],
                     model.bytes(plan.agent, size, plan.groups_are_given()) +
                         kCopiesOfPolicy * costs.policies_bytes[training]);
      });
  costs.problems.insert(costs.problems.end(), trained.begin(), trained.end());
  costs.trainings_us.reserve(trainings_s.size());
  for (const double seconds : trainings_s) {
    costs.trainings_us.push_back(whole_us(seconds));
  }
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
      pieces.push_back({.cells = {cell}, .cost_us = cells_us[cell]});
      continue;
    }
    const auto training = training_at.find(cells[cell].training);
    EMPLACE_CHECK(training != training_at.end(), "no training {}", cells[cell].training);
    const auto [piece, is_new] = piece_of.emplace(training->second, pieces.size());
    if (is_new) {
      pieces.push_back(
          {.trainings = {training->second}, .cost_us = trainings_us[training->second]});
    }
    pieces[piece->second].cells.push_back(cell);
    pieces[piece->second].cost_us += cells_us[cell];
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
