#include "value_policy.hpp"

#include "search/starts.hpp"

#include <emplace/base/check.hpp>
#include <emplace/base/embedded.hpp>
#include <emplace/base/json_cursor.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace emplace::embedded {
// Is written by emplace_embed() in agents/CMakeLists.txt.
std::span<const Document> policies();
}  // namespace emplace::embedded

namespace emplace::agents::placeto {

ValuePolicy::ValuePolicy(const ValuePolicyOptions& options)
    : options_(options), network_(options.network) {}

void ValuePolicy::initialize(RandomStream& random) {
  network_.initialize(random);
  if (!options_.pretrained) {
    return;
  }
  const std::span<const embedded::Document> policies = embedded::policies();
  const auto shipped =
      std::ranges::find(policies, std::string_view("placeto"), &embedded::Document::name);
  EMPLACE_CHECK(shipped != policies.end(), "no policy of placeto is built in");
  const JsonDocument document =
      JsonDocument::parse(shipped->text, "the policy that comes with emplace");
  const JsonCursor policy = document.root().at("policy");
  if (policy.at("network").at("rounds").text() == fmt::format("{}", options_.network.rounds)) {
    network_.parameters().load(policy.at("layers"));
  }
}

void ValuePolicy::run_greedy_episode(Session& session) {
  MoveOptions moves = options_.learning.moves;
  moves.epsilon = 0;
  moves.learning_rate = 0;
  const std::int64_t until = session.evaluations() + options_.learning.episode_length;
  const Placement start = start_of_search(kBestOfLevels, session.problem(), session);
  MoveEpisode(session, network_, moves, start, until - session.evaluations()).run();
}

std::unique_ptr<policy_gradient::Trainer> ValuePolicy::make_trainer(
    std::span<Session* const> sessions) {
  return std::make_unique<ValueTrainer>(options_.learning, network_, sessions);
}

void ValuePolicy::search(Session& session) const {
  const Placement start = start_of_search(kBestOfLevels, session.problem(), session);
  MoveEpisode(session, network_, options_.learning.moves, start).run();
}

}  // namespace emplace::agents::placeto
