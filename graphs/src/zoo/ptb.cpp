// Recurrent cells of ENAS on the words of the Penn Treebank (Pham, Guan, Zoph, Le, Dean: Efficient
// Neural Architecture Search via Parameter Sharing, ICML 2018, arXiv 1802.03268, sections 2.1 and
// 3.1). A cell is a chain of nodes. Each transforms the result of one node before it, which the
// architecture chooses, as does its activation f: with [a, b] = s W, the node gives
// s + sigmoid(b) (f(a) - s), a highway connection. The first node reads the step's word and the
// state before; the cell gives the mean of the nodes that no other node reads. Dropout is
// variational: one mask for all steps. Words are embedded and classified by one table.
//
// Sizes are those of the authors' final training (their scripts/ptb_final.sh): 12 nodes, 748
// units, 35 steps, batch 64, plain gradient steps.
//
// Scopes: embedding, cell/step_<t>/node_<i>, softmax/step_<t>.

#include "training_model.hpp"
#include "transforms/batch_division.hpp"
#include "unrolled.hpp"

#include <emplace/graphs/graph_family.hpp>
#include <emplace/graphs/model_builder.hpp>

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace emplace::ptb_model {
namespace {

using Activation = Tensor (*)(ModelBuilder&, Tensor);

constexpr std::array<Activation, 4> kActivations = {
    [](ModelBuilder& net, Tensor x) { return net.tanh(x); },
    [](ModelBuilder& net, Tensor x) { return net.relu(x); },
    [](ModelBuilder&, Tensor x) { return x; },
    [](ModelBuilder& net, Tensor x) { return net.sigmoid(x); },
};

// One node of a cell.
struct CellNode {
  std::size_t input;       // the node before it that it reads; of the first node without meaning
  std::size_t activation;  // in kActivations
};

// A design has two integers for each node but the first, which has an activation only.
std::vector<CellNode> nodes_of(const Design& design) {
  std::vector<CellNode> nodes{{.input = 0, .activation = static_cast<std::size_t>(design[0])}};
  for (std::size_t i = 1; i < design.size(); i += 2) {
    nodes.push_back({.input = static_cast<std::size_t>(design[i]),
                     .activation = static_cast<std::size_t>(design[i + 1])});
  }
  return nodes;
}

class Cell {
 public:
  Cell(ModelBuilder& net, std::vector<CellNode> nodes, std::int64_t hidden, std::int64_t batch)
      : net_(net), nodes_(std::move(nodes)), is_read_(nodes_.size(), false) {
    const auto scope = net_.scope("cell");
    state_ = net_.input("state", {batch, hidden});
    word_mask_ = net_.input("word_mask", {batch, hidden});
    state_mask_ = net_.input("state_mask", {batch, hidden});
    result_mask_ = net_.input("result_mask", {batch, hidden});
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const std::int64_t inputs = i == 0 ? 2 * hidden : hidden;
      weights_.push_back(net_.variable(fmt::format("weights_{}", i), {inputs, 2 * hidden}));
      if (i > 0) {
        is_read_[nodes_[i].input] = true;
      }
    }
  }

  // Returns what the cell makes of the step's word, [batch, hidden].
  Tensor step(Tensor word) {
    const auto scope = net_.scope(fmt::format("cell/step_{}", time_++));
    std::vector<Tensor> results;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const auto inner = net_.scope(fmt::format("node_{}", i));
      const Tensor before = i == 0 ? state_ : results[nodes_[i].input];
      const Tensor kept = net_.multiply(before, state_mask_);
      const Tensor input =
          i == 0 ? net_.concat(std::array{net_.multiply(word, word_mask_), kept}) : kept;
      const auto halves = net_.split(net_.matmul(input, weights_[i]), 2, 1);
      const Tensor change =
          net_.subtract(kActivations[nodes_[i].activation](net_, halves[0]), before);
      results.push_back(net_.add(before, net_.multiply(net_.sigmoid(halves[1]), change)));
    }
    state_ = mean_of_unread(results);
    return net_.multiply(state_, result_mask_);
  }

 private:
  Tensor mean_of_unread(const std::vector<Tensor>& results) {
    Tensor sum = results.back();  // nothing comes after it
    bool is_single = true;
    for (std::size_t i = 0; i + 1 < results.size(); ++i) {
      if (!is_read_[i]) {
        sum = net_.add(sum, results[i]);
        is_single = false;
      }
    }
    return is_single ? sum : net_.scale(sum);
  }

  ModelBuilder& net_;
  std::vector<CellNode> nodes_;
  std::vector<bool> is_read_;    // by another node
  std::vector<Tensor> weights_;  // of each node
  Tensor state_;
  Tensor word_mask_;
  Tensor state_mask_;
  Tensor result_mask_;
  std::int64_t time_ = 0;  // of the next step
};

// As the authors write architectures: an activation, then for each further node its input and its
// activation.
Design draw(const Params& params, RandomStream& stream) {
  const auto activation = [&] {
    return static_cast<std::int64_t>(stream.below(kActivations.size()));
  };
  Design design{activation()};
  for (std::int64_t i = 1; i < params.get<std::int64_t>("nodes"); ++i) {
    design.push_back(static_cast<std::int64_t>(stream.below(static_cast<std::uint64_t>(i))));
    design.push_back(activation());
  }
  return design;
}

OpGraph step(const Params& params, const Design& design, std::int64_t batch) {
  const UnrolledSizes sizes = unrolled_sizes(params);
  ModelBuilder net("ptb", "Pham et al. 2018, arXiv 1802.03268");
  const EmbeddedWords words = embed_words(net, "embedding", sizes, batch);
  Cell cell(net, nodes_of(design), sizes.hidden, batch);
  std::vector<Tensor> results;
  results.reserve(words.steps.size());
  for (const Tensor word : words.steps) {
    results.push_back(cell.step(word));
  }
  add_softmax_losses(net, results,
                     [&](Tensor x) { return net.matmul(x, words.table, {.right = true}); });
  return model_step(std::move(net).finish(), params);
}

OpGraph build(const Params& params, const Design& design) {
  return divide_batch(params, params.get<std::int64_t>("batch"),
                      [&](std::int64_t examples) { return step(params, design, examples); });
}

const GraphRegistration kRegistration(family_model({
    .name = "ptb",
    .summary = "language models with random recurrent cells of ENAS",
    .reference = "Pham et al. 2018, arXiv 1802.03268; Addanki et al. 2019, arXiv 1906.08879",
    .parameters = training_parameters(
        unrolled_parameters(whole_number("nodes", 12, 1, 100, "nodes of a cell"),
                            {.hidden = 748, .vocabulary = 10'000, .steps = 35}),
        64, "sentences", "sgd"),
    .draw = draw,
    .build = build,
}));

}  // namespace
}  // namespace emplace::ptb_model
