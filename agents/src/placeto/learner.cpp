#include "learner.hpp"

#include "policy_gradient/loss.hpp"
#include "policy_gradient/parallel.hpp"

#include <tbb/enumerable_thread_specific.h>

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

// Some decisions of an experience.
struct Learner::Piece {
  const Experience* experience;
  std::size_t begin;
  std::size_t end;
  std::size_t lanes;
  std::span<double> first_log_probabilities;  // of all decisions
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
      std::vector<Piece> pieces;
      for (std::size_t i = 0; i < experiences.size(); ++i) {
        append_pieces(experiences[i], minibatch, minibatches, first_log_probabilities[i], pieces);
      }
      std::ranges::fill(gradient_, 0.0F);
      add_gradients(pieces, epoch == 0);
      const double norm = optimizer_.step(gradient_);
      if (epoch == 0 && minibatch == 0) {
        first_norm = norm;
      }
    }
  }
  optimizer_.end_update();
  return first_norm;
}

void Learner::append_pieces(const Experience& experience, std::size_t minibatch,
                            std::size_t minibatches, std::span<double> first_log_probabilities,
                            std::vector<Piece>& pieces) const {
  const std::size_t lanes = std::bit_floor(
      std::clamp<std::size_t>(kRowsOfPiece / experience.graph->size(), 1, nn::kLanes));
  const std::size_t decisions = std::max<std::size_t>(
      1, lanes / network_->lanes_per_decision(experience.graph->num_devices()));
  const std::size_t begin = experience.rollout->num_decisions() * minibatch / minibatches;
  const std::size_t end = experience.rollout->num_decisions() * (minibatch + 1) / minibatches;
  for (std::size_t at = begin; at < end; at += decisions) {
    pieces.push_back({.experience = &experience,
                      .begin = at,
                      .end = std::min(at + decisions, end),
                      .lanes = lanes,
                      .first_log_probabilities = first_log_probabilities});
  }
}

void Learner::add_gradients(std::span<const Piece> pieces, bool is_first) {
  for (std::size_t first = 0; first < pieces.size(); first += kPiecesAtATime) {
    const std::span<const Piece> some =
        pieces.subspan(first, std::min(kPiecesAtATime, pieces.size() - first));
    piece_gradients_.resize(std::max(piece_gradients_.size(), some.size()));
    policy_gradient::in_parallel(some.size(), [&](std::size_t i) {
      piece_gradients_[i].assign(gradient_.size(), 0.0F);
      add_piece(workspaces_->by_thread.local(), some[i], is_first, piece_gradients_[i]);
    });
    for (std::size_t piece = 0; piece < some.size(); ++piece) {
      for (std::size_t i = 0; i < gradient_.size(); ++i) {
        gradient_[i] += piece_gradients_[piece][i];
      }
    }
  }
}

void Learner::add_piece(Workspace& workspace, const Piece& piece, bool is_first,
                        std::span<float> gradient) const {
  const Experience& experience = *piece.experience;
  const std::size_t begin = piece.begin;
  const std::size_t end = piece.end;
  const std::span<double> first_log_probabilities = piece.first_log_probabilities;
  workspace.observations.clear();
  for (std::size_t i = begin; i < end; ++i) {
    workspace.observations.push_back(experience.rollout->observation(i));
  }
  nn::Tape<float>& tape = workspace.tape;
  tape.clear();
  const nn::Value logits = network_->logits(tape, workspace.lists, *experience.graph,
                                            workspace.observations, piece.lanes);
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
