#include "policy.hpp"

#include "placeto/regrouping.hpp"
#include "placeto/trainer.hpp"

namespace emplace::agents::placeto {

Policy::Policy(const Options& options, std::size_t num_devices)
    : options_(options),
      num_devices_(options.network.score_candidates ? 0 : num_devices),
      network_(options.network, num_devices),
      collectors_([this] { return RolloutCollector(network_); }) {
  if (options.episode.groups > 0) {
    grouper_.emplace();
  }
}

void Policy::initialize(RandomStream& random) {
  network_.initialize(random);
  if (grouper_) {
    grouper_->parameters().initialize(random);
  }
}

std::vector<std::pair<std::string, nn::Parameters<float>*>> Policy::networks() {
  std::vector<std::pair<std::string, nn::Parameters<float>*>> networks = {
      {"layers", &network_.parameters()}};
  if (grouper_) {
    networks.emplace_back("grouper", &grouper_->parameters());
  }
  return networks;
}

void Policy::run_greedy_episode(Session& session) {
  Environment environment(session, options_);
  if (grouper_) {
    Regrouping regrouping(session.problem(), options_);
    collector().collect(regrouping.next(environment, *grouper_, nullptr), 1, true);
  } else {
    collector().collect(environment, 1, true);
  }
}

std::unique_ptr<policy_gradient::Trainer> Policy::make_trainer(std::span<Session* const> sessions) {
  return std::make_unique<Trainer>(options_, *this, sessions);
}

}  // namespace emplace::agents::placeto
