#include "trainer.hpp"

#include "policy_gradient/advantage.hpp"
#include "policy_gradient/group_limit.hpp"
#include "policy_gradient/loss.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace emplace::agents::rnn {

double cost_of(const Evaluation& evaluation, double out_of_memory_s) {
  constexpr double kUsPerSecond = 1e6;
  return std::sqrt(evaluation.status == EvaluationStatus::kOk
                       ? evaluation.step_time_us / kUsPerSecond
                       : out_of_memory_s);
}

void check_size(const Options& options, const Problem& problem, std::size_t placements,
                Learns learns) {
  if (options.policy.groups > 0) {
    return;  // the sequence is that of learned groups, which are few
  }
  // Numbers on the tape for each item and hidden unit: of the encoder, and of each placement, as
  // measured.
  const double numbers = 220 + 70 * static_cast<double>(placements);
  policy_gradient::check_group_limit(
      "rnn-colocrl", problem.num_groups(),
      {.per_group_bytes = sizeof(float) * numbers * static_cast<double>(options.policy.hidden) *
                          (learns == Learns::kYes ? 1 : 0.5),
       .per_pair_bytes = sizeof(float) * static_cast<double>(placements)},
      "a smaller hidden");
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

Trainer::Trainer(const Options& options, RecurrentPolicy<float>& policy,
                 std::span<Session* const> sessions)
    : sampling_(options.sampling),
      reward_(options.reward),
      normalizes_advantages_(options.learning.normalize_advantages),
      policy_(&policy),
      optimizer_(options.learning, policy.parameters(), sessions),
      tape_(policy.parameters()),
      gradient_(policy.parameters().values().size()) {
  for (Session* session : sessions) {
    check_size(options, session->problem(), sampling_.placements, Learns::kYes);
    environments_.push_back({session, items_of(session->problem()),
                             policy_gradient::MovingBaseline(reward_.baseline_decay)});
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
  std::size_t left = std::min(sampling_.groupings * sampling_.placements,
                              static_cast<std::size_t>(evaluations_left));
  draws_.resize((left + sampling_.placements - 1) / sampling_.placements);
  for (GroupedDraw& drawn : draws_) {
    drawn.draw.placements = std::min(left, sampling_.placements);
    left -= drawn.draw.placements;
  }
}

TrainingUpdate Trainer::update(Environment& environment) {
  Session& session = *environment.session;
  optimizer_.begin_update();
  prepare_draws(session.evaluations_left());
  tape_.clear();
  ActionSampler sampler(&session.random());
  const bool is_noisy = optimizer_.updates() < sampling_.noise_updates;
  policy_->place(tape_, environment.items, sampler, is_noisy ? sampling_.logit_noise : 0, draws_);
  read_placements(draws_, session.problem(), environment.items, placements_);
  const std::vector<Evaluation> evaluations = session.evaluate(placements_);

  TrainingUpdate report;
  if (seed(environment, evaluations)) {
    std::ranges::fill(gradient_, 0.0F);
    tape_.backward(gradient_);
    report.gradient_norm = optimizer_.step(gradient_);
  }
  optimizer_.end_update();
  episodes_ += static_cast<std::int64_t>(evaluations.size());
  report.update = optimizer_.updates();
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
  std::vector<std::size_t> counted;  // positions of the placements that count
  std::vector<double> advantages;    // of these; costs, until the baseline is known
  for (std::size_t i = 0; i < evaluations.size(); ++i) {
    const EvaluationStatus status = evaluations[i].status;
    if (status == EvaluationStatus::kOk || (status == EvaluationStatus::kOutOfMemory &&
                                            optimizer_.updates() < reward_.feasible_only_after)) {
      counted.push_back(i);
      advantages.push_back(cost_of(evaluations[i], reward_.out_of_memory_s));
    }
  }
  if (counted.empty()) {
    return false;
  }
  const auto count = static_cast<double>(counted.size());
  const double sum = std::accumulate(advantages.begin(), advantages.end(), 0.0);
  const double baseline = environment.baseline.before(sum / count);
  // Equal costs differ from the baseline only by what it lags behind. Scaled to 1, that would
  // drive a policy that has collapsed ever further.
  const auto [least, largest] = std::ranges::minmax(advantages);
  const bool normalizes = normalizes_advantages_ && least < largest;
  for (double& advantage : advantages) {
    advantage = baseline - advantage;
  }
  if (normalizes) {
    policy_gradient::normalize(advantages, {});
  }
  for (std::size_t i = 0; i < counted.size(); ++i) {
    const GroupedDraw& drawn = draws_[counted[i] / sampling_.placements];
    const std::size_t row = counted[i] % sampling_.placements;
    const auto derivative =
        static_cast<float>(policy_gradient::reinforce_derivative(advantages[i]) / count);
    for (const nn::Value value : drawn.draw.log_probabilities) {
      tape_.seed(value)(row, 0) = derivative;
    }
    for (const nn::Value value : drawn.draw.entropies) {
      tape_.seed(value)(row, 0) = static_cast<float>(-optimizer_.entropy_weight() / count);
    }
    if (drawn.log_probabilities) {
      for (std::size_t item = 0; item < environment.items.size(); ++item) {
        tape_.seed (*drawn.log_probabilities)(item, 0) += derivative;
      }
    }
  }
  return true;
}

double Trainer::entropy() const {
  double sum = 0;
  double count = 0;
  for (const GroupedDraw& drawn : draws_) {
    for (const nn::Value value : drawn.draw.entropies) {
      const nn::MatrixView<float> view = tape_.value(value);
      for (std::size_t row = 0; row < view.rows; ++row) {
        sum += view(row, 0);
      }
      count += static_cast<double>(view.rows);
    }
  }
  return sum / count;
}

std::string Trainer::to_json() const {
  std::string baselines;
  for (const Environment& environment : environments_) {
    baselines += (baselines.empty() ? "" : ", ") + environment.baseline.to_json();
  }
  return fmt::format(R"({{"next": {}, "episodes": {}, "baselines": [{}], "optimizer": {}}})", next_,
                     episodes_, baselines, optimizer_.to_json());
}

void Trainer::load(const JsonCursor& json) {
  using policy_gradient::read_count;
  json.expect_only({"next", "episodes", "baselines", "optimizer"});
  const auto baselines =
      policy_gradient::elements_by_problem(json.at("baselines"), environments_.size());
  for (std::size_t i = 0; i < environments_.size(); ++i) {
    environments_[i].baseline.load(baselines[i]);
  }
  next_ = static_cast<std::size_t>(read_count(json.at("next")));
  episodes_ = read_count(json.at("episodes"));
  optimizer_.load(json.at("optimizer"));
}

}  // namespace emplace::agents::rnn
