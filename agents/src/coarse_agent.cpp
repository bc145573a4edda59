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

// A session and its problem at a level; the session itself where the problem is coarse enough.
class Level {
 public:
  Level(Session& session, GroupId groups) : outer_(&session) {
    const Problem& problem = session.problem();
    if (problem.num_groups() > groups) {
      problem_ =
          std::make_unique<const Problem>(problem.regrouped(Coarsening(problem).grouping(groups)));
      session_ = std::make_unique<Session>(session, *problem_);
    }
  }

  Session& session() { return session_ ? *session_ : *outer_; }
  const Problem& problem() const { return problem_ ? *problem_ : outer_->problem(); }

  Placement expand(const Placement& placement) const {
    return problem_
               ? GroupNesting(outer_->problem().grouping(), problem_->grouping()).expand(placement)
               : placement;
  }

 private:
  Session* outer_;
  std::unique_ptr<const Problem> problem_;
  std::unique_ptr<Session> session_;
};

class CoarseAgent final : public Agent {
 public:
  CoarseAgent(GroupId groups, std::unique_ptr<Agent> agent)
      : groups_(groups), agent_(std::move(agent)) {}

  Placement place(const Problem&, Session& session) override {
    Level level(session, groups_);
    return level.expand(agent_->place(level.problem(), level.session()));
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

  Placement place(const Problem&, Session& session) override {
    Session* const sessions[] = {&session};
    const std::vector<Level> before = std::exchange(levels_, levels_of(sessions));
    Level& level = levels_.front();
    return level.expand(agent_->place(level.problem(), level.session()));
  }

  Placement place_with_policy(const Problem&, Session& session) override {
    Level level(session, groups_);
    return level.expand(agent_->place_with_policy(level.problem(), level.session()));
  }

  void train(std::span<Session* const> sessions, const TrainingCallback& callback) override {
    const std::vector<Level> before = std::exchange(levels_, levels_of(sessions));
    std::vector<Session*> on_levels;
    on_levels.reserve(levels_.size());
    for (Level& level : levels_) {
      on_levels.push_back(&level.session());
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
  std::vector<Level> levels_of(std::span<Session* const> sessions) const {
    std::vector<Level> levels;
    for (Session* session : sessions) {
      levels.emplace_back(*session, groups_);
    }
    return levels;
  }

  GroupId groups_;
  // Of the last training, whose sessions a checkpoint asks for. Those before are kept until the
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
