#include "move_episode.hpp"

#include <emplace/graphs/elementary.hpp>

#include <algorithm>
#include <array>
#include <limits>

namespace emplace::agents::placeto {
namespace {

constexpr float kWeightOfLosses = 0.05F;
constexpr std::size_t kReplay = 4096;    // gains that are remembered
constexpr std::size_t kBatch = 32;       // gains of a step of gradient descent
constexpr float kLargestError = 2;       // whose gradient is not clipped
constexpr int kDrawsPerCandidate = 2;    // at most, to find moves that were not tried here
constexpr double kMaxGradientNorm = 10;  // of a step

// Returns a hash of a set of moves: the same for any order of them.
std::uint64_t hash_of(std::span<const Move> moves) {
  constexpr std::uint64_t kMultiplier = 0x9E3779B97F4A7C15;
  std::uint64_t sum = 0;
  for (const Move& move : moves) {
    std::uint64_t hash = (static_cast<std::uint64_t>(move.group) << 32U) +
                         static_cast<std::uint64_t>(move.device) + 1;
    hash *= kMultiplier;
    hash ^= hash >> 29U;
    sum += hash * kMultiplier;
  }
  return sum;
}

}  // namespace

float value_of_gain(double gain_us, double mean_time_us) {
  constexpr double kWorst = -1e30;  // where a placement has no finite objective
  const float value = signed_log2(std::max(gain_us, kWorst) / mean_time_us);
  return value < 0 ? kWeightOfLosses * value : value;
}

MoveEpisode::MoveEpisode(Session& session, const ValueNetwork<float>& network,
                         const MoveOptions& options, const Placement& start, std::int64_t length)
    : session_(session),
      options_(options),
      network_(network),
      length_(length),
      first_evaluation_(session.evaluations()),
      from_share_(session.share_used()),
      neighbourhoods_(session.problem()),
      random_moves_(session.problem(), {.cluster = 0.5, .layer = 0.1, .swap = 0, .whole = 0.3}),
      step_(session.problem()),
      features_(step_, random_moves_.mean_time_us()),
      current_(start),
      reached_(session.evaluate(current_, outline_)),
      candidates_(static_cast<std::size_t>(options.candidates)),
      embedding_tape_(network_.parameters()),
      tape_(network_.parameters()),
      optimizer_(nn::OptimizerKind::kAdam, network_.parameters().values().size()),
      gradient_(network_.parameters().values().size()) {}

void MoveEpisode::run(std::vector<Trials>* trials) {
  if (reached_.status == EvaluationStatus::kBudgetSpent) {
    return;
  }
  observe();
  bool is_new = true;
  while (!session_.exhausted() && evaluations() < length_) {
    const bool explores = session_.random().uniform() < options_.epsilon;
    if (!draw(explores ? 1 : candidates_.size())) {
      tried_here_.clear();  // all moves that were drawn have been tried
      continue;
    }
    const std::size_t chosen = most_valuable();
    const std::vector<Move>& moves = candidates_[chosen];
    const double limit_us = penalty_.objective_us(reached_) -
                            temperature_us() * log_of(1 - session_.random().uniform());
    const double before_us = penalty_.objective_us(reached_);
    const Evaluation tried = evaluate(moves);
    if (tried.status == EvaluationStatus::kBudgetSpent) {
      return;
    }
    const double after_us = penalty_.objective_us(tried);
    const float value = value_of_gain(before_us - after_us, random_moves_.mean_time_us());
    value_of_[hashes_[chosen]] = value;
    tried_here_.insert(hashes_[chosen]);
    if (trials != nullptr) {
      if (is_new) {
        trials->push_back({.attributes = attributes_, .on_device = on_device_});
        is_new = false;
      }
      trials->back().moves.add(batch_, chosen);
      trials->back().values.push_back(value);
    }
    if (options_.learning_rate > 0) {
      learn(value);
    }
    if (after_us < limit_us) {
      reached_ = tried;
      std::swap(outline_, tried_outline_);
      observe();
      is_new = true;
    } else {
      for (std::size_t i = 0; i < moves.size(); ++i) {
        current_[moves[i].group] = before_[i];
      }
    }
    penalty_.update(reached_);
  }
}

void MoveEpisode::observe() {
  step_.observe(current_, outline_, reached_.step_time_us);
  tried_here_.clear();
  on_device_.clear();
  for (DeviceId device = 0; device < session_.problem().num_devices(); ++device) {
    for (const GroupId group : step_.on_device(device)) {
      on_device_.add(0, group);
    }
    on_device_.end_row();
  }
  attributes_ = group_attributes(step_, random_moves_.mean_time_us());
  embedding_tape_.clear();
  embeddings_ = network_.embeddings(embedding_tape_, neighbourhoods_, attributes_);
}

// Draws up to `count` moves that were not tried from here; returns false if there are none.
bool MoveEpisode::draw(std::size_t count) {
  num_candidates_ = 0;
  batch_.clear();
  hashes_.clear();
  for (std::size_t left = kDrawsPerCandidate * count; left > 0 && num_candidates_ < count; --left) {
    std::vector<Move>& moves = candidates_[num_candidates_];
    random_moves_.draw(current_, session_.random(), moves);
    const std::uint64_t hash = hash_of(moves);
    if (tried_here_.contains(hash)) {
      continue;
    }
    std::array<float, MoveBatch::kFeatures> features{};
    features_.compute(moves, features);
    if (const auto found = value_of_.find(hash); found != value_of_.end()) {
      features[MoveFeatures::kCount] = 1;
      features[MoveFeatures::kCount + 1] = std::clamp(found->second, -2.0F, 2.0F);
    }
    const GroupId first = features_.moved().front();
    batch_.add(features_.moved(), current_[first], moves.front().device, features);
    hashes_.push_back(hash);
    ++num_candidates_;
  }
  return num_candidates_ > 0;
}

// Returns the candidate of the highest value, and keeps its description.
std::size_t MoveEpisode::most_valuable() {
  tape_.clear();
  const nn::MatrixView<float> from = embedding_tape_.value(embeddings_);
  const nn::Value embeddings = tape_.input(from.rows, from.columns);
  std::copy_n(from.data, from.size(), tape_.value(embeddings).data);
  const nn::Value descriptions = network_.descriptions(tape_, embeddings, on_device_, batch_);
  const nn::MatrixView<float> values = tape_.value(network_.values(tape_, descriptions));
  std::size_t best = 0;
  for (std::size_t i = 1; i < num_candidates_; ++i) {
    if (values(i, 0) > values(best, 0)) {
      best = i;
    }
  }
  const nn::MatrixView<float> rows = tape_.value(descriptions);
  description_.clear();
  for (std::size_t column = 0; column < rows.columns; ++column) {
    description_.push_back(rows(best, column));
  }
  return best;
}

Evaluation MoveEpisode::evaluate(const std::vector<Move>& moves) {
  before_.clear();
  for (const Move& move : moves) {
    before_.push_back(current_[move.group]);
    current_[move.group] = move.device;
  }
  return session_.evaluate(current_, tried_outline_);
}

// Makes a step of gradient descent on the gain in hand and on random ones of this episode.
void MoveEpisode::learn(float value) {
  constexpr std::size_t kInputs = ValueNetwork<float>::inputs();
  if (replay_values_.size() < kReplay) {
    replay_.insert(replay_.end(), description_.begin(), description_.end());
    replay_values_.push_back(value);
  } else {
    std::ranges::copy(description_,
                      replay_.begin() + static_cast<std::ptrdiff_t>(oldest_ * kInputs));
    replay_values_[oldest_] = value;
  }
  const std::size_t newest = oldest_;
  oldest_ = (oldest_ + 1) % kReplay;
  tape_.clear();
  const nn::Value input = tape_.input(kBatch, kInputs);
  const nn::MatrixView<float> x = tape_.value(input);
  std::array<float, kBatch> labels{};
  for (std::size_t row = 0; row < kBatch; ++row) {
    const std::size_t from = row == 0 ? newest : session_.random().below(replay_values_.size());
    for (std::size_t column = 0; column < kInputs; ++column) {
      x(row, column) = replay_[from * kInputs + column];
    }
    labels[row] = replay_values_[from];
  }
  const nn::Value values = network_.values(tape_, input);
  const nn::MatrixView<float> derivatives = tape_.seed(values);
  for (std::size_t row = 0; row < kBatch; ++row) {
    derivatives(row, 0) =
        std::clamp(tape_.value(values)(row, 0) - labels[row], -kLargestError, kLargestError) /
        static_cast<float>(kBatch);
  }
  std::ranges::fill(gradient_, 0.0F);
  tape_.backward(gradient_);
  optimizer_.clipped_step(network_.parameters().values(), gradient_, options_.learning_rate,
                          kMaxGradientNorm);
}

double MoveEpisode::temperature_us() const {
  const double of_budget = (session_.share_used() - from_share_) / std::max(1 - from_share_, 1e-9);
  const double of_length = static_cast<double>(evaluations()) / static_cast<double>(length_);
  const double log_ratio = log_of(options_.final_temperature / options_.initial_temperature);
  return random_moves_.mean_time_us() * options_.initial_temperature *
         exp_of(log_ratio * std::clamp(std::max(of_budget, of_length), 0.0, 1.0));
}

}  // namespace emplace::agents::placeto
