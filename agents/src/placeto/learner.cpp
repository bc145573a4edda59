#include "learner.hpp"

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
  explicit Workspace(const PolicyNetwork<float>& network) : tape(network.parameters()) {}

  nn::Tape<float> tape;
  PolicyNetwork<float>::Lists lists;
  std::vector<Observation> observations;
};

// Some decisions of an experience.
struct Learner::Piece {
  const Experience* experience;
  std::size_t begin;
  std::size_t end;
  std::size_t lanes;
};

struct Learner::Workspaces {
  explicit Workspaces(const PolicyNetwork<float>& network)
      : by_thread([&network] { return Workspace(network); }) {}

  tbb::enumerable_thread_specific<Workspace> by_thread;
};

Learner::Learner(const Options& options, PolicyNetwork<float>& network,
                 std::span<Evaluator* const> evaluators)
    : network_(&network),
      optimizer_(options.learning, network.parameters(), evaluators),
      gradient_(network.parameters().values().size()),
      workspaces_(std::make_unique<Workspaces>(network)) {}

Learner::~Learner() = default;

double Learner::update(std::span<const Experience> experiences) {
  std::vector<Piece> pieces;
  for (const Experience& experience : experiences) {
    append_pieces(experience, pieces);
  }
  std::ranges::fill(gradient_, 0.0F);
  add_gradients(pieces);
  const double norm = optimizer_.step(gradient_);
  optimizer_.end_update();
  return norm;
}

void Learner::append_pieces(const Experience& experience, std::vector<Piece>& pieces) const {
  const std::size_t lanes = std::bit_floor(
      std::clamp<std::size_t>(kRowsOfPiece / experience.graph->size(), 1, nn::kLanes));
  const std::size_t decisions = std::max<std::size_t>(
      1, lanes / network_->lanes_per_decision(experience.graph->num_devices()));
  const std::size_t end = experience.rollout->num_decisions();
  for (std::size_t at = 0; at < end; at += decisions) {
    pieces.push_back({.experience = &experience,
                      .begin = at,
                      .end = std::min(at + decisions, end),
                      .lanes = lanes});
  }
}

void Learner::add_gradients(std::span<const Piece> pieces) {
  for (std::size_t first = 0; first < pieces.size(); first += kPiecesAtATime) {
    const std::span<const Piece> some =
        pieces.subspan(first, std::min(kPiecesAtATime, pieces.size() - first));
    piece_gradients_.resize(std::max(piece_gradients_.size(), some.size()));
    policy_gradient::in_parallel(some.size(), [&](std::size_t i) {
      piece_gradients_[i].assign(gradient_.size(), 0.0F);
      add_piece(workspaces_->by_thread.local(), some[i], piece_gradients_[i]);
    });
    for (std::size_t piece = 0; piece < some.size(); ++piece) {
      for (std::size_t i = 0; i < gradient_.size(); ++i) {
        gradient_[i] += piece_gradients_[piece][i];
      }
    }
  }
}

void Learner::add_piece(Workspace& workspace, const Piece& piece, std::span<float> gradient) const {
  const Experience& experience = *piece.experience;
  const std::size_t begin = piece.begin;
  const std::size_t end = piece.end;
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
    // The loss is -advantage * log p.
    d_log_probability(i - begin, 0) = static_cast<float>(-experience.advantages[i]);
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
