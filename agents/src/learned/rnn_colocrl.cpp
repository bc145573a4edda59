#include "learned/rnn_agent.hpp"

#include <emplace/agents/agent.hpp>

namespace emplace::agents {
namespace {

// Mirhoseini et al. 2017: an attentional sequence-to-sequence network reads the groups in
// topological order and says a device for each. The paper's 20 controllers with a parameter server
// are one here; it gives neither sizes nor rates: the sizes are those of the hierarchical
// controller.
rnn::Options defaults() {
  return {.policy = {}, .learning = {.placements = 8, .valid_after = 5000}};
}

class RnnColocrl final : public rnn::RnnAgent {
 public:
  explicit RnnColocrl(const Params& params) : RnnAgent("rnn-colocrl", params) {}
};

EMPLACE_REGISTER_AGENT(
    RnnColocrl, {.name = "rnn-colocrl",
                 .kind = AgentKind::kLearned,
                 .summary = "a recurrent network reads the groups in topological order, then "
                            "says their devices, trained on whole step times",
                 .reference = "Mirhoseini et al., ICML 2017, arXiv 1706.04972",
                 .parameters = rnn::parameter_table(defaults()),
                 .deterministic = false,
                 .trainable = true});

}  // namespace
}  // namespace emplace::agents
