// Simulated annealing whose moves a graph network values: the network predicts what moves of groups
// and clusters gain, and learns from each evaluation (move_episode.hpp). It comes trained on many
// graphs; other policies can be trained (trainer.hpp).

#include "learned_search/policy.hpp"
#include "option_table.hpp"
#include "policy_gradient/policy_agent.hpp"

#include <emplace/agents/agent.hpp>
#include <emplace/base/error.hpp>

#include <fmt/format.h>

#include <memory>

namespace emplace::agents::learned_search {
namespace {

OptionTable<Options> declare() {
  OptionTable<Options> table;
  auto network = table.group("network", &Options::network);
  network.number("rounds", &ValueNetworkOptions::rounds, 0, 64,
                 "rounds of message passing; 0: a group's embedding ignores its neighbours",
                 kShapesNetwork);

  auto moves = table.group("moves", &Options::moves);
  moves.number(
      "moves", &MoveOptions::moves, 1, 4096,
      "moves that the network rates after a move that is kept; after others, a quarter of that");
  moves.choice("levels", &MoveOptions::levels, {"learned", "random", "finest"},
               "how many groups move at once: learned, as many as the move of the highest "
               "value has (one, a cluster or a layer); random; finest, one",
               kForExperts);
  moves.number("epsilon", &MoveOptions::epsilon, 0, 1, "probability of a random move", kForExperts);
  moves.number("online-learning-rate", &MoveOptions::learning_rate, 0, 1,
               "learning rate while a graph is placed; 0: the policy stays as it is", kForExperts);

  table.group("learning")
      .flag("pretrained", &Options::pretrained,
            "begins with the policy that comes with emplace, which has 2 rounds; if false, with a "
            "random one");
  auto learning = table.group("learning", &Options::learning);
  learning.number("workers", &LearningOptions::workers, 1, 8,
                  "episodes that run in parallel for one update");
  learning.number("learning-rate", &LearningOptions::learning_rate, 0, 1, "initial learning rate");
  learning.number("learning-rate-end", &LearningOptions::learning_rate_end, 0, 1,
                  "final learning rate, reached linearly at the end of the budget", kForExperts);
  return table;
}

const OptionTable<Options>& option_table() {
  static const OptionTable<Options> table = declare();
  return table;
}

Options read_options(const Params& params) {
  const Options options = option_table().read(params);
  if (options.pretrained && options.network.rounds != kShippedRounds) {
    throw Error(ErrorCode::kUsage,
                fmt::format("agent learned-search: pretrained=true has no effect with rounds={}: "
                            "the policy that comes with emplace has {}; give pretrained=false",
                            options.network.rounds, kShippedRounds));
  }
  return options;
}

class LearnedSearch final : public policy_gradient::PolicyAgent {
 public:
  explicit LearnedSearch(const Params& params)
      : PolicyAgent("learned-search", option_table().network_parameters(params)),
        options_(read_options(params)) {}

  std::int64_t evaluations_per_episode(GroupId) const override {
    return options_.learning.episode_length;
  }

 private:
  std::unique_ptr<policy_gradient::PolicyModel> make_policy(std::size_t) const override {
    return std::make_unique<SearchPolicy>(options_);
  }

  Options options_;
};

EMPLACE_REGISTER_AGENT(
    LearnedSearch,
    {.name = "learned-search",
     .kind = AgentKind::kLearned,
     .summary = "annealing whose moves a graph network rates, and learns from each gain",
     .description =
         "A graph neural network reads graph, placement and step, and predicts the gain of moving "
         "groups or clusters. An episode evaluates the most promising move, keeps it if the step "
         "gets shorter (or only a little longer, while the temperature is high), and learns from "
         "the gain. The network was trained on many graphs and comes with emplace; emplace train "
         "trains another. Use it to place a graph with some hundred evaluations.",
     .reference = "Simulated annealing: Kirkpatrick, Gelatt, Vecchi 1983; the graph embedding is "
                  "like that of Addanki et al. 2019",
     .parameters = option_table().parameters(),
     .deterministic = false,
     .trainable = true,
     .default_groups = 0});

}  // namespace
}  // namespace emplace::agents::learned_search
