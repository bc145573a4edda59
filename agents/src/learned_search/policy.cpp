#include "policy.hpp"

#include "search/starts.hpp"

#include <emplace/base/check.hpp>
#include <emplace/base/embedded.hpp>
#include <emplace/base/json_cursor.hpp>

#include <algorithm>
#include <string_view>

namespace emplace::embedded {
// Is written by emplace_embed() in agents/CMakeLists.txt.
std::span<const Document> policies();
}  // namespace emplace::embedded

namespace emplace::agents::learned_search {
namespace {

// Loads the policy that comes with emplace.
void load_shipped(ValueNetwork<float>& network) {
  const std::span<const embedded::Document> policies = embedded::policies();
  const auto shipped =
      std::ranges::find(policies, std::string_view("learned-search"), &embedded::Document::name);
  EMPLACE_CHECK(shipped != policies.end(), "no policy of learned-search is built in");
  const JsonDocument document =
      JsonDocument::parse(shipped->text, "the policy that comes with emplace");
  network.parameters().load(document.root().at("policy").at("layers"));
}

}  // namespace

SearchPolicy::SearchPolicy(const Options& options) : options_(options), network_(options.network) {}

void SearchPolicy::initialize(RandomStream& random) {
  network_.initialize(random);
  if (options_.pretrained) {
    load_shipped(network_);
  }
}

void SearchPolicy::run_greedy_episode(Evaluator& evaluator) {
  MoveOptions moves = options_.moves;
  moves.epsilon = 0;
  moves.learning_rate = 0;
  const std::int64_t until = evaluator.budget().evaluations() + options_.learning.episode_length;
  const MoveContext context(evaluator.problem(), moves.levels);
  const Placement start = start_of_search(kBestOfLevels, context.coarsening, evaluator);
  MoveEpisode(evaluator, context, network_, moves, start, until - evaluator.budget().evaluations())
      .run();
}

std::unique_ptr<policy_gradient::Trainer> SearchPolicy::make_trainer(
    std::span<Evaluator* const> evaluators, policy_gradient::TrainingPurpose /*purpose*/) {
  return std::make_unique<SearchTrainer>(options_, network_, evaluators);
}

bool SearchPolicy::search(Evaluator& evaluator) const {
  const MoveContext context(evaluator.problem(), options_.moves.levels);
  const Placement start = start_of_search(kBestOfLevels, context.coarsening, evaluator);
  MoveEpisode(evaluator, context, network_, options_.moves, start).run();
  return true;
}

void run_default_episode(Evaluator& evaluator, const Placement& start) {
  const Options options;
  ValueNetwork<float> network(options.network);
  load_shipped(network);
  const MoveContext context(evaluator.problem(), options.moves.levels);
  MoveEpisode(evaluator, context, network, options.moves, start).run();
}

}  // namespace emplace::agents::learned_search
