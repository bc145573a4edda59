// Placeto (Addanki et al. 2019): a policy that visits the groups in turn and chooses a device for
// each, with a graph neural network, trained by REINFORCE on the time that each action saves. Every
// placement on the way is evaluated; the answer is the best of all.

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
        options_(read_options(params)) {}

  std::int64_t evaluations_per_episode(const Problem& problem) const override {
    return placeto::evaluations_per_episode(options_.episode, problem);
  }

 private:
  std::unique_ptr<policy_gradient::PolicyModel> make_policy(
      std::size_t num_devices) const override {
    return std::make_unique<Policy>(options_, num_devices);
  }

  Options options_;
};

EMPLACE_REGISTER_AGENT(
    PlacetoAgent,
    {.name = "placeto",
     .kind = AgentKind::kLearned,
     .summary = "graph neural network that improves a placement group by group, by REINFORCE",
     .description =
         "Trains a graph neural network by policy gradient. An episode visits every group, chooses "
         "its device and evaluates the placement after each action; the reward is the time saved. "
         "Use it to place one graph with a learned policy and about a thousand evaluations, or "
         "train it on many graphs with emplace train and place unseen ones in one episode. Use "
         "preset=released to reproduce the results of the authors' code, which needs many more "
         "evaluations.",
     .reference = "Addanki et al. 2019, arXiv 1906.08879",
     .parameters = option_table().parameters(),
     .deterministic = false,
     .trainable = true,
     .default_groups = 128,
     .presets = presets()});

}  // namespace
}  // namespace emplace::agents::placeto
