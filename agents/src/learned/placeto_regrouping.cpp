#include "placeto_regrouping.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace emplace::agents::placeto {
namespace {

// Compiles the same graph and cluster, which `problem` keeps alive, with coarser groups.
std::shared_ptr<const Problem> coarsened(const Problem& problem,
                                         const std::vector<GroupId>& coarse_of) {
  std::vector<GroupId> group_of;
  for (OpId op = 0; op < problem.num_ops(); ++op) {
    const GroupId group = problem.grouping().group_of(op);
    group_of.push_back(coarse_of[static_cast<std::size_t>(group)]);
  }
  const std::shared_ptr<const void> nobody;
  return std::make_shared<const Problem>(
      std::shared_ptr<const OpGraph>(nobody, &problem.graph()), Grouping(std::move(group_of)),
      std::shared_ptr<const Cluster>(nobody, &problem.cluster()));
}

}  // namespace

Regrouping::Regrouping(const Problem& problem, const Options& options)
    : edges_(problem), contraction_(problem, options.episode.groups, options.grouping.balance) {}

Course& Regrouping::next(const Course& fine, const Grouper<float>& grouper, RandomStream* random) {
  const Problem& problem = fine.session->problem();
  Placement start = fine.next_start(random == nullptr);
  edges_.look_at(problem, start);
  std::vector<float> scores;
  if (edges_.producers.rows() > 0) {
    nn::Tape<float> tape(grouper.parameters());
    const nn::MatrixView<float> view = tape.value(grouper.scores(tape, fine.graph, edges_));
    for (std::size_t edge = 0; edge < view.rows; ++edge) {
      scores.push_back(view(edge, 0));
    }
  }
  draw_ = contraction_.draw(scores, random);
  return course_.emplace(fine, std::move(start), coarsened(problem, draw_.coarse_of),
                         draw_.coarse_of);
}

GrouperLearner::Lesson Regrouping::lesson(const Course& fine) {
  const Rollout& rollout = course_->rollout;
  const std::span<const double> times = rollout.times();
  double sum = 0;
  for (std::size_t worker = 0; worker < rollout.workers(); ++worker) {
    double least = times[times.size() - rollout.workers() + worker];
    for (std::size_t i = rollout.workers() + worker; i < times.size(); i += rollout.workers()) {
      if (course_->options.reward != Reward::kTerminal) {
        least = std::min(least, times[i]);
      }
    }
    sum += least;
  }
  return {.graph = &fine.graph,
          .edges = &edges_,
          .slopes = draw_.slopes,
          .advantage = baseline_.advantage(sum / static_cast<double>(rollout.workers()))};
}

}  // namespace emplace::agents::placeto
