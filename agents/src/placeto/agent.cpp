// Placeto (Addanki et al. 2019): a policy that visits the groups in turn and chooses a device for
// each, with a graph neural network, trained by REINFORCE on the time that each action saves. Every
// placement on the way is evaluated; the answer is the best of all. All agents here are the same
// program with other defaults; placeto-joint also learns the grouping.

#include "placeto/options.hpp"
#include "placeto/policy.hpp"
#include "placeto/presets.hpp"
#include "policy_gradient/policy_agent.hpp"

#include <emplace/agents/agent.hpp>

#include <memory>
#include <string>
#include <utility>

namespace emplace::agents::placeto {
namespace {

class PlacetoAgent final : public policy_gradient::PolicyAgent {
 public:
  // A policy of a preset fits the others, but for those that learn groups.
  PlacetoAgent(const Params& params, bool learns_groups)
      : PolicyAgent(learns_groups ? "placeto-joint" : "placeto",
                    option_table(learns_groups).network_parameters(params)),
        options_(read_options(params, learns_groups)) {}

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

AgentRegistration registered(AgentInfo info, bool learns_groups = false) {
  info.kind = AgentKind::kLearned;
  info.deterministic = false;
  info.trainable = true;
  info.default_groups = 128;
  return {std::move(info), [learns_groups](const Params& params) {
            return std::make_unique<PlacetoAgent>(params, learns_groups);
          }};
}

const AgentRegistration kPlaceto =
    registered({.name = "placeto",
                .summary = "graph neural network that improves a placement group by "
                           "group, by REINFORCE",
                .description = "Trains a graph neural network by REINFORCE. An episode "
                               "visits every group once, chooses its device and evaluates "
                               "the placement after each action; the reward is the time "
                               "saved. The defaults are those of the authors' released code. "
                               "Use it to reproduce the paper; placeto-plus needs far fewer "
                               "evaluations.",
                .reference = "Addanki et al. 2019, arXiv 1906.08879",
                .parameters = option_table().parameters()});

const AgentRegistration kPlacetoPlus = registered(
    {.name = "placeto-plus",
     .summary = "placeto with PPO from the best placement so far, on any "
                "number and kind of devices",
     .description = "The program of placeto with other defaults: PPO, episodes "
                    "that start at the best placement so far, a low discount "
                    "factor, devices known by their features, and no evaluation "
                    "for unchanged placements. Use it to place one graph with a "
                    "learned policy and about a thousand evaluations. Its "
                    "policies fit any number and kind of devices.",
     .reference =
         "this project, after Addanki et al. 2019 and Schulman et al. 2017, arXiv 1707.06347",
     .parameters = option_table().parameters(plus_preset())});

const AgentRegistration kPlacetoTransfer = registered(
    {.name = "placeto-transfer",
     .summary = "placeto trained for unseen graphs, by the all-actions policy "
                "gradient",
     .description = "The program of placeto for a policy that is trained on many "
                    "graphs and then used on new ones. At each visit it evaluates "
                    "the group on every device and follows the exact all-actions "
                    "policy gradient of the immediate reward. Train it with "
                    "emplace train, then place unseen graphs in one episode. For "
                    "a single graph placeto-plus needs far fewer evaluations.",
     .reference = "this project, after Addanki et al. 2019 and Sutton et al., NIPS 12, 2000",
     .parameters = option_table().parameters(transfer_preset())});

const AgentRegistration kPlacetoJoint = registered(
    {.name = "placeto-joint",
     .summary = "placeto-plus with a second graph neural network that merges "
                "groups before each episode",
     .description = "placeto-plus on groups that are learned too. Before each "
                    "episode a second graph neural network scores the edges "
                    "between groups, and edges are contracted by these scores "
                    "until `merged-groups` merged groups are left; the policy then "
                    "visits those. Use it with fine groups "
                    "(groups=0). It is an experiment: learned groups did not "
                    "beat random ones in our budgets.",
     .reference = "future work of Addanki et al. 2019; compare HSDAG, Duan et al., NeurIPS 2024",
     .parameters = option_table(true).parameters(joint_preset())},
    true);

}  // namespace
}  // namespace emplace::agents::placeto
