#include "learned/placeto_agent.hpp"

#include <emplace/agents/agent.hpp>

namespace emplace::agents {
namespace {

// With the defaults of the released code.
class Placeto final : public placeto::PlacetoAgent {
 public:
  explicit Placeto(const Params& params) : PlacetoAgent(params) {}
};

// The same with what lets it learn from few simulations: each choice is judged by what soon comes
// of it (a low discount) instead of by all that other choices bring; episodes start at the best
// placement and leave most groups where they are, so that they refine it; what did not change is
// not simulated again; devices are told apart by what they are; and PPO takes several steps for
// each episode.
class PlacetoPlus final : public placeto::PlacetoAgent {
 public:
  explicit PlacetoPlus(const Params& params) : PlacetoAgent(params) {}
};

// The same for policies that shall place graphs which they have not seen: at each visit they learn
// what every device would have gained, which is as true on other graphs, and nothing else; and they
// start where no one has been before, not at the best placement.
class PlacetoTransfer final : public placeto::PlacetoAgent {
 public:
  explicit PlacetoTransfer(const Params& params) : PlacetoAgent(params) {}
};

// The same where the groups themselves are learned: before each episode a second network merges the
// problem's groups into coarser ones, which are visited instead.
class PlacetoJoint final : public placeto::PlacetoAgent {
 public:
  explicit PlacetoJoint(const Params& params) : PlacetoAgent(params, "placeto-joint") {}
};

EMPLACE_REGISTER_AGENT(
    Placeto,
    {.name = "placeto",
     .kind = AgentKind::kLearned,
     .summary = "a graph network visits group after group, trained on what each move gains",
     .reference = "Addanki et al. 2019, arXiv 1906.08879",
     .parameters = placeto::parameter_table(),
     .deterministic = false,
     .trainable = true});

EMPLACE_REGISTER_AGENT(
    PlacetoPlus,
    {.name = "placeto-plus",
     .kind = AgentKind::kLearned,
     .summary =
         "placeto that refines the best placement, by PPO, on any number and kind of devices",
     .reference = "ours, after Addanki et al. 2019 and Schulman et al. 2017, arXiv 1707.06347",
     .parameters = placeto::plus_parameter_table(),
     .deterministic = false,
     .trainable = true});

EMPLACE_REGISTER_AGENT(
    PlacetoTransfer,
    {.name = "placeto-transfer",
     .kind = AgentKind::kLearned,
     .summary = "placeto for unseen graphs: it learns what every device would gain at each visit",
     .reference = "ours, after Addanki et al. 2019 and Sutton et al., NIPS 12, 2000",
     .parameters = placeto::transfer_parameter_table(),
     .deterministic = false,
     .trainable = true});

EMPLACE_REGISTER_AGENT(
    PlacetoJoint,
    {.name = "placeto-joint",
     .kind = AgentKind::kLearned,
     .summary = "a second graph network merges the groups before placeto-plus visits them",
     .reference = "future work of Addanki et al. 2019; compare HSDAG, Duan et al., NeurIPS 2024",
     .parameters = placeto::joint_parameter_table(),
     .deterministic = false,
     .trainable = true});

}  // namespace
}  // namespace emplace::agents
