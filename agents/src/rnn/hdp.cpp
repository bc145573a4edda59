#include "rnn/agent.hpp"

#include <emplace/agents/agent.hpp>

namespace emplace::agents {
namespace {

// Mirhoseini, Goldie et al. 2018. Where TensorFlow's public code differs from the paper, this
// follows the paper, with three exceptions. The learning rate is far below 0.1 and there is an
// entropy bonus: otherwise all groups share one device after some hundred updates. There are 40
// groups, 20 for each of two devices as in that code: 256 are more than the items that there are to
// group.
rnn::Options defaults() {
  return {.policy = {.groups = 40},
          .learning = {.logit_noise = 0.5,
                       .noise_updates = 500,
                       .feasible_only_after = 500,
                       .entropy_weight = 1e-3,
                       .learning_rate = 1e-4}};
}

class RnnHdp final : public rnn::RnnAgent {
 public:
  explicit RnnHdp(const Params& params) : RnnAgent("rnn-hdp", params) {}
};

EMPLACE_REGISTER_AGENT(
    RnnHdp, {.name = "rnn-hdp",
             .kind = AgentKind::kLearned,
             .summary = "feed-forward grouping and sequence-to-sequence placement, "
                        "trained together by REINFORCE",
             .description = "The hierarchical planner: a feed-forward network assigns the "
                            "given groups to learned groups, and a sequence-to-sequence "
                            "network places those. Both are trained together by REINFORCE "
                            "on the square root of whole step times. Use it as the second "
                            "recurrent baseline of the papers, with fine groups. Its "
                            "policy fits one number of devices.",
             .reference = "Mirhoseini, Goldie et al., ICLR 2018",
             .parameters = rnn::parameter_table(defaults()),
             .deterministic = false,
             .trainable = true,
             .default_groups = 128});

}  // namespace
}  // namespace emplace::agents
