#include "rnn/agent.hpp"

#include <emplace/agents/agent.hpp>

namespace emplace::agents {
namespace {

// Mirhoseini et al. 2017. One controller stands for the paper's 20 with a parameter server. The
// paper gives no sizes and learning rates; the sizes are those of the hierarchical controller
// (2018).
rnn::Options defaults() {
  return {.policy = {}, .learning = {.placements = 8, .feasible_only_after = 5000}};
}

class RnnColocrl final : public rnn::RnnAgent {
 public:
  explicit RnnColocrl(const Params& params) : RnnAgent("rnn-colocrl", params) {}
};

EMPLACE_REGISTER_AGENT(
    RnnColocrl, {.name = "rnn-colocrl",
                 .kind = AgentKind::kLearned,
                 .summary = "sequence-to-sequence network that outputs a device for each "
                            "group, by REINFORCE",
                 .description = "An attentional sequence-to-sequence network reads the groups "
                                "in topological order and outputs a device for each. It is "
                                "trained by REINFORCE on the square root of whole step times. "
                                "Use it as the recurrent baseline of the papers. It needs "
                                "tens of thousands of evaluations, and its policy fits one "
                                "number of devices.",
                 .reference = "Mirhoseini et al., ICML 2017, arXiv 1706.04972",
                 .parameters = rnn::parameter_table(defaults()),
                 .deterministic = false,
                 .trainable = true,
                 .default_groups = 128});

}  // namespace
}  // namespace emplace::agents
