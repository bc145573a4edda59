#include "trainer.hpp"

#include "policy_gradient/advantage.hpp"
#include "policy_gradient/group_limit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace emplace::agents::rnn {
namespace {

// The mean entropy of a device's distribution.
double mean_entropy(const nn::Tape<float>& tape, const Draw& draw) {
  double sum = 0;
  double count = 0;
  for (const nn::Value value : draw.entropies) {
    const nn::MatrixView<float> view = tape.value(value);
    for (std::size_t row = 0; row < view.rows; ++row) {
      sum += view(row, 0);
    }
    count += static_cast<double>(view.rows);
  }
  return sum / count;
}

double mean_us(const std::vector<Evaluation>& evaluations) {
  double mean = 0;
  for (const Evaluation& evaluation : evaluations) {
    mean += evaluation.objective_us() / static_cast<double>(evaluations.size());
  }
  return mean;
}

}  // namespace

double cost_of(const Evaluation& evaluation, double out_of_memory_s) {
  constexpr double kUsPerSecond = 1e6;
  return std::sqrt(evaluation.status == EvaluationStatus::kOk
                       ? evaluation.step_time_us / kUsPerSecond
                       : out_of_memory_s);
}

void check_size(const Options& options, const Problem& problem, std::size_t placements,
                Learns learns) {
  if (options.policy.groups > 0) {
    return;  // the items are learned groups, which are few
  }
  // Numbers on the tape for each group and hidden unit: of the encoder, and of each placement, as
  // measured.
  const double numbers = 220 + 70 * static_cast<double>(placements);
  policy_gradient::check_group_limit(
      "rnn-colocrl", problem.num_groups(),
      {.per_group_bytes = sizeof(float) * numbers * static_cast<double>(options.policy.hidden) *
                          (learns == Learns::kYes ? 1 : 0.5),
       .per_pair_bytes = sizeof(float) * static_cast<double>(placements)},
      "a smaller hidden");
}

std::vector<Placement> read_placements(const GroupedDraw& drawn, const Problem& problem,
                                       std::span<const Item> items) {
  std::vector<Placement> placements(drawn.draw.placements, Placement(problem.num_groups()));
  for (std::size_t i = 0; i < placements.size(); ++i) {
    for (std::size_t item = 0; item < items.size(); ++item) {
      placements[i][items[item].group] = problem.placeable_devices()[drawn.device(item, i)];
    }
  }
  return placements;
}

RecurrentTrainer::RecurrentTrainer(const Options& options, RecurrentPolicy<float>& policy,
                                   std::span<Evaluator* const> evaluators)
    : sampling_(options.sampling),
      reward_(options.reward),
      normalizes_advantages_(options.learning.normalize_advantages),
      policy_(&policy),
      optimizer_(options.learning, policy.parameters(), evaluators),
      tape_(policy.parameters()),
      gradient_(policy.parameters().values().size()) {
  for (Evaluator* evaluator : evaluators) {
    check_size(options, evaluator->problem(), sampling_.placements, Learns::kYes);
    tasks_.push_back({evaluator, items_of(evaluator->problem()), {}});
  }
}

void RecurrentTrainer::run(const TrainingCallback& callback) {
  for (bool goes_on = true; goes_on;) {
    Task* const task = next_task();
    if (task == nullptr) {
      return;
    }
    optimizer_.begin_update();
    const std::vector<Evaluation> evaluations = sample(*task);
    const bool counts = seed(*task, evaluations);
    if (std::ranges::any_of(tasks_,
                            [](const Task& each) { return each.evaluator->budget().stopped(); })) {
      return;
    }
    const double norm = counts ? step() : 0;
    optimizer_.end_update();
    episodes_ += static_cast<std::int64_t>(evaluations.size());
    goes_on =
        !callback || callback({.update = optimizer_.updates(),
                               .episodes = episodes_,
                               .problem = static_cast<std::size_t>(task - tasks_.data()),
                               .last_us = mean_us(evaluations),
                               .best_us = task->evaluator->incumbent().evaluation().objective_us(),
                               .entropy = mean_entropy(tape_, drawn_.draw),
                               .gradient_norm = norm});
  }
}

RecurrentTrainer::Task* RecurrentTrainer::next_task() {
  for (std::size_t tried = 0; tried < tasks_.size(); ++tried) {
    Task& task = tasks_[next_++ % tasks_.size()];
    if (!task.evaluator->budget().exhausted()) {
      return &task;
    }
  }
  return nullptr;
}

std::vector<Evaluation> RecurrentTrainer::sample(const Task& task) {
  Evaluator& evaluator = *task.evaluator;
  tape_.clear();
  drawn_.draw.placements = std::min(
      sampling_.placements, static_cast<std::size_t>(evaluator.budget().evaluations_left()));
  ActionSampler sampler(&evaluator.random());
  const bool is_noisy = optimizer_.updates() < sampling_.noise_updates;
  policy_->place(tape_, task.items, sampler, is_noisy ? sampling_.logit_noise : 0, drawn_);
  return evaluator.evaluate(read_placements(drawn_, evaluator.problem(), task.items));
}

double RecurrentTrainer::step() {
  std::ranges::fill(gradient_, 0.0F);
  tape_.backward(gradient_);
  return optimizer_.step(gradient_);
}

bool RecurrentTrainer::seed(Task& task, const std::vector<Evaluation>& evaluations) {
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
  const double baseline = task.baseline.before(sum / count);
  // Equal costs differ from the baseline only by what it lags behind. Scaled to 1, that would
  // drive a policy that has collapsed ever further.
  const auto [least, largest] = std::ranges::minmax(advantages);
  const bool normalizes = normalizes_advantages_ && least < largest;
  for (double& advantage : advantages) {
    advantage = baseline - advantage;
  }
  if (normalizes) {
    policy_gradient::normalize(advantages);
  }
  for (std::size_t i = 0; i < counted.size(); ++i) {
    const auto derivative = static_cast<float>(-advantages[i] / count);
    for (const nn::Value value : drawn_.draw.log_probabilities) {
      tape_.seed(value)(counted[i], 0) = derivative;
    }
    for (const nn::Value value : drawn_.draw.entropies) {
      tape_.seed(value)(counted[i], 0) = static_cast<float>(-optimizer_.entropy_weight() / count);
    }
    if (drawn_.log_probabilities) {
      for (std::size_t item = 0; item < task.items.size(); ++item) {
        tape_.seed (*drawn_.log_probabilities)(item, 0) += derivative;
      }
    }
  }
  return true;
}

std::string RecurrentTrainer::to_json() const {
  std::string baselines;
  for (const Task& task : tasks_) {
    baselines += (baselines.empty() ? "" : ", ") + task.baseline.to_json();
  }
  return fmt::format(R"({{"next": {}, "episodes": {}, "baselines": [{}], "optimizer": {}}})", next_,
                     episodes_, baselines, optimizer_.to_json());
}

void RecurrentTrainer::load(const JsonCursor& json) {
  using policy_gradient::read_count;
  json.expect_only({"next", "episodes", "baselines", "optimizer"});
  const auto baselines = policy_gradient::elements_by_problem(json.at("baselines"), tasks_.size());
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    tasks_[i].baseline.load(baselines[i]);
  }
  next_ = static_cast<std::size_t>(read_count(json.at("next")));
  episodes_ = read_count(json.at("episodes"));
  optimizer_.load(json.at("optimizer"));
}

}  // namespace emplace::agents::rnn
