// Placeto (Addanki et al. 2019): a policy with a graph neural network visits one group after the
// other and chooses its device anew; what a step becomes shorter by is the reward (REINFORCE).
// Every placement on the way is evaluated; the answer is the best of all.

#include "placeto/options.hpp"
#include "placeto/policy.hpp"
#include "placeto/presets.hpp"
#include "policy_gradient/policy_agent.hpp"

#include <emplace/agents/agent.hpp>

#include <memory>

namespace emplace::agents::placeto {
namespace {

class PlacetoAgent final : public policy_gradient::PolicyAgent {
 public:
  // A policy of a preset fits the others, if their networks have the same shape.
  explicit PlacetoAgent(const Params& params)
      : PolicyAgent("placeto", option_table().network_parameters(params)),
        options_(option_table().read(params)) {}

  std::int64_t evaluations_per_episode(GroupId num_groups) const override {
    return placeto::evaluations_per_episode(options_.episode, num_groups);
  }

 private:
  std::unique_ptr<policy_gradient::PolicyModel> make_policy(
      std::size_t num_devices) const override {
    return std::make_unique<PlacetoPolicy>(options_, num_devices);
  }

  Options options_;
};

EMPLACE_REGISTER_AGENT(
    PlacetoAgent,
    {.name = "placeto",
     .kind = AgentKind::kLearned,
     .summary = "policy with a graph neural network that visits group after group (REINFORCE)",
     .description =
         "The algorithm of the paper: an episode visits one group after the other, a policy with a "
         "graph neural network chooses its device anew, and the time that the step gains is the "
         "reward. The policy learns by REINFORCE, and can be trained on many graphs and used on "
         "others. preset=paper has hyperparameters for few evaluations, preset=released is the "
         "authors' code. To place a graph, learned-search and auto find better placements.",
     .reference = "Addanki et al. 2019, arXiv 1906.08879",
     .parameters = option_table().parameters(),
     .deterministic = false,
     .trainable = true,
     .default_groups = 128,
     .presets = presets()});

}  // namespace
}  // namespace emplace::agents::placeto
