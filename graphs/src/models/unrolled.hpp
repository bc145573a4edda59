#pragma once

// What the recurrent models of this folder share: layers unrolled over time, step by step. Weights
// stand in a layer's scope, and each step in a scope of its own, `<layer>/step_<t>`.

#include <emplace/graphs/model_builder.hpp>
#include <emplace/graphs/params.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace emplace {

/// Holds the default sizes of a recurrent model.
struct UnrolledSizes {
  std::int64_t layers, hidden, vocabulary, steps;
};

/// Returns the parameters `layers`, `hidden`, `vocabulary` and `steps` with these defaults.
std::vector<ParamSpec> unrolled_parameters(const UnrolledSizes& sizes);

/// Holds the attributes of an LSTM layer.
struct LstmAttributes {
  std::int64_t inputs = 1;  ///< numbers of a step's input
  std::int64_t hidden = 1;  ///< numbers of the state
  bool residual = false;    ///< adds a step's input to its result
};

/// Runs an LSTM layer step by step. All steps read the same weights. As Zaremba et al. 2014 (arXiv
/// 1409.2329) do, dropout is applied to what comes from the layer below, not to what comes from the
/// step before.
class LstmLayer {
 public:
  /// Adds the weights, `4 hidden (inputs + hidden + 1)` of them, of a layer in `scope`.
  LstmLayer(ModelBuilder& net, std::string scope, const LstmAttributes& attributes);

  /// Makes the first step start from a state that enters the network's step, [batch, hidden] each:
  /// zeros, or what the batch before left.
  void start(std::int64_t batch);

  /// Makes the first step start from another layer's state.
  void start(LstmState state) { state_ = state; }

  /// Adds the next step and returns its result, [batch, hidden]. Its input is `x`, or `x` joined
  /// with a context; a residual connection passes on `x` only.
  Tensor step(Tensor x, std::optional<Tensor> context = std::nullopt);

  /// Adds a step for each of `x`, in this order, and returns their results.
  std::vector<Tensor> run(const std::vector<Tensor>& x);

  /// Returns what the last step left.
  LstmState state() const { return state_; }

 private:
  ModelBuilder& net_;
  std::string scope_;
  Tensor weights_;
  Tensor bias_;
  LstmAttributes attributes_;
  std::int64_t time_ = 0;  // of the next step
  LstmState state_;
};

/// Adds in `scope` a table for a vocabulary, looks up the words of all steps at once, and returns
/// those of each step, [batch, width].
std::vector<Tensor> embedded_steps(ModelBuilder& net, std::string_view scope,
                                   std::int64_t vocabulary, std::int64_t width, std::int64_t steps,
                                   std::int64_t batch);

/// Classifies in scope `softmax` what each step gave, [batch, width], as words of a vocabulary. All
/// steps read the same weights; each has a loss of its own, and the network's loss is their sum.
void add_softmax_losses(ModelBuilder& net, const std::vector<Tensor>& steps,
                        std::int64_t vocabulary);

}  // namespace emplace
