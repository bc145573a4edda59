#pragma once

// An attentional sequence-to-sequence network that chooses a device for each item of a list
// (Mirhoseini et al. 2017; 2018):
//
//   encoder    an LSTM over the items, or a bidirectional one with half the cells each way; its
//              hidden states are e_i
//   memory     m_i = e_i W
//   decoder    an LSTM that starts from the encoder's last state; its input is the embedding of the
//              last chosen device, at first of a start token
//   attention  score_i = v . tanh(m_i + h W'), context = sum of softmax(score)_i m_i
//   logits     C tanh(u / T) with u = [h, context] W''
//
// Several placements of one sequence are sampled in parallel, a row for each. The samples stay on
// the tape with their log probabilities, so that training needs no second forward pass.

#include "nn/parameters.hpp"
#include "nn/segment_sum.hpp"
#include "nn/tape.hpp"
#include "rnn/options.hpp"

#include <emplace/base/random.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace emplace::agents::rnn {

/// Samples actions from logits, or takes greedy ones.
class ActionSampler {
 public:
  /// Samples with `random`; without it, takes the most probable action.
  explicit ActionSampler(RandomStream* random) : random_(random) {}

  /// Returns an action for a row of logits.
  template <class Scalar>
  std::int32_t sample(const nn::MatrixView<Scalar>& logits, std::size_t row);

  /// Returns a sample of the standard normal distribution; 0 without a random stream.
  double normal();

 private:
  RandomStream* random_;
  std::vector<double> probabilities_;
  double spare_ = 0;
  bool has_spare_ = false;
};

/// Holds placements that were sampled for one sequence; valid until the tape is cleared.
struct Draw {
  std::size_t placements = 0;                  ///< sampled in parallel
  std::vector<std::int32_t> devices{};         ///< actions, by item, placement
  std::vector<nn::Value> log_probabilities{};  ///< by item: of each placement's action
  std::vector<nn::Value> entropies{};          ///< by item: of each placement's distribution
  nn::Value encoded{};                         ///< the encoder's hidden states, a row for each item
  std::vector<nn::Value> steps{};              ///< hidden states of the last encoder
  std::vector<std::int32_t> last{};            ///< last action, by placement
  // Segment sums to which the tape points.
  nn::SegmentSum stack{};     // an encoder's steps as one matrix
  nn::SegmentSum backward{};  // the same, last step first
  nn::SegmentSum copies{};    // a row for each placement
};

/// Places a sequence of items, with layers of the given parameters.
template <class Scalar>
class SequencePlacer {
 public:
  /// Adds its layers to `parameters`, for items of `width` features.
  SequencePlacer(const PolicyOptions& options, std::size_t width, std::size_t num_devices,
                 nn::Parameters<Scalar>& parameters);

  /// Samples draw.placements devices for each row of `items`. `noise` is the standard deviation of
  /// noise on the logits, relative to their root mean square.
  void place(nn::Tape<Scalar>& tape, nn::Value items, ActionSampler& sampler, double noise,
             Draw& draw) const;

  std::size_t num_devices() const { return num_devices_; }

 private:
  struct Lstm {
    nn::LayerId input;
    nn::LayerId recurrent;
    std::size_t cells;
  };
  struct State {
    nn::Value hidden;
    nn::Value cell;
  };

  static Lstm add_lstm(nn::Parameters<Scalar>& parameters, const std::string& name,
                       std::size_t width, std::size_t cells);
  // Returns the state after a step; the input of row i is row rows[i] of `inputs`, which are
  // multiplied by the input weights already.
  static State step(nn::Tape<Scalar>& tape, const Lstm& lstm, const State& before, nn::Value inputs,
                    std::span<const std::int32_t> rows);
  // Runs over all items, the last one first if `backward`; sets `hidden` to a row for each item.
  static State encode(nn::Tape<Scalar>& tape, const Lstm& lstm, nn::Value items, bool backward,
                      Draw& draw, nn::Value& hidden);
  nn::Value device_inputs(nn::Tape<Scalar>& tape) const;
  nn::Value with_noise(nn::Tape<Scalar>& tape, nn::Value logits, ActionSampler& sampler,
                       double noise) const;

  std::size_t num_devices_;
  std::vector<Lstm> encoders_;
  nn::LayerId devices_;
  Lstm decoder_;
  nn::LayerId memory_;
  nn::LayerId query_;
  nn::LayerId score_;
  nn::LayerId logits_;
};

}  // namespace emplace::agents::rnn
