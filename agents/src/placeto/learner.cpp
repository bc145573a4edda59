#include "learner.hpp"

#include "policy_gradient/loss.hpp"

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <bit>

namespace emplace::agents::placeto {
namespace {

constexpr std::size_t kRowsOfPiece = 1024;  // their values fit the caches
constexpr std::size_t kPiecesAtATime = 32;  // bounds the memory of their gradients

}  // namespace

struct Learner::Workspace {
  explicit Workspace(const Network<float>& network) : tape(network.parameters()) {}

  nn::Tape<float> tape;
  Network<float>::Lists lists;
  std::vector<Observation> observations;
};

struct Learner::Workspaces {
  explicit Workspaces(const Network<float>& network)
      : by_thread([&network] { return Workspace(network); }) {}

  tbb::enumerable_thread_specific<Workspace> by_thread;
};

Learner::Learner(const Options& options, Network<float>& network,
                 std::span<Session* const> sessions)
    : options_(options.update),
      network_(&network),
      optimizer_(options.learning, network.parameters(), sessions),
      gradient_(network.parameters().values().size()),
      workspaces_(std::make_unique<Workspaces>(network)) {}

Learner::~Learner() = default;

double Learner::update(std::span<const Experience> experiences) {
  std::vector<std::vector<double>> first_log_probabilities;
  std::size_t most_decisions = 0;
  for (const Experience& experience : experiences) {
    first_log_probabilities.emplace_back(experience.rollout->num_decisions());
    most_decisions = std::max(most_decisions, experience.rollout->num_decisions());
  }
  const std::size_t minibatches = std::min(options_.minibatches, most_decisions);
  double first_norm = 0;
  for (int epoch = 0; epoch < (options_.algorithm == Algorithm::kPpo ? options_.ppo_epochs : 1);
       ++epoch) {
    for (std::size_t minibatch = 0; minibatch < minibatches; ++minibatch) {
      std::ranges::fill(gradient_, 0.0F);
      for (std::size_t i = 0; i < experiences.size(); ++i) {
        add_gradients(experiences[i], minibatch, minibatches, first_log_probabilities[i],
                      epoch == 0);
      }
      const double norm = optimizer_.step(gradient_);
      if (epoch == 0 && minibatch == 0) {
        first_norm = norm;
      }
    }
  }
  optimizer_.end_update();
  return first_norm;
}

void Learner::add_gradients(const Experience& experience, std::size_t minibatch,
                            std::size_t minibatches, std::span<double> first_log_probabilities,
                            bool is_first) {
  const std::size_t lanes = std::bit_floor(
      std::clamp<std::size_t>(kRowsOfPiece / experience.graph->size(), 1, nn::kLanes));
  const std::size_t decisions = std::max<std::size_t>(
      1, lanes / network_->lanes_per_decision(experience.graph->num_devices()));
  const std::size_t begin = experience.rollout->num_decisions() * minibatch / minibatches;
  const std::size_t end = experience.rollout->num_decisions() * (minibatch + 1) / minibatches;
  const std::size_t num_pieces = (end - begin + decisions - 1) / decisions;
  for (std::size_t first = 0; first < num_pieces; first += kPiecesAtATime) {
    const std::size_t count = std::min(kPiecesAtATime, num_pieces - first);
    piece_gradients_.resize(std::max(piece_gradients_.size(), count));
    // Isolated, so that a thread which waits here does not start on another cell of the suite.
    tbb::this_task_arena::isolate([&] {
      tbb::parallel_for(std::size_t{0}, count, [&](std::size_t piece) {
        std::vector<float>& gradient = piece_gradients_[piece];
        gradient.assign(gradient_.size(), 0.0F);
        const std::size_t at = begin + (first + piece) * decisions;
        add_piece(workspaces_->by_thread.local(), experience, at, std::min(at + decisions, end),
                  lanes, first_log_probabilities, is_first, gradient);
      });
    });
    for (std::size_t piece = 0; piece < count; ++piece) {
      for (std::size_t i = 0; i < gradient_.size(); ++i) {
        gradient_[i] += piece_gradients_[piece][i];
      }
    }
  }
}

void Learner::add_piece(Workspace& workspace, const Experience& experience, std::size_t begin,
                        std::size_t end, std::size_t lanes,
                        std::span<double> first_log_probabilities, bool is_first,
                        std::span<float> gradient) const {
  workspace.observations.clear();
  for (std::size_t i = begin; i < end; ++i) {
    workspace.observations.push_back(experience.rollout->observation(i));
  }
  nn::Tape<float>& tape = workspace.tape;
  tape.clear();
  const nn::Value logits =
      network_->logits(tape, workspace.lists, *experience.graph, workspace.observations, lanes);
  const nn::Value log_probability =
      tape.log_probability(logits, experience.rollout->actions().subspan(begin, end - begin));
  const nn::MatrixView<float> d_log_probability = tape.seed(log_probability);
  for (std::size_t i = begin; i < end; ++i) {
    const double advantage = experience.advantages[i];
    double derivative = policy_gradient::reinforce_derivative(advantage);
    if (options_.algorithm == Algorithm::kPpo) {
      const double now = tape.value(log_probability)(i - begin, 0);
      if (is_first) {
        first_log_probabilities[i] = now;
      }
      derivative = policy_gradient::ppo_derivative(advantage, now - first_log_probabilities[i],
                                                   options_.ppo_clip);
    }
    d_log_probability(i - begin, 0) = static_cast<float>(derivative);
  }
  if (!experience.action_values.empty()) {
    const std::size_t num_devices = experience.graph->num_devices();
    const auto action_values = std::span(experience.action_values)
                                   .subspan(begin * num_devices, (end - begin) * num_devices);
    const nn::MatrixView<float> d_expectation = tape.seed(tape.expectation(logits, action_values));
    for (std::size_t row = 0; row < end - begin; ++row) {
      d_expectation(row, 0) = -1;
    }
  }
  if (const double weight = optimizer_.entropy_weight(); weight > 0) {
    const nn::MatrixView<float> d_entropy = tape.seed(tape.entropy(logits));
    for (std::size_t row = 0; row < end - begin; ++row) {
      d_entropy(row, 0) = static_cast<float>(-weight);
    }
  }
  tape.backward(gradient);
}

}  // namespace emplace::agents::placeto
