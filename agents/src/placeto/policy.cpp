#include "policy.hpp"

#include "placeto/trainer.hpp"

namespace emplace::agents::placeto {

PlacetoPolicy::PlacetoPolicy(const Options& options, std::size_t num_devices)
    : options_(options),
      num_devices_(options.network.score_candidates ? 0 : num_devices),
      network_(options.network, num_devices),
      collectors_([this] { return RolloutCollector(network_); }) {}

void PlacetoPolicy::initialize(RandomStream& random) { network_.initialize(random); }

std::vector<std::pair<std::string, nn::Parameters<float>*>> PlacetoPolicy::networks() {
  return {{"layers", &network_.parameters()}};
}

void PlacetoPolicy::run_greedy_episode(Evaluator& evaluator) {
  Environment environment(evaluator, options_);
  collector().collect(environment, 1, true);
}

std::unique_ptr<policy_gradient::Trainer> PlacetoPolicy::make_trainer(
    std::span<Evaluator* const> evaluators, policy_gradient::TrainingPurpose purpose) {
  Options options = options_;
  if (purpose == policy_gradient::TrainingPurpose::kPlacement) {
    options.episode.random_start = 0;  // what is found from a bad start helps nobody
  }
  return std::make_unique<PlacetoTrainer>(options, *this, evaluators);
}

}  // namespace emplace::agents::placeto
