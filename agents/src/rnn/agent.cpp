// The recurrent agents: the same program, which learns groups or places groups as they are, with
// defaults after two papers.

#include "policy_gradient/policy_agent.hpp"
#include "rnn/options.hpp"
#include "rnn/policy.hpp"
#include "rnn/trainer.hpp"

#include <emplace/agents/agent.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace emplace::agents::rnn {
namespace {

class Model final : public policy_gradient::PolicyModel {
 public:
  Model(const Options& options, std::size_t num_devices)
      : options_(options), policy_(options.policy, num_devices) {}

  std::size_t num_devices() const override { return policy_.num_devices(); }

  void initialize(RandomStream& random) override { policy_.parameters().initialize(random); }

  std::vector<std::pair<std::string, nn::Parameters<float>*>> networks() override {
    return {{"layers", &policy_.parameters()}};
  }

  void run_greedy_episode(Evaluator& evaluator) override {
    check_size(options_, evaluator.problem(), 1, Learns::kNo);
    const std::vector<Item> items = items_of(evaluator.problem());
    nn::Tape<float> tape(policy_.parameters());
    ActionSampler greedy(nullptr);
    GroupedDraw drawn{.draw = {.placements = 1}};
    policy_.place(tape, items, greedy, 0, drawn);
    evaluator.evaluate(read_placements(drawn, evaluator.problem(), items).front());
  }

  std::unique_ptr<policy_gradient::Trainer> make_trainer(
      std::span<Evaluator* const> evaluators,
      policy_gradient::TrainingPurpose /*purpose*/) override {
    return std::make_unique<RecurrentTrainer>(options_, policy_, evaluators);
  }

 private:
  Options options_;
  RecurrentPolicy<float> policy_;
};

class RnnAgent final : public policy_gradient::PolicyAgent {
 public:
  RnnAgent(std::string name, const Params& params, bool learns_groups)
      : PolicyAgent(std::move(name), option_table(learns_groups).network_parameters(params)),
        options_(option_table(learns_groups).read(params)) {}

  std::int64_t evaluations_per_episode(GroupId) const override { return 1; }

 private:
  std::unique_ptr<policy_gradient::PolicyModel> make_policy(
      std::size_t num_devices) const override {
    return std::make_unique<Model>(options_, num_devices);
  }

  Options options_;
};

AgentRegistration registered(AgentInfo info, bool learns_groups) {
  info.kind = AgentKind::kLearned;
  info.deterministic = false;
  info.trainable = true;
  info.default_groups = 128;
  std::string name = info.name;
  return {std::move(info), [name, learns_groups](const Params& params) {
            return std::make_unique<RnnAgent>(name, params, learns_groups);
          }};
}

// Mirhoseini et al. 2017. One controller stands for the paper's 20 with a parameter server. The
// paper gives no sizes and learning rates; the sizes are those of the hierarchical controller
// (2018), rates and entropy weights were tuned (docs/notes/learned-agents.md).
ParamDefaults colocrl_preset() { return {{"placements", 8}, {"feasible-only-after", 5000}}; }

// Mirhoseini, Goldie et al. 2018. Where TensorFlow's public code differs from the paper, this
// follows the paper, with three exceptions. The learning rate is far below 0.1 and there is an
// entropy bonus, both tuned: otherwise all groups share one device after some hundred updates.
// There are 40 groups, 20 for each of two devices as in that code: 256 are more than the items that
// there are to group.
ParamDefaults hdp_preset() {
  return {{"learned-groups", 40},       {"logit-noise", 0.5},       {"noise-updates", 500},
          {"feasible-only-after", 500}, {"entropy-weight", 0.02},   {"entropy-weight-end", 0.01},
          {"learning-rate", 3e-4},      {"learning-rate-end", 1e-4}};
}

const AgentRegistration kRnnColocrl =
    registered({.name = "rnn-colocrl",
                .summary = "sequence-to-sequence network that outputs a device for each "
                           "group, by REINFORCE",
                .description = "An attentional sequence-to-sequence network reads the groups "
                               "in topological order and outputs a device for each. It is "
                               "trained by REINFORCE on the square root of whole step times. "
                               "Use it as the recurrent baseline of the papers. It needs "
                               "tens of thousands of evaluations, and its policy fits one "
                               "number of devices.",
                .reference = "Mirhoseini et al., ICML 2017, arXiv 1706.04972",
                .parameters = option_table(false).parameters(colocrl_preset())},
               false);

const AgentRegistration kRnnHdp =
    registered({.name = "rnn-hdp",
                .summary = "feed-forward grouping and sequence-to-sequence placement, "
                           "trained together by REINFORCE",
                .description = "The hierarchical planner: a feed-forward network assigns the "
                               "given groups to learned groups, and a sequence-to-sequence "
                               "network places those. Both are trained together by REINFORCE "
                               "on the square root of whole step times. Use it as the second "
                               "recurrent baseline of the papers, with fine groups. Its "
                               "policy fits one number of devices.",
                .reference = "Mirhoseini, Goldie et al., ICLR 2018",
                .parameters = option_table(true).parameters(hdp_preset())},
               true);

}  // namespace
}  // namespace emplace::agents::rnn
