#include "placeto_episode.hpp"

#include "nn/elementary.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

namespace emplace::agents::placeto {

Decision Rollout::decision(std::size_t i) const {
  const std::size_t step = i / workers_;
  return {.current = current_[step],
          .devices = {devices_.data() + i * num_groups_, num_groups_},
          .starts = {starts_.data() + i * num_groups_, num_groups_},
          .done = {done_.data() + step * num_groups_, num_groups_}};
}

std::vector<double> Rollout::returns(const EpisodeOptions& options) const {
  std::vector<double> gains(num_decisions());
  for (std::size_t worker = 0; worker < workers_; ++worker) {
    double later = 0;  // what the steps after this one gain
    double least = std::numeric_limits<double>::infinity();
    const std::size_t steps = num_decisions() / workers_;
    for (std::size_t step = steps; step-- > 0;) {
      const double before = times_[step * workers_ + worker];
      const double after = times_[(step + 1) * workers_ + worker];
      double& gain = gains[step * workers_ + worker];
      switch (options.reward) {
        case Reward::kStep:
          gain = (times_on_.empty() ? before - after : 0) + options.discount * later;
          later = (before - after) + options.discount * later;
          break;
        case Reward::kMinimum:
          least = std::min(least, after);
          gain = before - least;
          break;
        case Reward::kTerminal:
          gain = -times_[steps * workers_ + worker];
          break;
      }
    }
  }
  return gains;
}

std::vector<float> Rollout::gains() const {
  std::vector<float> gains(times_on_.size());
  const std::size_t num_devices = times_on_.size() / num_decisions();
  for (std::size_t i = 0; i < gains.size(); ++i) {
    gains[i] = static_cast<float>(times_[i / num_devices] - times_on_[i]);
  }
  return gains;
}

Player::Player(const Network<float>& network) : network_(&network), tape_(network.parameters()) {}

bool Player::play(Course& course, std::size_t workers, bool greedy) {
  const std::size_t num_groups = course.graph.size();
  const std::size_t steps = num_groups * course.options.sweeps;
  const std::size_t num_decisions = steps * workers;
  placements_.clear();
  for (std::size_t worker = 0; worker < workers; ++worker) {
    placements_.push_back(course.next_start(greedy));
  }
  steps_.resize(workers);
  Rollout& rollout = course.rollout;
  rollout.workers_ = workers;
  rollout.num_groups_ = num_groups;
  rollout.current_.clear();
  for (std::size_t sweep = 0; sweep < course.options.sweeps; ++sweep) {
    rollout.current_.insert(rollout.current_.end(), course.order.begin(), course.order.end());
  }
  rollout.done_.assign(steps * num_groups, 0);
  rollout.devices_.resize(num_decisions * num_groups);
  // Without a simulation at each step all starts are the same, and none counts.
  rollout.starts_.assign(num_decisions * num_groups, 0);
  rollout.actions_.resize(num_decisions);
  rollout.times_.assign(num_decisions + workers, 0);
  const bool each_step = course.options.reward != Reward::kTerminal;
  const bool all_devices = course.options.all_devices && each_step && !greedy;
  rollout.times_on_.assign(all_devices ? num_decisions * course.graph.num_devices() : 0, 0);
  rollout.entropy_sum_ = 0;

  const auto write_times = [&](std::size_t step) {
    for (std::size_t worker = 0; worker < workers; ++worker) {
      rollout.times_[step * workers + worker] = steps_[worker].time;
    }
  };
  if (each_step) {
    if (!simulate(course, true)) {
      return false;
    }
    write_times(0);
  }
  for (std::size_t step = 0; step < steps; ++step) {
    write_down(course, step);
    if (all_devices && !simulate_all_devices(course, step)) {
      return false;
    }
    choose(course, step, greedy);
    if (all_devices) {
      take_chosen(course, step);
    } else if (!each_step && step + 1 < steps) {
      continue;
    } else if (!simulate(course, !each_step || !course.options.reuse)) {
      return false;
    }
    write_times(step + 1);
  }
  rollout.last_us_ = 0;
  for (const Step& last : steps_) {
    rollout.last_us_ += last.objective_us / static_cast<double>(workers);
  }
  return true;
}

bool Player::simulate(Course& course, bool all) {
  asking_.clear();
  asked_.clear();
  for (std::size_t worker = 0; worker < placements_.size(); ++worker) {
    if (all || placements_[worker] != simulated_[worker]) {
      asking_.push_back(&steps_[worker]);
      asked_.push_back(placements_[worker]);
    }
  }
  simulated_ = placements_;
  return answer(course);
}

bool Player::simulate_all_devices(Course& course, std::size_t step) {
  const std::span<const DeviceId> devices = course.session->problem().placeable_devices();
  steps_on_.resize(placements_.size() * devices.size());
  asking_.clear();
  asked_.clear();
  for (std::size_t worker = 0; worker < placements_.size(); ++worker) {
    for (std::size_t device = 0; device < devices.size(); ++device) {
      Step& on_device = steps_on_[worker * devices.size() + device];
      Placement placement = placements_[worker];
      course.put(placement, course.rollout.current_[step], devices[device]);
      if (placement == placements_[worker]) {
        on_device = steps_[worker];
      } else {
        asking_.push_back(&on_device);
        asked_.push_back(std::move(placement));
      }
    }
  }
  if (!answer(course)) {
    return false;
  }
  for (std::size_t i = 0; i < steps_on_.size(); ++i) {
    course.rollout.times_on_[step * steps_on_.size() + i] = steps_on_[i].time;
  }
  return true;
}

void Player::take_chosen(const Course& course, std::size_t step) {
  const std::size_t workers = placements_.size();
  for (std::size_t worker = 0; worker < workers; ++worker) {
    const auto chosen = static_cast<std::size_t>(course.rollout.actions_[step * workers + worker]);
    std::swap(steps_[worker], steps_on_[worker * course.graph.num_devices() + chosen]);
  }
}

bool Player::answer(Course& course) {
  answers_.resize(asked_.size());
  const std::vector<Evaluation> evaluations = course.session->evaluate(asked_, answers_);
  for (std::size_t i = 0; i < evaluations.size(); ++i) {
    if (evaluations[i].status == EvaluationStatus::kBudgetSpent) {
      return false;
    }
    Step& step = *asking_[i];
    std::swap(step.outline, answers_[i]);
    step.time = course.time_of(evaluations[i], step.outline);
    step.objective_us = evaluations[i].objective_us();
  }
  return true;
}

void Player::write_down(Course& course, std::size_t step) {
  Rollout& rollout = course.rollout;
  const std::size_t num_groups = course.graph.size();
  const std::size_t workers = placements_.size();
  const auto current = static_cast<std::size_t>(rollout.current_[step]);
  for (std::size_t visited = 0; visited < step; ++visited) {
    ++rollout.done_[step * num_groups + static_cast<std::size_t>(rollout.current_[visited])];
  }
  for (std::size_t worker = 0; worker < workers; ++worker) {
    const std::size_t first = (step * workers + worker) * num_groups;
    course.read_devices(placements_[worker],
                        std::span(rollout.devices_).subspan(first, num_groups));
    if (course.options.reward == Reward::kTerminal) {
      continue;
    }
    const std::vector<double> starts_us = course.starts_us(steps_[worker].outline);
    const double largest_us = *std::ranges::max_element(starts_us) - starts_us[current];
    for (std::size_t group = 0; group < num_groups; ++group) {
      const double start_us = starts_us[group] - starts_us[current];
      rollout.starts_[first + group] =
          static_cast<float>(largest_us != 0 ? start_us / largest_us : start_us);
    }
  }
}

void Player::choose(Course& course, std::size_t step, bool greedy) {
  Rollout& rollout = course.rollout;
  const std::size_t workers = placements_.size();
  decisions_.clear();
  for (std::size_t worker = 0; worker < workers; ++worker) {
    decisions_.push_back(rollout.decision(step * workers + worker));
  }
  tape_.clear();
  probabilities_.resize(course.graph.num_devices());
  const nn::Value logits = network_->logits(
      tape_, lists_, course.graph, decisions_,
      std::min(nn::kLanes,
               std::bit_ceil(workers * network_->lanes_per_decision(course.graph.num_devices()))));
  for (std::size_t worker = 0; worker < workers; ++worker) {
    nn::softmax<float>(tape_.value(logits).row(worker), nn::kLanes, probabilities_);
    for (const double probability : probabilities_) {
      rollout.entropy_sum_ -= probability > 0 ? probability * nn::log_of(probability) : 0;
    }
    std::size_t action = 0;
    if (greedy) {
      action = static_cast<std::size_t>(std::ranges::max_element(probabilities_) -
                                        probabilities_.begin());
    } else if (course.options.epsilon > 0 &&
               course.session->random().uniform() < course.options.epsilon) {
      action = course.session->random().below(probabilities_.size());
    } else {
      double left = course.session->random().uniform() - probabilities_[0];
      while (left >= 0 && action + 1 < probabilities_.size()) {
        left -= probabilities_[++action];
      }
    }
    rollout.actions_[step * workers + worker] = static_cast<std::int32_t>(action);
    course.put(placements_[worker], rollout.current_[step],
               course.session->problem().placeable_devices()[action]);
  }
}

}  // namespace emplace::agents::placeto
