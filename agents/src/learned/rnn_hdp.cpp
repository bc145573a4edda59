#include "learned/rnn_agent.hpp"

#include <emplace/agents/agent.hpp>

namespace emplace::agents {
namespace {

// Mirhoseini, Goldie et al. 2018: a feed-forward network groups, a recurrent one places the groups,
// and both learn from the same times. Where TensorFlow's public code differs, this is the paper,
// but for two things without which all devices become one within some hundred updates: a rate far
// below 0.1, and a little entropy; and groups are 20 for each of two devices, as in that code, not
// 256, which are more than the items that there are to group.
rnn::Options defaults() {
  return {
      .policy = {.groups = 40},
      .learning = {
          .noise = 0.5, .noise_updates = 500, .valid_after = 500, .entropy = 1e-3, .rate = 1e-4}};
}

class RnnHdp final : public rnn::RnnAgent {
 public:
  explicit RnnHdp(const Params& params) : RnnAgent("rnn-hdp", params) {}
};

EMPLACE_REGISTER_AGENT(RnnHdp, {.name = "rnn-hdp",
                                .kind = AgentKind::kLearned,
                                .summary = "a network groups, a recurrent one places the groups, "
                                           "trained together on whole step times",
                                .reference = "Mirhoseini, Goldie et al., ICLR 2018",
                                .parameters = rnn::parameter_table(defaults()),
                                .deterministic = false,
                                .trainable = true});

}  // namespace
}  // namespace emplace::agents
