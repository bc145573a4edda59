#include "regrouping.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace emplace::agents::placeto {
namespace {

// Compiles the graph and cluster of `problem`, which keeps them alive, with coarser groups.
std::shared_ptr<const Problem> coarsened(const Problem& problem,
                                         const IdVector<GroupId, GroupId>& coarse_of) {
  std::vector<GroupId> group_of;
  for (OpId op = 0; op < problem.num_ops(); ++op) {
    group_of.push_back(coarse_of[problem.grouping().group_of(op)]);
  }
  const std::shared_ptr<const void> no_owner;
  return std::make_shared<const Problem>(
      std::shared_ptr<const OpGraph>(no_owner, &problem.graph()), Grouping(std::move(group_of)),
      std::shared_ptr<const Cluster>(no_owner, &problem.cluster()));
}

}  // namespace

Regrouping::Regrouping(const Problem& problem, const Options& options)
    : edges_(problem), contraction_(problem, options.episode.groups, options.grouping.balance) {}

Environment& Regrouping::next(const Environment& fine, const Grouper<float>& grouper,
                              RandomStream* random) {
  const Problem& problem = fine.session->problem();
  Placement start = fine.next_start(random == nullptr);
  edges_.set_start(problem, start);
  std::vector<float> scores;
  if (edges_.producers.rows() > 0) {
    nn::Tape<float> tape(grouper.parameters());
    const nn::MatrixView<float> view = tape.value(grouper.scores(tape, fine.graph, edges_));
    for (std::size_t edge = 0; edge < view.rows; ++edge) {
      scores.push_back(view(edge, 0));
    }
  }
  draw_ = contraction_.draw(scores, random);
  return environment_.emplace(fine, std::move(start), coarsened(problem, draw_.coarse_of),
                              draw_.coarse_of);
}

GrouperLearner::Sample Regrouping::sample(const Environment& fine) {
  const Rollout& rollout = environment_->rollout;
  const std::span<const double> times = rollout.times();
  double sum = 0;
  for (std::size_t worker = 0; worker < rollout.workers(); ++worker) {
    double best = times[times.size() - rollout.workers() + worker];
    for (std::size_t i = rollout.workers() + worker; i < times.size(); i += rollout.workers()) {
      if (environment_->options.reward != Reward::kTerminal) {
        best = std::min(best, times[i]);
      }
    }
    sum += best;
  }
  return {.graph = &fine.graph,
          .edges = &edges_,
          .log_probability_gradient = draw_.log_probability_gradient,
          .advantage = baseline_.advantage(sum / static_cast<double>(rollout.workers()))};
}

}  // namespace emplace::agents::placeto
