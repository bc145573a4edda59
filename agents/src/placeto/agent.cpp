// Placeto (Addanki et al. 2019): a policy with a graph neural network improves a placement move by
// move, and each move's gain is its reward. Every placement on the way is evaluated; the answer is
// the best of all. By default the network predicts what moves of groups and clusters gain
// (value_policy.hpp); presets for the paper and its code visit one group after the other and learn
// by policy gradient (policy.hpp).

#include "placeto/options.hpp"
#include "placeto/policy.hpp"
#include "placeto/presets.hpp"
#include "placeto/value_policy.hpp"
#include "policy_gradient/policy_agent.hpp"

#include <emplace/agents/agent.hpp>

#include <fmt/format.h>

#include <memory>
#include <string>

namespace emplace::agents::placeto {
namespace {

class PlacetoAgent final : public policy_gradient::PolicyAgent {
 public:
  // A policy of a preset fits the others, if their networks have the same shape.
  explicit PlacetoAgent(const Params& params)
      : PolicyAgent("placeto", shape_of(params)), options_(read_options(params)) {}

  Placement place(const Problem& problem, Session& session) override {
    if (!values_moves() || problem.placeable_devices().size() == 1) {
      return PolicyAgent::place(problem, session);
    }
    dynamic_cast<ValuePolicy&>(policy_for(session)).search(session);
    return session.best_placement().value_or(
        Placement(problem.num_groups(), problem.placeable_devices().front()));
  }

  std::int64_t evaluations_per_episode(const Problem& problem) const override {
    return values_moves() ? value_policy_options(options_).learning.episode_length
                          : placeto::evaluations_per_episode(options_.episode, problem);
  }

 private:
  std::unique_ptr<policy_gradient::PolicyModel> make_policy(
      std::size_t num_devices) const override {
    if (values_moves()) {
      return std::make_unique<ValuePolicy>(value_policy_options(options_));
    }
    return std::make_unique<Policy>(options_, num_devices);
  }

  bool values_moves() const { return options_.update.algorithm == Algorithm::kRegression; }

  // The two networks share little; their policies do not fit each other.
  static ParameterTexts shape_of(const Params& params) {
    constexpr const char* kAlgorithm = "algorithm";
    const auto& algorithm = params.get<std::string>(kAlgorithm);
    if (algorithm != "regression") {
      return option_table().network_parameters(params);
    }
    return {{kAlgorithm, algorithm},
            {"rounds", fmt::format("{}", params.get<std::int64_t>("rounds"))}};
  }

  Options options_;
};

EMPLACE_REGISTER_AGENT(
    PlacetoAgent,
    {.name = "placeto",
     .kind = AgentKind::kLearned,
     .summary = "graph neural network that improves a placement move by move, and learns from "
                "each gain",
     .description =
         "A graph neural network reads graph, placement and step, and predicts the gain of moving "
         "groups or clusters. An episode evaluates the most promising move, keeps it if the step "
         "gets shorter (or only a little longer, while the temperature is high), and learns from "
         "the gain. The network was trained on many graphs and comes with emplace; emplace train "
         "trains another. Use it to place a graph with some hundred evaluations. preset=paper is "
         "the algorithm of the paper, REINFORCE over visits to one group after the other, and "
         "preset=released the authors' code.",
     .reference = "Addanki et al. 2019, arXiv 1906.08879",
     .parameters = option_table().parameters(),
     .deterministic = false,
     .trainable = true,
     .default_groups = 128,
     .presets = presets()});

}  // namespace
}  // namespace emplace::agents::placeto
