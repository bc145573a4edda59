#include "move_episode.hpp"

#include <emplace/base/elementary.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <utility>

namespace emplace::agents::learned_search {
namespace {

constexpr float kWeightOfLosses = 0.01F;
constexpr std::size_t kRefill = 4;  // the pool grows by a part of that many when no move is kept
constexpr std::size_t kLargestPool = 512;
constexpr std::int64_t kEmbedEvery = 16;  // placements that were kept
constexpr std::size_t kInputs = ValueNetwork<float>::inputs();
constexpr std::size_t kReplay = 4096;     // gains that are remembered
constexpr std::size_t kLearnEvery = 8;    // gains
constexpr std::size_t kBatch = 64;        // gains of a step of gradient descent
constexpr std::size_t kDrawsPerMove = 2;  // at most, to find moves that are not known

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

RandomMoves::Options kinds_of_moves(Levels levels) {
  if (levels == Levels::kFinest) {
    return {.cluster = 0, .layer = 0, .swap = 0};
  }
  return {.cluster = 0.5, .layer = 0.1, .swap = 0, .whole = 0.3};
}

}  // namespace

float value_of_gain(double gain_us, double mean_time_us) {
  constexpr double kWorst = -1e30;  // where a placement has no finite objective
  const float value = signed_log2(std::max(gain_us, kWorst) / mean_time_us);
  return value < 0 ? kWeightOfLosses * value : value;
}

MoveContext::MoveContext(const Problem& problem, Levels levels)
    : coarsening(problem), neighbours(problem), random_moves(coarsening, kinds_of_moves(levels)) {}

MoveEpisode::MoveEpisode(Evaluator& evaluator, const MoveContext& context,
                         const ValueNetwork<float>& network, const MoveOptions& options,
                         const Placement& start, std::int64_t length)
    : evaluator_(evaluator),
      options_(options),
      network_(network),
      length_(length),
      first_evaluation_(evaluator.budget().evaluations()),
      from_share_(evaluator.budget().share_used()),
      context_(context),
      step_(evaluator.problem()),
      features_(step_, context.random_moves.mean_time_us()),
      moves_(evaluator),
      reached_(moves_.start(start)),
      embedding_tape_(network_.parameters()),
      tape_(network_.parameters()),
      learner_(network_),
      gradient_(network_.parameters().values().size()) {}

void MoveEpisode::run(std::vector<Transitions>* transitions) {
  if (reached_.status == EvaluationStatus::kBudgetSpent ||
      evaluator_.problem().placeable_devices().size() == 1) {
    return;
  }
  observe();
  while (!evaluator_.budget().exhausted() && evaluations() < length_) {
    if (!fill_pool()) {
      known_here_.clear();  // all moves that were drawn have been tried
      continue;
    }
    const Candidate chosen = choose();
    const double before_us = penalty_.objective_us(reached_);
    const double limit_us =
        before_us - temperature_us() * log_of(1 - evaluator_.random().uniform());
    const Evaluation tried = moves_.evaluate(chosen.moves);
    if (tried.status == EvaluationStatus::kBudgetSpent) {
      return;
    }
    const double after_us = penalty_.objective_us(tried);
    const float value = value_of_gain(before_us - after_us, context_.random_moves.mean_time_us());
    const bool is_kept = after_us < limit_us;
    value_of_[chosen.hash] = value;
    if (transitions != nullptr) {
      add_to(*transitions, chosen, value, is_kept);
    }
    if (options_.learning_rate > 0) {
      learn(chosen, value);
    }
    if (is_kept) {
      moves_.accept();
      reached_ = tried;
      observe();
    }
    penalty_.update(reached_);
  }
}

void MoveEpisode::observe() {
  moves_.outline(outline_);
  step_.observe(moves_.base(), outline_, reached_.step_time_us);
  pool_is_stale_ = true;
  known_here_.clear();
  if (observations_ % kEmbedEvery == 0) {
    embed();
  }
  ++observations_;
}

void MoveEpisode::embed() {
  on_device_.clear();
  for (DeviceId device = 0; device < evaluator_.problem().num_devices(); ++device) {
    for (const GroupId group : step_.on_device(device).groups()) {
      on_device_.add(0, group);
    }
    on_device_.end_row();
  }
  attributes_ = group_attributes(step_, context_.random_moves.mean_time_us());
  embedding_tape_.clear();
  embeddings_ = network_.embeddings(embedding_tape_, context_.neighbours, attributes_);
  pools_ = network_.pools(embedding_tape_, embeddings_, on_device_);
  is_embedded_anew_ = true;
}

// Draws and values moves; after a kept move also the best ones of before. Returns false if the pool
// stays empty.
bool MoveEpisode::fill_pool() {
  const auto moves = static_cast<std::size_t>(options_.moves);
  const std::size_t refill = (moves + kRefill - 1) / kRefill;
  batch_.clear();
  fresh_.clear();
  if (pool_is_stale_) {
    keep_best(refill);
    for (Candidate& candidate : pool_) {
      describe(std::move(candidate));
    }
    pool_.clear();
  } else if (pool_.size() > kLargestPool) {
    keep_best(kLargestPool / 2);
  }
  const std::size_t count = pool_is_stale_ ? moves : refill;
  pool_is_stale_ = false;
  for (std::size_t left = kDrawsPerMove * count; left > 0 && fresh_.size() < count; --left) {
    Candidate candidate;
    candidate.level =
        context_.random_moves.draw(moves_.base(), evaluator_.random(), candidate.moves);
    describe(std::move(candidate));
  }
  value_fresh();
  std::ranges::move(fresh_, std::back_inserter(pool_));
  return !pool_.empty();
}

// Keeps the `count` moves of the highest values in the pool.
void MoveEpisode::keep_best(std::size_t count) {
  if (pool_.size() > count) {
    std::ranges::nth_element(pool_, pool_.begin() + static_cast<std::ptrdiff_t>(count),
                             std::ranges::greater(), &Candidate::value);
    pool_.resize(count);
  }
}

// Adds a candidate to the fresh ones, unless it changes nothing or is known.
void MoveEpisode::describe(Candidate candidate) {
  std::vector<Move>& moves = candidate.moves;
  std::erase_if(moves, [this](Move move) { return moves_.base()[move.group] == move.device; });
  candidate.hash = hash_of(moves);
  if (moves.empty() || !known_here_.insert(candidate.hash).second) {
    return;
  }
  std::array<float, MoveBatch::kFeatures>& features = candidate.features;
  features = {};
  features_.compute(moves, features);
  if (const auto found = value_of_.find(candidate.hash); found != value_of_.end()) {
    features[MoveFeatures::kCount] = 1;
    features[MoveFeatures::kCount + 1] = std::clamp(found->second, -2.0F, 2.0F);
  }
  candidate.origin = moves_.base()[moves.front().group];
  batch_.add(moves, candidate.origin, features);
  fresh_.push_back(std::move(candidate));
}

void MoveEpisode::value_fresh() {
  if (fresh_.empty()) {
    return;
  }
  const nn::MatrixView<float> values = tape_.value(network_.values(tape_, descriptions(batch_)));
  for (std::size_t i = 0; i < fresh_.size(); ++i) {
    // A policy of huge weights has no values that could be compared.
    fresh_[i].value =
        std::isnan(values(i, 0)) ? std::numeric_limits<float>::lowest() : values(i, 0);
  }
}

// Begins a new pass.
nn::Value MoveEpisode::descriptions(const MoveBatch& moves) {
  tape_.clear();
  return network_.descriptions(tape_, tape_.constant(embedding_tape_.value(embeddings_)),
                               tape_.constant(embedding_tape_.value(pools_)), moves);
}

// Takes the next move to try from the pool.
MoveEpisode::Candidate MoveEpisode::choose() {
  RandomStream& random = evaluator_.random();
  std::size_t chosen = random.below(pool_.size());
  if (random.uniform() >= options_.epsilon) {
    const std::size_t level = pool_[chosen].level;
    for (std::size_t i = 0; i < pool_.size(); ++i) {
      if (pool_[i].value > pool_[chosen].value &&
          (options_.levels == Levels::kLearned || pool_[i].level == level)) {
        chosen = i;
      }
    }
  }
  Candidate candidate = std::move(pool_[chosen]);
  pool_[chosen] = std::move(pool_.back());
  pool_.pop_back();
  return candidate;
}

void MoveEpisode::add_to(std::vector<Transitions>& transitions, const Candidate& tried, float value,
                         bool is_kept) {
  if (is_embedded_anew_) {
    transitions.push_back({.attributes = attributes_, .on_device = on_device_});
    is_embedded_anew_ = false;
  }
  transitions.back().moves.add(tried.moves, tried.origin, tried.features);
  transitions.back().values.push_back(value);
  transitions.back().kept.push_back(is_kept);
}

void MoveEpisode::learn(const Candidate& tried, float value) {
  remember(tried, value);
  if (gains_ % kLearnEvery == 0) {
    improve();
  }
}

void MoveEpisode::remember(const Candidate& tried, float value) {
  batch_.clear();
  batch_.add(tried.moves, tried.origin, tried.features);
  const nn::MatrixView<float> row = tape_.value(descriptions(batch_));
  if (replay_values_.size() < kReplay) {
    replay_.resize(replay_.size() + kInputs);
    replay_values_.push_back(0);
  }
  const std::size_t at = gains_ % kReplay;
  for (std::size_t column = 0; column < kInputs; ++column) {
    replay_[at * kInputs + column] = row(0, column);
  }
  replay_values_[at] = value;
  ++gains_;
}

// Makes a step of gradient descent on the last gains and on random ones of this episode.
void MoveEpisode::improve() {
  tape_.clear();
  const nn::Value input = tape_.input(kBatch, kInputs);
  const nn::MatrixView<float> x = tape_.value(input);
  std::array<float, kBatch> labels{};
  for (std::size_t row = 0; row < kBatch; ++row) {
    const std::size_t from = row < kLearnEvery ? (gains_ - 1 - row) % kReplay
                                               : evaluator_.random().below(replay_values_.size());
    for (std::size_t column = 0; column < kInputs; ++column) {
      x(row, column) = replay_[from * kInputs + column];
    }
    labels[row] = replay_values_[from];
  }
  const nn::Value values = network_.values(tape_, input);
  std::ranges::fill(gradient_, 0.0F);
  ValueLearner::add_gradient(tape_, values, labels, kBatch, gradient_);
  learner_.step(gradient_, options_.learning_rate);
}

double MoveEpisode::temperature_us() const {
  const double of_budget =
      (evaluator_.budget().share_used() - from_share_) / std::max(1 - from_share_, 1e-9);
  const double of_length = static_cast<double>(evaluations()) / static_cast<double>(length_);
  const double log_ratio = log_of(options_.final_temperature / options_.initial_temperature);
  return context_.random_moves.mean_time_us() * options_.initial_temperature *
         exp_of(log_ratio * std::clamp(std::max(of_budget, of_length), 0.0, 1.0));
}

}  // namespace emplace::agents::learned_search
