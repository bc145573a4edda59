#include <emplace/agents/plugin.hpp>
#include <emplace/base/json_cursor.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace emplace::agents {
namespace {

// The cross-entropy method (Rubinstein 1999) with one distribution over devices for all groups: the
// device counts of the better half of each update are added to the weights.
class DeviceWeights final : public TrainableAgent {
 public:
  explicit DeviceWeights(const Params& params) : samples_(params.get<std::int64_t>("samples")) {}

  Placement place(const Problem& problem, Evaluator& evaluator) override {
    if (!weights_.empty()) {
      place_with_policy(problem, evaluator);
    }
    Evaluator* const evaluators[] = {&evaluator};
    train(evaluators, {});
    return evaluator.incumbent().placement().value_or(
        Placement(problem.num_groups(), problem.placeable_devices().front()));
  }

  void train(std::span<Evaluator* const> evaluators, const TrainingCallback& callback) override {
    for (bool goes_on = true; goes_on && !evaluators.front()->budget().exhausted();) {
      ++updates_;
      for (std::size_t i = 0; i < evaluators.size(); ++i) {
        TrainingUpdate report = update(*evaluators[i]);
        report.problem = i;
        report.is_last = i + 1 == evaluators.size();
        goes_on = (!callback || callback(report)) && goes_on;
      }
    }
  }

  Placement place_with_policy(const Problem& problem, Evaluator& evaluator) override {
    check_devices(problem);
    const auto most = std::ranges::max_element(weights_) - weights_.begin();
    const Placement placement(problem.num_groups(),
                              problem.placeable_devices()[static_cast<std::size_t>(most)]);
    evaluator.evaluate(placement);
    return placement;
  }

  std::int64_t evaluations_per_episode(GroupId /*num_groups*/) const override { return 1; }

  std::string save() const override {
    std::string numbers;
    for (const std::int64_t weight : weights_) {
      numbers += (numbers.empty() ? "" : ", ") + std::to_string(weight);
    }
    return R"({"weights": [)" + numbers + "]}";
  }

  void load(const JsonCursor& policy) override {
    policy.expect_only({"weights"});
    weights_.clear();
    for (const JsonCursor& weight : policy.at("weights").elements()) {
      weights_.push_back(weight.integer(1, std::int64_t{1} << 53));
    }
  }

  std::string save_training() const override {
    return R"({"policy": )" + save() + R"(, "updates": )" + std::to_string(updates_) + "}";
  }

  void load_training(const JsonCursor& training) override {
    training.expect_only({"policy", "updates"});
    load(training.at("policy"));
    updates_ = training.at("updates").integer(0, std::int64_t{1} << 53);
  }

  std::vector<PolicyLayer> layers(DeviceId num_devices) const override {
    return {{"weights", 0, num_devices}};
  }

 private:
  void check_devices(const Problem& problem) {
    const std::size_t count = problem.placeable_devices().size();
    if (weights_.empty()) {
      weights_.assign(count, 1);
    } else if (weights_.size() != count) {
      throw Error(ErrorCode::kUnsupported, "the policy has another number of devices");
    }
  }

  std::size_t draw(RandomStream& random) const {
    std::int64_t sum = 0;
    for (const std::int64_t weight : weights_) {
      sum += weight;
    }
    auto left = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(sum)));
    std::size_t device = 0;
    while (left >= weights_[device]) {
      left -= weights_[device++];
    }
    return device;
  }

  TrainingUpdate update(Evaluator& evaluator) {
    const Problem& problem = evaluator.problem();
    check_devices(problem);
    std::vector<Placement> placements;
    const std::int64_t count = std::min(samples_, evaluator.budget().evaluations_left());
    for (std::int64_t i = 0; i < count; ++i) {
      Placement placement(problem.num_groups());
      for (GroupId group = 0; group < problem.num_groups(); ++group) {
        placement[group] = problem.placeable_devices()[draw(evaluator.random())];
      }
      placements.push_back(std::move(placement));
    }
    const std::vector<Evaluation> evaluations = evaluator.evaluate(placements);
    std::vector<std::size_t> order(placements.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      order[i] = i;
    }
    std::ranges::stable_sort(order, {},
                             [&](std::size_t i) { return evaluations[i].objective_us(); });
    for (std::size_t i = 0; i < (order.size() + 1) / 2; ++i) {
      for (std::size_t device = 0; device < weights_.size(); ++device) {
        weights_[device] +=
            std::ranges::count(placements[order[i]].devices(), problem.placeable_devices()[device]);
      }
    }
    TrainingUpdate report;
    report.update = updates_;
    report.episodes = episodes_ += count;
    report.last_us = evaluations[order.front()].objective_us();
    report.best_us = evaluator.incumbent().evaluation().objective_us();
    return report;
  }

  std::int64_t samples_;
  std::int64_t updates_ = 0;
  std::int64_t episodes_ = 0;
  std::vector<std::int64_t> weights_;
};

EMPLACE_PLUGIN_AGENT(DeviceWeights,
                     {.name = "device-weights",
                      .kind = AgentKind::kLearned,
                      .summary = "learns a distribution over devices",
                      .description = "One distribution for all groups.",
                      .reference = "Rubinstein 1999",
                      .parameters = {whole_number("samples", 8, 1, 100, "placements of an update")},
                      .deterministic = false,
                      .trainable = true});

}  // namespace
}  // namespace emplace::agents
