// Neural machine translation in the architecture of GNMT (Wu et al.: Google's Neural Machine
// Translation System, 2016, arXiv 1609.08144, figure 1), unrolled as in TensorFlow 1's static
// graphs. The encoder's first layer runs in both directions; residual connections begin at the
// third layer (in the encoder and in the decoder alike). The attention network has one hidden layer
// (Bahdanau et al. 2015); its query at step t is what the decoder's bottom layer gave at step t -
// 1, and its context goes to every layer of the decoder, so the layers of different steps can
// overlap. Decoder layer i starts from the final state of encoder layer i, the first from that of
// the backward direction (as in tensorflow/nmt). Softmax and loss are ops of each step, as in the
// graphs of Mirhoseini et al. 2017.
//
// Defaults: 1024 units (Wu et al.); 2 layers and 30 steps (Placeto's graph); batch 256 (that of its
// author's environment, park); 50,000 words, as Luong et al. 2015 (arXiv 1508.04025) take on the
// WMT'14 corpus that Mirhoseini et al. train on. The training step then overflows one K80 with 11e9
// bytes, as it does in the papers, and fits on two; with the 32,000 wordpieces of Wu et al. it
// would fit on one.
//
// Scopes: encoder/embedding, encoder/layer_0/{forward,backward}/step_<t>,
// encoder/layer_<i>/step_<t>, decoder/embedding, decoder/layer_<i>/step_<t>, attention/step_<t>,
// softmax/step_<t>.

#include "nmt.hpp"

#include "training_model.hpp"

#include <emplace/graphs/model_builder.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

namespace emplace {
namespace {

// From the third layer on, a layer's inputs are added to its results.
constexpr std::int64_t kFirstResidualLayer = 2;

// Looks from the decoder at all of the encoder's results.
class DecoderAttention {
 public:
  // `source` has the encoder's result of each step, [batch, width]; a query is [batch, hidden].
  DecoderAttention(ModelBuilder& net, const std::vector<Tensor>& source, std::int64_t hidden)
      : net_(net),
        steps_(static_cast<std::int64_t>(source.size())),
        batch_(net.shape(source.front())[0]),
        width_(net.shape(source.front())[1]) {
    const auto scope = net_.scope("attention");
    const Tensor joined = net_.reshape(net_.concat(source, 0), {steps_, batch_, width_});
    keys_ = net_.dense(joined, hidden, Bias::kNone);
    memory_ = net_.transpose(joined, std::array<std::size_t, 3>{1, 0, 2});
    query_weights_ = net_.variable("query_weights", {hidden, hidden});
    score_weights_ = net_.variable("score_weights", {hidden, 1});
  }

  // Returns the length of a context.
  std::int64_t width() const { return width_; }

  // Returns the context: the mean of the encoder's results, [batch, width], weighted by how well
  // the query fits the key of each.
  Tensor step(Tensor query) {
    const auto scope = net_.scope(fmt::format("attention/step_{}", time_++));
    const Tensor fit = net_.tanh(net_.bias_add(keys_, net_.matmul(query, query_weights_)));
    const Tensor scores = net_.reshape(net_.matmul(fit, score_weights_), {steps_, batch_});
    const Tensor weights = net_.softmax(net_.transpose(scores, std::array<std::size_t, 2>{1, 0}));
    const Tensor context = net_.batch_matmul(net_.reshape(weights, {batch_, 1, steps_}), memory_);
    return net_.reshape(context, {batch_, width_});
  }

 private:
  ModelBuilder& net_;
  std::int64_t steps_;
  std::int64_t batch_;
  std::int64_t width_;
  std::int64_t time_ = 0;  // of the next step
  Tensor keys_;            // [steps, batch, hidden], to which a query is added
  Tensor memory_;          // [batch, steps, width]
  Tensor query_weights_;   // [hidden, hidden]
  Tensor score_weights_;   // [hidden, 1]
};

class Nmt {
 public:
  Nmt(std::int64_t layers, const UnrolledSizes& sizes, std::int64_t batch)
      : layers_(layers), hidden_(sizes.hidden), sizes_(sizes), batch_(batch) {}

  OpGraph build() && {
    DecoderAttention attention(net_, encode(), hidden_);
    const std::vector<Tensor> words = decode(attention);
    add_softmax_losses(net_, words, learned_classifier(net_, hidden_, sizes_.vocabulary));
    return std::move(net_).finish();
  }

 private:
  LstmLayer layer(std::string_view part, std::int64_t i, std::int64_t inputs) {
    return LstmLayer(net_, fmt::format("{}/layer_{}", part, i),
                     {.inputs = inputs, .hidden = hidden_, .residual = i >= kFirstResidualLayer});
  }

  std::vector<Tensor> encode() {
    std::vector<Tensor> x =
        both_directions(embed_words(net_, "encoder/embedding", sizes_, batch_).steps);
    for (std::int64_t i = 1; i < layers_; ++i) {
      LstmLayer next = layer("encoder", i, net_.shape(x.front())[1]);
      next.start(batch_);
      x = next.run(x);
      final_states_.push_back(next.state());
    }
    return x;
  }

  // Joins what two layers give that read the words in opposite orders: [batch, 2 hidden].
  std::vector<Tensor> both_directions(std::vector<Tensor> words) {
    const auto scope = net_.scope("encoder/layer_0");
    const LstmAttributes attributes{.inputs = hidden_, .hidden = hidden_};
    LstmLayer forward(net_, "forward", attributes);
    LstmLayer backward(net_, "backward", attributes);
    forward.start(batch_);
    backward.start(batch_);
    const std::vector<Tensor> ahead = forward.run(words);
    std::ranges::reverse(words);
    std::vector<Tensor> back = backward.run(words);
    std::ranges::reverse(back);
    final_states_.push_back(backward.state());
    std::vector<Tensor> joined;
    for (std::size_t time = 0; time < words.size(); ++time) {
      joined.push_back(net_.concat(std::array{ahead[time], back[time]}));
    }
    return joined;
  }

  std::vector<Tensor> decode(DecoderAttention& attention) {
    std::vector<Tensor> words = embed_words(net_, "decoder/embedding", sizes_, batch_).steps;
    std::vector<LstmLayer> layers;
    for (std::int64_t i = 0; i < layers_; ++i) {
      layers.push_back(layer("decoder", i, hidden_ + attention.width()));
      layers.back().start(final_states_[static_cast<std::size_t>(i)]);
    }
    for (Tensor& word : words) {
      const Tensor context = attention.step(layers.front().state().h);
      for (LstmLayer& layer : layers) {
        word = layer.step(word, context);
      }
    }
    return words;
  }

  ModelBuilder net_{"nmt", "Wu et al. 2016, arXiv 1609.08144"};
  std::int64_t layers_;
  std::int64_t hidden_;
  UnrolledSizes sizes_;
  std::int64_t batch_;
  std::vector<LstmState> final_states_;  // of the encoder's layers
};

const GraphRegistration kRegistration(training_model({
    .name = "nmt",
    .summary = "translation: LSTM encoder and decoder with attention, softmax at every step",
    .reference = "Wu et al. 2016, arXiv 1609.08144; Bahdanau et al. 2015, arXiv 1409.0473",
    .batch = 256,
    .examples = "pairs of sentences",
    .parameters = unrolled_parameters(layers_parameter(2),
                                      {.hidden = 1024, .vocabulary = 50'000, .steps = 30}),
    .forward =
        [](const Params& params) {
          return nmt_forward(params.get<std::int64_t>("layers"), unrolled_sizes(params),
                             params.get<std::int64_t>("batch"));
        },
}));

}  // namespace

OpGraph nmt_forward(std::int64_t layers, const UnrolledSizes& sizes, std::int64_t batch) {
  return Nmt(layers, sizes, batch).build();
}

}  // namespace emplace
