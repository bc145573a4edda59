#include "coarse_agent.hpp"

#include "coarsening/coarsening.hpp"
#include "coarsening/group_nesting.hpp"

#include <emplace/base/id_vector.hpp>

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace emplace::agents {
namespace {

// An evaluator and its problem at a level; the evaluator itself where the problem is coarse enough.
class Level {
 public:
  Level(Evaluator& evaluator, GroupId groups) : outer_(&evaluator) {
    const Problem& problem = evaluator.problem();
    if (problem.num_groups() > groups) {
      problem_ =
          std::make_unique<const Problem>(problem.regrouped(Coarsening(problem).grouping(groups)));
      evaluator_ = std::make_unique<Evaluator>(evaluator, *problem_);
    }
  }

  Evaluator& evaluator() { return evaluator_ ? *evaluator_ : *outer_; }
  const Problem& problem() const { return problem_ ? *problem_ : outer_->problem(); }

  Placement expand(const Placement& placement) const {
    return problem_
               ? GroupNesting(outer_->problem().grouping(), problem_->grouping()).expand(placement)
               : placement;
  }

 private:
  Evaluator* outer_;
  std::unique_ptr<const Problem> problem_;
  std::unique_ptr<Evaluator> evaluator_;
};

class CoarseAgent final : public Agent {
 public:
  CoarseAgent(GroupId groups, std::unique_ptr<Agent> agent)
      : groups_(groups), agent_(std::move(agent)) {}

  Placement place(const Problem&, Evaluator& evaluator) override {
    Level level(evaluator, groups_);
    return level.expand(agent_->place(level.problem(), level.evaluator()));
  }

  GroupId decision_groups(const Problem& problem) const override {
    return std::min(problem.num_groups(), groups_);
  }

 private:
  GroupId groups_;
  std::unique_ptr<Agent> agent_;
};

class CoarseTrainableAgent final : public TrainableAgent {
 public:
  CoarseTrainableAgent(GroupId groups, std::unique_ptr<TrainableAgent> agent)
      : groups_(groups), agent_(std::move(agent)) {}

  Placement place(const Problem&, Evaluator& evaluator) override {
    Evaluator* const evaluators[] = {&evaluator};
    const std::vector<Level> before = std::exchange(levels_, levels_of(evaluators));
    Level& level = levels_.front();
    return level.expand(agent_->place(level.problem(), level.evaluator()));
  }

  Placement place_with_policy(const Problem&, Evaluator& evaluator) override {
    Level level(evaluator, groups_);
    return level.expand(agent_->place_with_policy(level.problem(), level.evaluator()));
  }

  void train(std::span<Evaluator* const> evaluators, const TrainingCallback& callback) override {
    const std::vector<Level> before = std::exchange(levels_, levels_of(evaluators));
    std::vector<Evaluator*> on_levels;
    on_levels.reserve(levels_.size());
    for (Level& level : levels_) {
      on_levels.push_back(&level.evaluator());
    }
    agent_->train(on_levels, callback);
  }

  std::int64_t evaluations_per_episode(GroupId num_groups) const override {
    return agent_->evaluations_per_episode(std::min(num_groups, groups_));
  }

  GroupId decision_groups(const Problem& problem) const override {
    return std::min(problem.num_groups(), groups_);
  }

  std::string save() const override { return agent_->save(); }
  void load(const JsonCursor& policy) override { agent_->load(policy); }
  std::string save_training() const override { return agent_->save_training(); }
  void load_training(const JsonCursor& training) override { agent_->load_training(training); }
  std::vector<PolicyLayer> layers(DeviceId num_devices) const override {
    return agent_->layers(num_devices);
  }

 private:
  std::vector<Level> levels_of(std::span<Evaluator* const> evaluators) const {
    std::vector<Level> levels;
    for (Evaluator* evaluator : evaluators) {
      levels.emplace_back(*evaluator, groups_);
    }
    return levels;
  }

  GroupId groups_;
  // Of the last training, whose evaluators a checkpoint asks for. Those before are kept until the
  // agent has forgotten them.
  std::vector<Level> levels_;
  std::unique_ptr<TrainableAgent> agent_;
};

}  // namespace

std::unique_ptr<Agent> decide_on(GroupId groups, std::unique_ptr<Agent> agent) {
  if (auto* const trainable = dynamic_cast<TrainableAgent*>(agent.get())) {
    static_cast<void>(agent.release());  // is `trainable`
    return std::make_unique<CoarseTrainableAgent>(groups,
                                                  std::unique_ptr<TrainableAgent>(trainable));
  }
  return std::make_unique<CoarseAgent>(groups, std::move(agent));
}

}  // namespace emplace::agents
