// A language model: embedded words, LSTM layers, softmax over the vocabulary at every step
// (Zaremba, Sutskever, Vinyals: Recurrent Neural Network Regularization, 2014, arXiv 1409.2329;
// Jozefowicz, Vinyals, Schuster, Shazeer, Wu: Exploring the Limits of Language Modeling, 2016,
// arXiv 1602.02410). The default is the size that Mirhoseini et al. 2017 place: 2 layers of 2048,
// batch 64; unrolled for 20 steps as in Jozefowicz et al., on the 10,000 words of the Penn Treebank
// and with plain gradient steps as in Zaremba et al., whose large model is
// `rnnlm:hidden=1500,steps=35,batch=20`.
//
// Scopes: embedding, layer_<i>/step_<t>, softmax/step_<t>.

#include "training_model.hpp"
#include "unrolled.hpp"

#include <emplace/graphs/model_builder.hpp>

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace emplace::rnnlm_model {
namespace {

OpGraph forward(const Params& params) {
  const auto batch = params.get<std::int64_t>("batch");
  const UnrolledSizes sizes = unrolled_sizes(params);
  ModelBuilder net("rnnlm", "Jozefowicz et al. 2016, arXiv 1602.02410");
  std::vector<Tensor> x = embed_words(net, "embedding", sizes, batch).steps;
  for (std::int64_t i = 0; i < params.get<std::int64_t>("layers"); ++i) {
    LstmLayer layer(net, fmt::format("layer_{}", i),
                    {.inputs = sizes.hidden, .hidden = sizes.hidden});
    layer.start(batch);
    x = layer.run(x);
  }
  add_softmax_losses(net, x, learned_classifier(net, sizes.hidden, sizes.vocabulary));
  return std::move(net).finish();
}

const GraphRegistration kRegistration(training_model({
    .name = "rnnlm",
    .summary = "language model: LSTM layers, softmax at every step",
    .reference = "Jozefowicz et al. 2016, arXiv 1602.02410; Zaremba et al. 2014, arXiv 1409.2329",
    .batch = 64,
    .examples = "sentences",
    .optimizer = "sgd",
    .parameters = unrolled_parameters(layers_parameter(2),
                                      {.hidden = 2048, .vocabulary = 10'000, .steps = 20}),
    .forward = forward,
}));

}  // namespace
}  // namespace emplace::rnnlm_model
