#include "placeto/agent.hpp"

#include <emplace/agents/agent.hpp>

namespace emplace::agents {
namespace {

// With the defaults of the released code.
class Placeto final : public placeto::PlacetoAgent {
 public:
  explicit Placeto(const Params& params) : PlacetoAgent(params) {}
};

// With defaults for few evaluations: a low discount factor, which credits an action with its near
// future instead of with all later, random actions; episodes that start at the best placement and
// keep most groups in place (stay bias); no evaluation of unchanged placements; devices encoded by
// features; and PPO, which makes several optimizer steps for each episode.
class PlacetoPlus final : public placeto::PlacetoAgent {
 public:
  explicit PlacetoPlus(const Params& params) : PlacetoAgent(params) {}
};

// With defaults for policies that generalize to unseen graphs: they learn the immediate reward of
// every device at each visit, and episodes do not start at the best placement of the session, which
// a new graph does not have.
class PlacetoTransfer final : public placeto::PlacetoAgent {
 public:
  explicit PlacetoTransfer(const Params& params) : PlacetoAgent(params) {}
};

// With a learned grouping: before each episode a second network merges the problem's groups into
// coarser ones, which are visited instead.
class PlacetoJoint final : public placeto::PlacetoAgent {
 public:
  explicit PlacetoJoint(const Params& params) : PlacetoAgent(params, "placeto-joint") {}
};

EMPLACE_REGISTER_AGENT(
    Placeto, {.name = "placeto",
              .kind = AgentKind::kLearned,
              .summary = "graph neural network that improves a placement group by "
                         "group, by REINFORCE",
              .description = "Trains a graph neural network by REINFORCE. An episode "
                             "visits every group once, chooses its device and evaluates "
                             "the placement after each action; the reward is the time "
                             "saved. The defaults are those of the authors' released code. "
                             "Use it to reproduce the paper; placeto-plus needs far fewer "
                             "evaluations.",
              .reference = "Addanki et al. 2019, arXiv 1906.08879",
              .parameters = placeto::parameter_table(),
              .deterministic = false,
              .trainable = true,
              .default_groups = 128});

EMPLACE_REGISTER_AGENT(
    PlacetoPlus,
    {.name = "placeto-plus",
     .kind = AgentKind::kLearned,
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
     .parameters = placeto::plus_parameter_table(),
     .deterministic = false,
     .trainable = true,
     .default_groups = 128});

EMPLACE_REGISTER_AGENT(
    PlacetoTransfer,
    {.name = "placeto-transfer",
     .kind = AgentKind::kLearned,
     .summary = "placeto trained for unseen graphs, by the all-actions policy "
                "gradient",
     .description = "The program of placeto for a policy that is trained on many "
                    "graphs and then used on new ones. At each visit it evaluates "
                    "the group on every device and follows the exact all-actions "
                    "policy gradient of the immediate reward. Train it with "
                    "emplace train, then place unseen graphs in one episode. For "
                    "a single graph placeto-plus needs far fewer evaluations.",
     .reference = "this project, after Addanki et al. 2019 and Sutton et al., NIPS 12, 2000",
     .parameters = placeto::transfer_parameter_table(),
     .deterministic = false,
     .trainable = true,
     .default_groups = 128});

EMPLACE_REGISTER_AGENT(
    PlacetoJoint,
    {.name = "placeto-joint",
     .kind = AgentKind::kLearned,
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
     .parameters = placeto::joint_parameter_table(),
     .deterministic = false,
     .trainable = true,
     .default_groups = 128});

}  // namespace
}  // namespace emplace::agents
