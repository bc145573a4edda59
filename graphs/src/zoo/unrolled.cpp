#include "unrolled.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace emplace {

std::vector<ParamSpec> unrolled_parameters(ParamSpec depth, const UnrolledSizes& sizes) {
  return {std::move(depth),
          whole_number("hidden", sizes.hidden, 1, 65536,
                       "numbers of a cell's state, and of an embedded word"),
          whole_number("vocabulary", sizes.vocabulary, 2, 10'000'000, "different words"),
          whole_number("steps", sizes.steps, 1, 1000,
                       "words of a sentence, for each of which the network is unrolled")};
}

UnrolledSizes unrolled_sizes(const Params& params) {
  return {.hidden = params.get<std::int64_t>("hidden"),
          .vocabulary = params.get<std::int64_t>("vocabulary"),
          .steps = params.get<std::int64_t>("steps")};
}

ParamSpec layers_parameter(std::int64_t layers) {
  return whole_number("layers", layers, 1, 64, "LSTM layers on top of each other");
}

LstmLayer::LstmLayer(ModelBuilder& net, std::string scope, const LstmAttributes& attributes)
    : net_(net), scope_(std::move(scope)), attributes_(attributes) {
  const auto [inputs, hidden, residual] = attributes;
  const auto inner = net_.scope(scope_);
  weights_ = net_.variable("weights", {inputs + hidden, 4 * hidden});
  bias_ = net_.variable("bias", {4 * hidden});
}

void LstmLayer::start(std::int64_t batch) {
  const auto inner = net_.scope(scope_);
  const std::vector shape{batch, attributes_.hidden};
  state_ = {.h = net_.input("h", shape), .c = net_.input("c", shape)};
}

Tensor LstmLayer::step(Tensor x, std::optional<Tensor> context) {
  const auto inner = net_.scope(fmt::format("{}/step_{}", scope_, time_++));
  const Tensor joined = context ? net_.concat(std::array{x, *context}) : x;
  state_ = net_.lstm_cell(net_.dropout(joined), state_, weights_, bias_);
  return attributes_.residual ? net_.add(state_.h, x) : state_.h;
}

std::vector<Tensor> LstmLayer::run(const std::vector<Tensor>& x) {
  std::vector<Tensor> results;
  for (const Tensor step_input : x) {
    results.push_back(step(step_input));
  }
  return results;
}

EmbeddedWords embed_words(ModelBuilder& net, std::string_view scope, const UnrolledSizes& sizes,
                          std::int64_t batch) {
  const auto inner = net.scope(scope);
  const Tensor words = net.input("words", {sizes.steps * batch}, DataType::kInt32);
  const Tensor table = net.variable("table", {sizes.vocabulary, sizes.hidden});
  return {.table = table, .steps = net.split(net.embedding(table, words), sizes.steps, 0)};
}

Classifier learned_classifier(ModelBuilder& net, std::int64_t width, std::int64_t vocabulary) {
  const auto scope = net.scope("softmax");
  const Tensor weights = net.variable("weights", {width, vocabulary});
  const Tensor bias = net.variable("bias", {vocabulary});
  return [&net, weights, bias](Tensor x) { return net.bias_add(net.matmul(x, weights), bias); };
}

void add_softmax_losses(ModelBuilder& net, const std::vector<Tensor>& steps,
                        const Classifier& classify) {
  const auto scope = net.scope("softmax");
  std::vector<Tensor> losses;
  for (std::size_t time = 0; time < steps.size(); ++time) {
    const auto inner = net.scope(fmt::format("step_{}", time));
    const Tensor labels = net.input("labels", {net.shape(steps[time])[0]}, DataType::kInt32);
    losses.push_back(net.softmax_cross_entropy(classify(steps[time]), labels));
  }
  net.add_losses(losses);
}

}  // namespace emplace
