#pragma once

// An attentional sequence-to-sequence network that chooses a device for each item of a list
// (Mirhoseini et al. 2017; 2018):
//
//   encoder   an LSTM over the items, or one each way with half the cells each; H numbers an item
//   memory    m_i = H_i W, a row for each item
//   decoder   an LSTM from the encoder's last state; it reads a learned vector of the device that
//   it
//             chose last, at first one that says "go"
//   attention score_i = v . tanh(m_i + h W'), context = sum of softmax(score)_i m_i
//   logits    C tanh(u / T) of u = [h, context] W''
//
// Several placements of one list are drawn side by side, a row for each. What was drawn stays on
// the tape with its log probabilities, so that what is learned from is what was drawn.

#include "learned/rnn_options.hpp"
#include "nn/parameters.hpp"
#include "nn/row_sums.hpp"
#include "nn/tape.hpp"

#include <emplace/graphs/random.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace emplace::agents::rnn {

/// Chooses one of the actions whose logits are given.
class Chooser {
 public:
  /// Draws by `random`; with none, takes the likeliest.
  explicit Chooser(RandomStream* random) : random_(random) {}

  /// Returns the action for a row of logits that stand kLanes apart.
  template <class Scalar>
  std::int32_t choose(const Scalar* logits, std::size_t count);

  /// Returns a number of the normal distribution; 0 without a random stream.
  double normal();

 private:
  RandomStream* random_;
  std::vector<double> probabilities_;
  double spare_ = 0;
  bool has_spare_ = false;
};

/// Holds what was drawn for one list; lives until the tape is cleared.
struct Draw {
  std::size_t placements = 0;           ///< drawn side by side
  std::vector<std::int32_t> devices{};  ///< chosen, by item, placement
  std::vector<nn::Value> chances{};     ///< by item: log probability of each placement's choice
  std::vector<nn::Value> entropies{};   ///< by item: of each placement's choice
  nn::Value encoded{};                  ///< what the encoder said of each item, a row for each
  std::vector<nn::Value> steps{};       ///< of the last encoder
  std::vector<std::int32_t> last{};     ///< chosen, by placement
  // What the tape keeps pointers to.
  nn::RowSums stack{};     // of an encoder's steps into one matrix
  nn::RowSums backward{};  // the same, last step first
  nn::RowSums copies{};    // of one row for each placement
};

/// The network; its layers are among those that it was given.
template <class Scalar>
class SequencePlacer {
 public:
  /// Adds its layers to `parameters`, for items of `width` numbers.
  SequencePlacer(const PolicyOptions& options, std::size_t width, std::size_t num_devices,
                 nn::Parameters<Scalar>& parameters);

  /// Draws draw.placements devices for each row of `items`; `noise` is added to logits, as a share
  /// of their root mean square.
  void place(nn::Tape<Scalar>& tape, nn::Value items, Chooser& chooser, double noise,
             Draw& draw) const;

  std::size_t num_devices() const { return num_devices_; }

 private:
  struct Lstm {
    nn::LayerId input;
    nn::LayerId recurrent;
    std::size_t cells;
  };
  struct State {
    nn::Value said;
    nn::Value held;
  };

  static Lstm add_lstm(nn::Parameters<Scalar>& parameters, const std::string& name,
                       std::size_t width, std::size_t cells);
  // Returns the state after a step to which row rows[i] of `flow` comes for each row i.
  static State step(nn::Tape<Scalar>& tape, const Lstm& lstm, const State& before, nn::Value flow,
                    std::span<const std::int32_t> rows);
  // Runs over all items, the last one first if `backward`; sets `said` to a row for each item.
  static State encode(nn::Tape<Scalar>& tape, const Lstm& lstm, nn::Value items, bool backward,
                      Draw& draw, nn::Value& said);
  nn::Value device_inputs(nn::Tape<Scalar>& tape) const;
  nn::Value with_noise(nn::Tape<Scalar>& tape, nn::Value logits, Chooser& chooser,
                       double noise) const;

  double temperature_;
  double bound_;
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
