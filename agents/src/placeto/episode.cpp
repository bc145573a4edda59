#include "episode.hpp"

#include "policy_gradient/categorical.hpp"

#include <emplace/base/elementary.hpp>

#include <algorithm>
#include <bit>
#include <utility>

namespace emplace::agents::placeto {

RolloutCollector::RolloutCollector(const PolicyNetwork<float>& network)
    : network_(&network), tape_(network.parameters()) {}

bool RolloutCollector::collect(Environment& environment, std::size_t workers, bool greedy) {
  const bool is_complete = play(environment, workers, greedy);
  moves_.clear();  // which the evaluator outlives
  return is_complete;
}

bool RolloutCollector::play(Environment& environment, std::size_t workers, bool greedy) {
  const std::size_t num_groups = environment.graph.size();
  const std::size_t num_decisions = num_groups * workers;
  placements_.clear();
  for (std::size_t worker = 0; worker < workers; ++worker) {
    placements_.push_back(environment.next_start(worker));
    moves_.emplace_back(*environment.evaluator);
  }
  outcomes_.assign(workers, {});
  Rollout& rollout = environment.rollout;
  rollout.workers_ = workers;
  rollout.order_ = environment.order;
  rollout.position_.resize(num_groups);
  for (std::size_t at = 0; at < num_groups; ++at) {
    rollout.position_[static_cast<std::size_t>(rollout.order_[at])] = at;
  }
  rollout.starts_.resize(workers);
  for (std::size_t worker = 0; worker < workers; ++worker) {
    rollout.starts_[worker].resize(num_groups);
    environment.read_devices(placements_[worker], rollout.starts_[worker]);
  }
  rollout.start_times_.resize(environment.keeps_start_times ? num_decisions : 1);
  if (!environment.keeps_start_times) {
    rollout.start_times_.front().assign(num_groups, 0);
  }
  rollout.actions_.resize(num_decisions);
  rollout.times_.assign(num_decisions + workers, 0);
  const bool each_step = environment.options.reward != Reward::kTerminal;
  rollout.entropy_sum_ = 0;

  const auto write_times = [&](std::size_t step) {
    for (std::size_t worker = 0; worker < workers; ++worker) {
      rollout.times_[step * workers + worker] = outcomes_[worker].time;
    }
  };
  for (std::size_t worker = 0; each_step && worker < workers; ++worker) {
    if (!start(environment, worker)) {
      return false;
    }
  }
  write_times(0);
  for (std::size_t step = 0; step < num_groups; ++step) {
    if (environment.keeps_start_times) {
      keep_start_times(environment, step);
    }
    act(environment, step, greedy);
    for (std::size_t worker = 0; worker < workers; ++worker) {
      const bool goes_on = each_step ? move(environment, worker, rollout.visited_at(step))
                                     : step + 1 < num_groups || start(environment, worker);
      if (!goes_on) {
        return false;
      }
    }
    write_times(step + 1);
  }
  rollout.last_us_ = 0;
  for (const Outcome& last : outcomes_) {
    rollout.last_us_ += last.objective_us / static_cast<double>(workers);
  }
  return true;
}

bool RolloutCollector::start(Environment& environment, std::size_t worker) {
  return note(environment, worker, moves_[worker].start(placements_[worker]));
}

bool RolloutCollector::move(Environment& environment, std::size_t worker, GroupId group) {
  MoveEvaluator& moves = moves_[worker];
  const Move move{group, placements_[worker][group]};
  if (environment.options.skip_unchanged && moves.base()[group] == move.device) {
    return true;
  }
  const Evaluation evaluation = moves.evaluate({&move, 1});
  if (!note(environment, worker, evaluation)) {
    return false;
  }
  moves.accept();
  return true;
}

bool RolloutCollector::note(Environment& environment, std::size_t worker,
                            const Evaluation& evaluation) {
  if (evaluation.status == EvaluationStatus::kBudgetSpent) {
    return false;
  }
  Outcome& outcome = outcomes_[worker];
  moves_[worker].outline(outcome.outline);
  outcome.time = environment.time_of(evaluation, outcome.outline);
  outcome.objective_us = evaluation.objective_us();
  return true;
}

void RolloutCollector::keep_start_times(Environment& environment, std::size_t step) {
  Rollout& rollout = environment.rollout;
  const std::size_t num_groups = environment.graph.size();
  const std::size_t workers = placements_.size();
  const GroupId current = rollout.visited_at(step);
  for (std::size_t worker = 0; worker < workers; ++worker) {
    std::vector<float>& start_times = rollout.start_times_[step * workers + worker];
    start_times.resize(num_groups);
    const IdVector<GroupId, double>& starts_us = outcomes_[worker].outline.group_start_us;
    // The largest is 0 for the group that starts last, which leaves its row in microseconds, as in
    // the authors' code.
    const double largest_us = *std::ranges::max_element(starts_us) - starts_us[current];
    for (std::size_t group = 0; group < num_groups; ++group) {
      const double start_us = starts_us[static_cast<GroupId>(group)] - starts_us[current];
      start_times[group] = static_cast<float>(largest_us != 0 ? start_us / largest_us : start_us);
    }
  }
}

void RolloutCollector::act(Environment& environment, std::size_t step, bool greedy) {
  Rollout& rollout = environment.rollout;
  const std::size_t workers = placements_.size();
  observations_.clear();
  for (std::size_t worker = 0; worker < workers; ++worker) {
    observations_.push_back(rollout.observation(step * workers + worker));
  }
  tape_.clear();
  probabilities_.resize(environment.graph.num_devices());
  const nn::Value logits = network_->logits(
      tape_, lists_, environment.graph, observations_,
      std::min(nn::kLanes, std::bit_ceil(workers * network_->lanes_per_decision(
                                                       environment.graph.num_devices()))));
  for (std::size_t worker = 0; worker < workers; ++worker) {
    nn::softmax<float>(tape_.value(logits).row(worker), nn::kLanes, probabilities_);
    for (const double probability : probabilities_) {
      rollout.entropy_sum_ -= probability > 0 ? probability * log_of(probability) : 0;
    }
    const std::size_t action =
        greedy ? policy_gradient::greedy_action(probabilities_)
               : policy_gradient::sample_action(probabilities_, environment.evaluator->random());
    rollout.actions_[step * workers + worker] = static_cast<std::int32_t>(action);
    placements_[worker][rollout.visited_at(step)] =
        environment.evaluator->problem().placeable_devices()[action];
    environment.evaluator->problem().constrain(placements_[worker]);
  }
}

}  // namespace emplace::agents::placeto
