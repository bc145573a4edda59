#include "trainer.hpp"

#include "policy_gradient/advantage.hpp"
#include "policy_gradient/group_limit.hpp"
#include "policy_gradient/parallel.hpp"

#include <emplace/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <numeric>
#include <utility>
#include <vector>

namespace emplace::agents::rnn {
namespace {

// Sizes the samples of an update on one problem to its budget.
void prepare_draws(const SamplingOptions& sampling, std::int64_t evaluations_left,
                   std::deque<GroupedDraw>& draws) {
  std::size_t left = std::min(sampling.groupings * sampling.placements,
                              static_cast<std::size_t>(evaluations_left));
  draws.resize((left + sampling.placements - 1) / sampling.placements);
  for (GroupedDraw& drawn : draws) {
    drawn.draw.placements = std::min(left, sampling.placements);
    left -= drawn.draw.placements;
  }
}

// The mean entropy of a device's distribution.
double mean_entropy(const nn::Tape<float>& tape, const std::deque<GroupedDraw>& draws) {
  double sum = 0;
  double count = 0;
  for (const GroupedDraw& drawn : draws) {
    for (const nn::Value value : drawn.draw.entropies) {
      const nn::MatrixView<float> view = tape.value(value);
      for (std::size_t row = 0; row < view.rows; ++row) {
        sum += view(row, 0);
      }
      count += static_cast<double>(view.rows);
    }
  }
  return sum / count;
}

}  // namespace

struct RecurrentTrainer::Batch {
  std::size_t problem = 0;
  std::int64_t evaluations = 0;
  double mean_us = 0;
  double entropy = 0;
  std::vector<float> gradient{};  // empty if no placement counts
};

struct RecurrentTrainer::Workspace {
  explicit Workspace(const nn::Parameters<float>& parameters) : tape(parameters) {}

  nn::Tape<float> tape;
  std::deque<GroupedDraw> draws{};
  std::vector<Placement> placements{};
};

// As many as are used at a time: tapes keep their memory, so one for each thread that ever computed
// a batch would be more than one for each batch of an update.
class RecurrentTrainer::Workspaces {
 public:
  explicit Workspaces(const nn::Parameters<float>& parameters) : parameters_(&parameters) {}

  // Calls `use` with a workspace that nobody else uses.
  template <class Use>
  void lend(const Use& use) {
    std::unique_ptr<Workspace> workspace;
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        workspace = std::move(idle_.back());
        idle_.pop_back();
      }
    }
    if (!workspace) {
      workspace = std::make_unique<Workspace>(*parameters_);
    }
    use(*workspace);
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(workspace));
  }

 private:
  const nn::Parameters<float>* parameters_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Workspace>> idle_;
};

double cost_of(const Evaluation& evaluation, double out_of_memory_s) {
  constexpr double kUsPerSecond = 1e6;
  return std::sqrt(evaluation.status == EvaluationStatus::kOk
                       ? evaluation.step_time_us / kUsPerSecond
                       : out_of_memory_s);
}

namespace {

// The items are learned groups, however many groups the problem has.
void check_learned_groups(const Options& options, double bytes_per_item_and_unit) {
  const double bytes = bytes_per_item_and_unit * static_cast<double>(options.policy.hidden) *
                       static_cast<double>(options.policy.groups) *
                       static_cast<double>(options.sampling.groupings);
  if (bytes > policy_gradient::kMostBytes) {
    throw Error(ErrorCode::kUnsupported,
                fmt::format("rnn-hdp would take {:.3g} GB of memory; its limit is {:.3g} GB: give "
                            "fewer problems, groupings, placements or learned-groups, or a "
                            "smaller hidden",
                            bytes / 1e9, policy_gradient::kMostBytes / 1e9));
  }
}

}  // namespace

void check_size(const Options& options, const Problem& problem, std::size_t placements,
                std::size_t tapes, Learns learns) {
  // Numbers on the tape for each item and hidden unit: of the encoder, and of each placement, as
  // measured.
  const double numbers = 220 + 70 * static_cast<double>(placements);
  const double bytes = sizeof(float) * static_cast<double>(tapes);
  if (options.policy.groups > 0) {
    check_learned_groups(options, bytes * numbers);
    return;
  }
  policy_gradient::check_group_limit(
      "rnn-colocrl", problem.num_groups(),
      {.per_group_bytes = bytes * numbers * static_cast<double>(options.policy.hidden) *
                          (learns == Learns::kYes ? 1 : 0.5),
       .per_pair_bytes = bytes * static_cast<double>(placements)},
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

RecurrentTrainer::RecurrentTrainer(const Options& options, RecurrentPolicy<float>& policy,
                                   std::span<Session* const> sessions)
    : sampling_(options.sampling),
      reward_(options.reward),
      normalizes_advantages_(options.learning.normalize_advantages),
      policy_(&policy),
      optimizer_(options.learning, policy.parameters(), sessions),
      workspaces_(std::make_unique<Workspaces>(policy.parameters())),
      gradient_(policy.parameters().values().size()) {
  for (Session* session : sessions) {
    check_size(options, session->problem(), sampling_.placements,
               std::min(sampling_.problems, sessions.size()), Learns::kYes);
    tasks_.push_back({session, items_of(session->problem()), {}});
  }
}

RecurrentTrainer::~RecurrentTrainer() = default;

void RecurrentTrainer::run(const TrainingCallback& callback) {
  for (bool goes_on = true; goes_on;) {
    std::vector<Batch> batches = next_batches();
    if (batches.empty()) {
      return;
    }
    optimizer_.begin_update();
    policy_gradient::in_parallel(batches.size(), [&](std::size_t i) {
      workspaces_->lend([&](Workspace& workspace) { sample(batches[i], workspace); });
    });
    if (std::ranges::any_of(tasks_, &Session::stopped, &Task::session)) {
      return;
    }
    const double norm = step(batches);
    optimizer_.end_update();
    for (const Batch& batch : batches) {
      episodes_ += batch.evaluations;
    }
    for (const Batch& batch : batches) {
      const TrainingUpdate report = {
          .update = optimizer_.updates(),
          .episodes = episodes_,
          .session = batch.problem,
          .last_us = batch.mean_us,
          .best_us = tasks_[batch.problem].session->best_evaluation().objective_us(),
          .entropy = batch.entropy,
          .gradient_norm = norm,
          .is_last = &batch == &batches.back()};
      goes_on = (!callback || callback(report)) && goes_on;
    }
  }
}

std::vector<RecurrentTrainer::Batch> RecurrentTrainer::next_batches() {
  std::vector<Batch> batches;
  const std::size_t first = next_;
  while (next_ - first < tasks_.size() && batches.size() < sampling_.problems) {
    const std::size_t problem = next_++ % tasks_.size();
    if (!tasks_[problem].session->exhausted()) {
      batches.push_back({.problem = problem});
    }
  }
  return batches;
}

void RecurrentTrainer::sample(Batch& batch, Workspace& workspace) {
  Task& task = tasks_[batch.problem];
  Session& session = *task.session;
  nn::Tape<float>& tape = workspace.tape;
  tape.clear();
  prepare_draws(sampling_, session.evaluations_left(), workspace.draws);
  ActionSampler sampler(&session.random());
  const bool is_noisy = optimizer_.updates() < sampling_.noise_updates;
  policy_->place(tape, task.items, sampler, is_noisy ? sampling_.logit_noise : 0, workspace.draws);
  read_placements(workspace.draws, session.problem(), task.items, workspace.placements);
  const std::vector<Evaluation> evaluations = session.evaluate(workspace.placements);
  if (seed(task, evaluations, workspace)) {
    batch.gradient.assign(gradient_.size(), 0.0F);
    tape.backward(batch.gradient);
  }
  batch.evaluations = static_cast<std::int64_t>(evaluations.size());
  for (const Evaluation& evaluation : evaluations) {
    batch.mean_us += evaluation.objective_us() / static_cast<double>(evaluations.size());
  }
  batch.entropy = mean_entropy(tape, workspace.draws);
}

double RecurrentTrainer::step(std::span<const Batch> batches) {
  std::ranges::fill(gradient_, 0.0F);
  float count = 0;
  for (const Batch& batch : batches) {
    count += batch.gradient.empty() ? 0.0F : 1.0F;
    for (std::size_t i = 0; i < batch.gradient.size(); ++i) {
      gradient_[i] += batch.gradient[i];
    }
  }
  if (count == 0) {
    return 0;
  }
  for (float& derivative : gradient_) {
    derivative /= count;
  }
  return optimizer_.step(gradient_);
}

bool RecurrentTrainer::seed(Task& task, const std::vector<Evaluation>& evaluations,
                            Workspace& workspace) const {
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
    const GroupedDraw& drawn = workspace.draws[counted[i] / sampling_.placements];
    const std::size_t row = counted[i] % sampling_.placements;
    const auto derivative = static_cast<float>(-advantages[i] / count);
    for (const nn::Value value : drawn.draw.log_probabilities) {
      workspace.tape.seed(value)(row, 0) = derivative;
    }
    for (const nn::Value value : drawn.draw.entropies) {
      workspace.tape.seed(value)(row, 0) = static_cast<float>(-optimizer_.entropy_weight() / count);
    }
    if (drawn.log_probabilities) {
      for (std::size_t item = 0; item < task.items.size(); ++item) {
        workspace.tape.seed (*drawn.log_probabilities)(item, 0) += derivative;
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
