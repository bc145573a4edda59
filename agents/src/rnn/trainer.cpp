#include "trainer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace emplace::agents::rnn {

double cost_of(const Evaluation& evaluation, double out_of_memory_s) {
  constexpr double kUsPerSecond = 1e6;
  return std::sqrt(evaluation.status == EvaluationStatus::kOk
                       ? evaluation.step_time_us / kUsPerSecond
                       : out_of_memory_s);
}

void read_placements(const std::deque<GroupedDraw>& draws, const Problem& problem,
                     std::span<const Item> items, std::vector<Placement>& placements) {
  placements.clear();
  for (const GroupedDraw& drawn : draws) {
    for (std::size_t i = 0; i < drawn.draw.placements; ++i) {
      Placement& placement = placements.emplace_back(problem.num_groups());
      for (std::size_t item = 0; item < items.size(); ++item) {
        placement[items[item].group] = problem.placeable_devices()[drawn.device(item, i)];
      }
    }
  }
}

Trainer::Trainer(const LearningOptions& options, RecurrentPolicy<float>& policy,
                 std::span<Session* const> sessions)
    : options_(options),
      policy_(&policy),
      optimizer_(options.optimizer, policy.parameters().values().size()),
      tape_(policy.parameters()),
      gradient_(policy.parameters().values().size()) {
  for (Session* session : sessions) {
    environments_.push_back({session, items_of(session->problem()),
                             policy_gradient::MovingBaseline(options.baseline_decay)});
  }
}

void Trainer::run(const TrainingCallback& callback) {
  for (bool goes_on = true; goes_on;) {
    std::size_t tried = 0;
    while (environments_[next_ % environments_.size()].session->exhausted()) {
      ++next_;
      if (++tried == environments_.size()) {
        return;
      }
    }
    const TrainingUpdate report = update(environments_[next_++ % environments_.size()]);
    goes_on = !callback || callback(report);
  }
}

void Trainer::prepare_draws(std::int64_t evaluations_left) {
  std::size_t left = std::min(options_.groupings * options_.placements,
                              static_cast<std::size_t>(evaluations_left));
  draws_.resize((left + options_.placements - 1) / options_.placements);
  for (GroupedDraw& drawn : draws_) {
    drawn.draw.placements = std::min(left, options_.placements);
    left -= drawn.draw.placements;
  }
}

TrainingUpdate Trainer::update(Environment& environment) {
  Session& session = *environment.session;
  prepare_draws(session.evaluations_left());
  tape_.clear();
  ActionSampler sampler(&session.random());
  const bool is_noisy = updates_ < options_.noise_updates;
  policy_->place(tape_, environment.items, sampler, is_noisy ? options_.logit_noise : 0, draws_);
  read_placements(draws_, session.problem(), environment.items, placements_);
  const std::vector<Evaluation> evaluations = session.evaluate(placements_);

  TrainingUpdate report;
  if (seed(environment, evaluations)) {
    std::ranges::fill(gradient_, 0.0F);
    tape_.backward(gradient_);
    report.gradient_norm = optimizer_.clipped_step(policy_->parameters().values(), gradient_,
                                                   options_.learning_rate, options_.max_grad_norm);
  }
  episodes_ += static_cast<std::int64_t>(evaluations.size());
  report.update = ++updates_;
  report.episodes = episodes_;
  report.session = static_cast<std::size_t>(&environment - environments_.data());
  for (const Evaluation& evaluation : evaluations) {
    report.last_us += evaluation.objective_us() / static_cast<double>(evaluations.size());
  }
  report.best_us = session.best_evaluation().objective_us();
  report.entropy = entropy();
  return report;
}

bool Trainer::seed(Environment& environment, const std::vector<Evaluation>& evaluations) {
  const auto counts = [&](const Evaluation& evaluation) {
    return evaluation.status == EvaluationStatus::kOk ||
           (evaluation.status == EvaluationStatus::kOutOfMemory &&
            updates_ < options_.feasible_only_after);
  };
  double sum = 0;
  double counted = 0;
  for (const Evaluation& evaluation : evaluations) {
    if (counts(evaluation)) {
      sum += cost_of(evaluation, options_.out_of_memory_s);
      counted += 1;
    }
  }
  if (counted == 0) {
    return false;
  }
  const double baseline = environment.baseline.before(sum / counted);
  auto evaluation = evaluations.begin();
  for (const GroupedDraw& drawn : draws_) {
    double advantage_sum = 0;
    for (std::size_t row = 0; row < drawn.draw.placements; ++row, ++evaluation) {
      if (!counts(*evaluation)) {
        continue;
      }
      const double advantage =
          (cost_of(*evaluation, options_.out_of_memory_s) - baseline) / counted;
      advantage_sum += advantage;
      for (std::size_t i = 0; i < drawn.draw.log_probabilities.size(); ++i) {
        tape_.seed(drawn.draw.log_probabilities[i])(row, 0) = static_cast<float>(advantage);
        tape_.seed(drawn.draw.entropies[i])(row, 0) =
            static_cast<float>(-options_.entropy_weight / counted);
      }
    }
    if (drawn.log_probabilities) {
      for (std::size_t item = 0; item < environment.items.size(); ++item) {
        tape_.seed (*drawn.log_probabilities)(item, 0) = static_cast<float>(advantage_sum);
      }
    }
  }
  return true;
}

double Trainer::entropy() const {
  double sum = 0;
  double count = 0;
  const auto add = [&](nn::Value entropies) {
    const nn::MatrixView<float> view = tape_.value(entropies);
    for (std::size_t row = 0; row < view.rows; ++row) {
      sum += view(row, 0);
    }
    count += static_cast<double>(view.rows);
  };
  for (const GroupedDraw& drawn : draws_) {
    std::ranges::for_each(drawn.draw.entropies, add);
    if (drawn.entropies) {
      add(*drawn.entropies);
    }
  }
  return sum / count;
}

std::string Trainer::to_json() const {
  std::string baselines;
  for (const Environment& environment : environments_) {
    baselines += (baselines.empty() ? "" : ", ") + environment.baseline.to_json();
  }
  return fmt::format(
      R"({{"next": {}, "updates": {}, "episodes": {}, "baselines": [{}], "optimizer": {}}})", next_,
      updates_, episodes_, baselines, optimizer_.to_json());
}

void Trainer::load(const JsonCursor& json) {
  using policy_gradient::read_count;
  json.expect_only({"next", "updates", "episodes", "baselines", "optimizer"});
  const auto baselines =
      policy_gradient::elements_by_problem(json.at("baselines"), environments_.size());
  for (std::size_t i = 0; i < environments_.size(); ++i) {
    environments_[i].baseline.load(baselines[i]);
  }
  next_ = static_cast<std::size_t>(read_count(json.at("next")));
  updates_ = read_count(json.at("updates"));
  episodes_ = read_count(json.at("episodes"));
  optimizer_.load(json.at("optimizer"));
}

}  // namespace emplace::agents::rnn
