#pragma once

// What the recurrent models of this folder share: layers unrolled over time, step by step. Weights
// stand in a layer's scope, and each step in a scope of its own, `<layer>/step_<t>`.

#include <emplace/base/params.hpp>
#include <emplace/graphs/model_builder.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace emplace {

/// Holds the sizes of a recurrent model.
struct UnrolledSizes {
  std::int64_t hidden = 1;      ///< numbers of a state
  std::int64_t vocabulary = 2;  ///< words
  std::int64_t steps = 1;       ///< words of a sentence
};

/// Returns `depth`, then the parameters `hidden`, `vocabulary` and `steps` with these defaults.
std::vector<ParamSpec> unrolled_parameters(ParamSpec depth, const UnrolledSizes& sizes);

/// Returns the values of those three.
UnrolledSizes unrolled_sizes(const Params& params);

/// Returns the parameter `layers`.
ParamSpec layers_parameter(std::int64_t layers);

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

/// Holds words of a vocabulary as vectors.
struct EmbeddedWords {
  Tensor table;                 ///< [vocabulary, width]
  std::vector<Tensor> steps{};  ///< the words of each step, [batch, width]
};

/// Adds in `scope` a table for a vocabulary and looks up the words of all steps at once.
EmbeddedWords embed_words(ModelBuilder& net, std::string_view scope, const UnrolledSizes& sizes,
                          std::int64_t batch);

/// Makes scores of words, [batch, vocabulary], of what a step gave.
using Classifier = std::function<Tensor(Tensor)>;

/// Returns the classifier that multiplies by weights of its own, which all steps read, and adds a
/// bias. Its variables stand in the scope `softmax`.
Classifier learned_classifier(ModelBuilder& net, std::int64_t width, std::int64_t vocabulary);

/// Classifies, in the scope `softmax`, what each step gave. Each step has a loss of its own, and
/// the network's loss is their sum.
void add_softmax_losses(ModelBuilder& net, const std::vector<Tensor>& steps,
                        const Classifier& classify);

}  // namespace emplace
