#include "trainer.hpp"

#include "policy_gradient/parallel.hpp"
#include "search/starts.hpp"

#include <emplace/agents/placement_json.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

namespace emplace::agents::learned_search {
namespace {

constexpr std::size_t kMinibatch = 2;  // groups of transitions, of some 50 moves each

}  // namespace

SearchTrainer::SearchTrainer(const Options& options, ValueNetwork<float>& network,
                             std::span<Evaluator* const> evaluators)
    : options_(options.learning),
      moves_(options.moves),
      network_(&network),
      evaluators_(evaluators.begin(), evaluators.end()),
      starts_(evaluators.size()),
      progress_(evaluators),
      learning_rate_{.begin = options_.learning_rate, .end = options_.learning_rate_end},
      learner_(network),
      tapes_([&network] { return nn::Tape<float>(network.parameters()); }),
      order_(evaluators.size()) {
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  evaluators_.front()->random().shuffle(std::span(order_));
  for (const Evaluator* evaluator : evaluators_) {
    contexts_.emplace_back(evaluator->problem(), options.moves.levels);
  }
  moves_.learning_rate = 0;
}

void SearchTrainer::run(const TrainingCallback& callback) {
  const auto is_exhausted = [](const Evaluator* evaluator) {
    return evaluator->budget().exhausted();
  };
  const auto is_stopped = [](const Evaluator* evaluator) { return evaluator->budget().stopped(); };
  for (bool goes_on = true; goes_on && !std::ranges::all_of(evaluators_, is_exhausted);) {
    const std::vector<Episode> episodes = play();
    if (std::ranges::any_of(evaluators_, is_stopped)) {
      return;
    }
    const double norm = fit(episodes);
    ++updates_;
    episodes_ += static_cast<std::int64_t>(episodes.size());
    for (std::size_t i = 0; i < episodes.size() && callback; ++i) {
      const Evaluator& evaluator = *evaluators_[episodes[i].problem];
      goes_on = callback({.update = updates_,
                          .episodes = episodes_,
                          .problem = episodes[i].problem,
                          .last_us = episodes[i].last_us,
                          .best_us = evaluator.incumbent().evaluation().objective_us(),
                          .gradient_norm = norm,
                          .is_last = i + 1 == episodes.size()}) &&
                goes_on;
    }
  }
}

// Plays an episode on each of the next problems that have a budget left.
std::vector<SearchTrainer::Episode> SearchTrainer::play() {
  std::vector<Episode> episodes;
  for (std::size_t i = 0; i < evaluators_.size() && episodes.size() < options_.workers; ++i) {
    const std::size_t problem = order_[next_];
    next_ = (next_ + 1) % order_.size();
    if (!evaluators_[problem]->budget().exhausted()) {
      episodes.push_back({.problem = problem});
    }
  }
  policy_gradient::in_parallel(episodes.size(), [&](std::size_t i) {
    Evaluator& evaluator = *evaluators_[episodes[i].problem];
    const std::int64_t until = evaluator.budget().evaluations() + options_.episode_length;
    const Placement& start = draw_start(episodes[i].problem);
    MoveEpisode episode(evaluator, contexts_[episodes[i].problem], *network_, moves_, start,
                        until - evaluator.budget().evaluations());
    episode.run(&episodes[i].transitions);
    episodes[i].last_us = episode.last_us();
  });
  return episodes;
}

const Placement& SearchTrainer::draw_start(std::size_t problem) {
  Evaluator& evaluator = *evaluators_[problem];
  std::vector<Placement>& starts = starts_[problem];
  if (starts.empty()) {
    for (Evaluated& start : evaluated_starts_of_levels(contexts_[problem].coarsening, evaluator)) {
      starts.push_back(std::move(start.placement));
    }
  }
  const std::size_t drawn = evaluator.random().below(starts.size() + 1);
  const std::optional<Placement>& best = evaluator.incumbent().placement();
  return drawn == starts.size() && best ? *best : starts[std::min(drawn, starts.size() - 1)];
}

// Returns the norm of the first minibatch's gradient.
double SearchTrainer::fit(std::span<const Episode> episodes) {
  std::vector<std::pair<std::size_t, const Transitions*>> order;  // with the problem
  for (const Episode& episode : episodes) {
    for (const Transitions& transitions : episode.transitions) {
      order.emplace_back(episode.problem, &transitions);
    }
  }
  const double rate = learning_rate_.at(progress_.share());
  std::vector<std::vector<float>> gradients(
      kMinibatch, std::vector<float>(network_->parameters().values().size()));
  double first_norm = 0;
  for (std::size_t pass = 0; pass < options_.passes; ++pass) {
    evaluators_.front()->random().shuffle(std::span(order));
    for (std::size_t begin = 0; begin < order.size(); begin += kMinibatch) {
      const std::size_t count = std::min(kMinibatch, order.size() - begin);
      std::size_t moves = 0;
      for (std::size_t i = 0; i < count; ++i) {
        moves += order[begin + i].second->values.size();
      }
      policy_gradient::in_parallel(count, [&](std::size_t i) {
        const auto& [problem, transitions] = order[begin + i];
        std::ranges::fill(gradients[i], 0.0F);
        add_gradient(contexts_[problem].neighbours, *transitions, moves, gradients[i]);
      });
      for (std::size_t i = 1; i < count; ++i) {
        for (std::size_t k = 0; k < gradients[0].size(); ++k) {
          gradients[0][k] += gradients[i][k];
        }
      }
      const double norm = learner_.step(gradients[0], rate);
      if (pass == 0 && begin == 0) {
        first_norm = norm;
      }
    }
  }
  return first_norm;
}

void SearchTrainer::add_gradient(const GroupNeighbours& neighbours, const Transitions& transitions,
                                 std::size_t count, std::span<float> gradient) {
  nn::Tape<float>& tape = tapes_.local();
  tape.clear();
  const nn::Value embeddings = network_->embeddings(tape, neighbours, transitions.attributes);
  const nn::Value pools = network_->pools(tape, embeddings, transitions.on_device);
  const nn::Value values =
      network_->values(tape, network_->descriptions(tape, embeddings, pools, transitions.moves));
  ValueLearner::add_gradient(tape, values, transitions.values, count, gradient);
}

std::string SearchTrainer::to_json() const {
  std::string starts;
  for (const std::vector<Placement>& of_problem : starts_) {
    std::string placements;
    for (const Placement& placement : of_problem) {
      placements += fmt::format("{}[{}]", placements.empty() ? "" : ", ",
                                fmt::join(placement.devices(), ", "));
    }
    starts += fmt::format("{}\n[{}]", starts.empty() ? "" : ",", placements);
  }
  return fmt::format(
      "{{\n\"evaluations_before\": {},\n\"updates\": {},\n\"order\": [{}],\n\"next\": "
      "{},\n\"episodes\": {},\n"
      "\"optimizer\": {},\n\"starts\": [{}\n]\n}}",
      progress_.evaluations_before(), updates_, fmt::join(order_, ", "), next_, episodes_,
      learner_.optimizer().to_json(), starts);
}

void SearchTrainer::load(const JsonCursor& json) {
  using policy_gradient::read_count;
  json.expect_only(
      {"evaluations_before", "updates", "order", "next", "episodes", "optimizer", "starts"});
  progress_.load(json.at("evaluations_before"));
  updates_ = read_count(json.at("updates"));
  const auto most = static_cast<std::int64_t>(evaluators_.size()) - 1;
  next_ = static_cast<std::size_t>(json.at("next").integer(0, most));
  const auto order = policy_gradient::elements_by_problem(json.at("order"), evaluators_.size());
  std::ranges::transform(order, order_.begin(), [most](const JsonCursor& problem) {
    return static_cast<std::size_t>(problem.integer(0, most));
  });
  std::vector<std::size_t> sorted = order_;
  std::ranges::sort(sorted);
  if (std::ranges::adjacent_find(sorted) != sorted.end()) {
    json.at("order").fail("expected each problem once");
  }
  episodes_ = read_count(json.at("episodes"));
  learner_.optimizer().load(json.at("optimizer"));
  const auto starts = policy_gradient::elements_by_problem(json.at("starts"), evaluators_.size());
  for (std::size_t i = 0; i < evaluators_.size(); ++i) {
    starts_[i].clear();
    for (const JsonCursor& placement : starts[i].elements()) {
      starts_[i].push_back(placement_from_json(placement, evaluators_[i]->problem()));
    }
  }
}

}  // namespace emplace::agents::learned_search
