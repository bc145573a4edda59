#include "sequence_placer.hpp"

#include "policy_gradient/categorical.hpp"

#include <emplace/base/elementary.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace emplace::agents::rnn {

using nn::Activation;
using nn::Value;

namespace {

// T and C of the logits C tanh(u / T).
constexpr double kTemperature = 10;
constexpr double kTanhClipping = 5;

}  // namespace

template <class Scalar>
std::int32_t ActionSampler::sample(const nn::MatrixView<Scalar>& logits, std::size_t row) {
  probabilities_.resize(logits.columns);
  nn::softmax<Scalar>(logits.row(row), logits.lanes(), probabilities_);
  return static_cast<std::int32_t>(random_ == nullptr
                                       ? policy_gradient::greedy_action(probabilities_)
                                       : policy_gradient::sample_action(probabilities_, *random_));
}

double ActionSampler::normal() {
  if (random_ == nullptr) {
    return 0;
  }
  has_spare_ = !has_spare_;
  if (!has_spare_) {
    return spare_;
  }
  const auto [sample, spare] = random_->normal_pair();
  spare_ = spare;
  return sample;
}

template <class Scalar>
SequencePlacer<Scalar>::SequencePlacer(const PolicyOptions& options, std::size_t width,
                                       std::size_t num_devices, nn::Parameters<Scalar>& parameters)
    : num_devices_(num_devices) {
  const std::size_t hidden = options.hidden;
  if (options.groups == 0) {
    encoders_.push_back(add_lstm(parameters, "encoder", width, hidden));
  } else {
    encoders_.push_back(add_lstm(parameters, "encoder/forward", width, hidden - hidden / 2));
    encoders_.push_back(add_lstm(parameters, "encoder/backward", width, hidden / 2));
  }
  devices_ =
      parameters.add("decoder/device", num_devices + 1, hidden);  // the last is the start token
  decoder_ = add_lstm(parameters, "decoder", hidden, hidden);
  memory_ = parameters.add("attention/memory", hidden, hidden);
  query_ = parameters.add("attention/query", hidden, hidden);
  score_ = parameters.add("attention/score", hidden, 1);
  logits_ = parameters.add("decoder/logits", 2 * hidden, num_devices);
}

template <class Scalar>
typename SequencePlacer<Scalar>::Lstm SequencePlacer<Scalar>::add_lstm(
    nn::Parameters<Scalar>& parameters, const std::string& name, std::size_t width,
    std::size_t cells) {
  const nn::LayerId input = parameters.add(name + "/input", width, 4 * cells);
  return {input, parameters.add(name + "/recurrent", cells, 4 * cells), cells};
}

template <class Scalar>
typename SequencePlacer<Scalar>::State SequencePlacer<Scalar>::step(
    nn::Tape<Scalar>& tape, const Lstm& lstm, const State& before, Value inputs,
    std::span<const std::int32_t> rows) {
  const Value gates = tape.lstm_gates(
      tape.add_rows(tape.affine(before.hidden, lstm.recurrent, Activation::kNone), inputs, rows));
  const Value cell = tape.lstm_cell(gates, before.cell);
  return {tape.lstm_hidden(gates, cell), cell};
}

template <class Scalar>
typename SequencePlacer<Scalar>::State SequencePlacer<Scalar>::encode(nn::Tape<Scalar>& tape,
                                                                      const Lstm& lstm, Value items,
                                                                      bool backward, Draw& draw,
                                                                      Value& hidden) {
  const auto count = static_cast<std::int32_t>(tape.value(items).rows);
  const Value inputs = tape.affine(items, lstm.input, Activation::kNone);
  State state{tape.input(1, lstm.cells, nn::Layout::kRows),
              tape.input(1, lstm.cells, nn::Layout::kRows)};
  draw.steps.clear();
  for (std::int32_t i = 0; i < count; ++i) {
    const std::array<std::int32_t, 1> row = {backward ? count - 1 - i : i};
    state = step(tape, lstm, state, inputs, row);
    draw.steps.push_back(state.hidden);
  }
  hidden = tape.segment_sum(draw.steps, backward ? draw.backward : draw.stack);
  return state;
}

// The inputs of the decoder after each device, and at first.
template <class Scalar>
Value SequencePlacer<Scalar>::device_inputs(nn::Tape<Scalar>& tape) const {
  const Value each = tape.input(num_devices_ + 1, num_devices_ + 1);
  for (std::size_t device = 0; device <= num_devices_; ++device) {
    tape.value(each)(device, device) = 1;
  }
  return tape.affine(tape.affine(each, devices_, Activation::kNone), decoder_.input,
                     Activation::kNone);
}

template <class Scalar>
Value SequencePlacer<Scalar>::with_noise(nn::Tape<Scalar>& tape, Value logits,
                                         ActionSampler& sampler, double noise) const {
  const nn::MatrixView<Scalar> in = tape.value(logits);
  double square = 0;
  for (std::size_t row = 0; row < in.rows; ++row) {
    for (std::size_t column = 0; column < in.columns; ++column) {
      square += static_cast<double>(in(row, column)) * in(row, column);
    }
  }
  const double size = noise * std::sqrt(square / static_cast<double>(in.rows * in.columns));
  const Value drawn = tape.input(in.rows, in.columns);
  std::vector<std::int32_t> rows(in.rows);
  std::iota(rows.begin(), rows.end(), 0);
  for (std::size_t row = 0; row < in.rows; ++row) {
    for (std::size_t column = 0; column < in.columns; ++column) {
      tape.value(drawn)(row, column) = static_cast<Scalar>(size * sampler.normal());
    }
  }
  return tape.add_rows(logits, drawn, rows);
}

template <class Scalar>
void SequencePlacer<Scalar>::place(nn::Tape<Scalar>& tape, Value items, ActionSampler& sampler,
                                   double noise, Draw& draw) const {
  const std::size_t count = tape.value(items).rows;
  draw.stack.clear();
  draw.backward.clear();
  draw.copies.clear();
  for (std::size_t i = 0; i < count; ++i) {
    draw.stack.add(static_cast<std::int32_t>(i), 0);
    draw.stack.end_row();
    draw.backward.add(static_cast<std::int32_t>(count - 1 - i), 0);
    draw.backward.end_row();
  }
  for (std::size_t i = 0; i < draw.placements; ++i) {
    draw.copies.add(0, 0);
    draw.copies.end_row();
  }

  Value encoded{};
  State state = encode(tape, encoders_[0], items, false, draw, encoded);
  if (encoders_.size() > 1) {
    Value backward{};
    const State last = encode(tape, encoders_[1], items, true, draw, backward);
    encoded = tape.concat(std::array{encoded, backward});
    state = {tape.concat(std::array{state.hidden, last.hidden}),
             tape.concat(std::array{state.cell, last.cell})};
  }
  const auto copied = [&](Value value) {
    return tape.segment_sum({&value, 1}, draw.copies, 1, nn::Combine::kSum, nn::Layout::kRows);
  };
  state = {copied(state.hidden), copied(state.cell)};
  draw.encoded = encoded;
  const Value memory =
      tape.in_layout(tape.affine(encoded, memory_, Activation::kNone), nn::Layout::kColumns);
  const Value inputs = device_inputs(tape);

  std::vector<std::int32_t>& last = draw.last;
  last.assign(draw.placements, static_cast<std::int32_t>(num_devices_));
  draw.devices.clear();
  draw.log_probabilities.clear();
  draw.entropies.clear();
  for (std::size_t item = 0; item < count; ++item) {
    state = step(tape, decoder_, state, inputs, last);
    const Value query = tape.affine(state.hidden, query_, Activation::kNone);
    const Value context = tape.attend(memory, query, score_);
    Value logits =
        tape.affine(tape.concat(std::array{state.hidden, context}), logits_, Activation::kNone);
    logits = tape.tanh_clip(logits, kTemperature, kTanhClipping);
    if (noise > 0) {
      logits = with_noise(tape, logits, sampler, noise);
    }
    for (std::size_t row = 0; row < draw.placements; ++row) {
      last[row] = sampler.sample(tape.value(logits), row);
    }
    draw.devices.insert(draw.devices.end(), last.begin(), last.end());
    draw.log_probabilities.push_back(tape.log_probability(logits, last));
    draw.entropies.push_back(tape.entropy(logits));
  }
}

template std::int32_t ActionSampler::sample(const nn::MatrixView<float>&, std::size_t);
template std::int32_t ActionSampler::sample(const nn::MatrixView<double>&, std::size_t);
template class SequencePlacer<float>;
template class SequencePlacer<double>;

}  // namespace emplace::agents::rnn
