#include "support/graphs.hpp"

#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/grouping.hpp>

#include <gtest/gtest.h>

#include <string_view>

namespace emplace::rnnlm_test {
namespace {

using test::count_kinds;

// Weights of an LSTM layer: four gates, each of which reads input, state and a bias.
constexpr std::int64_t lstm(std::int64_t inputs, std::int64_t hidden) {
  return 4 * hidden * (inputs + hidden + 1);
}

// Zaremba et al. 2014, section 4.1: the large network has two layers of 1500 units and 35 steps on
// 10,000 words, and 66 million parameters; the medium one 650 units, and 20 million.
TEST(Rnnlm, HasTheParametersOfThePublishedNetworks) {
  const auto large = totals(load_graph("rnnlm:hidden=1500,steps=35,batch=20"));
  const auto millions = [](std::int64_t count) { return (count + 500'000) / 1'000'000; };
  EXPECT_EQ(millions(large.parameters), 66);
  EXPECT_EQ(large.parameters, 10'000 * 1500 + 2 * lstm(1500, 1500) + 1501 * 10'000);
  EXPECT_EQ(millions(totals(load_graph("rnnlm:hidden=650,steps=35,batch=20")).parameters), 20);
}

TEST(Rnnlm, HasOneCellForEachLayerAndStepAndOneSetOfWeightsForEachLayer) {
  const OpGraph graph = load_graph("rnnlm:layers=3,steps=7,hidden=16,vocabulary=50,batch=2");
  EXPECT_EQ(count_kinds(graph)["lstm_cell"], 3 * 7);
  EXPECT_EQ(count_kinds(graph)["lstm_cell_backward"], 3 * 7);
  EXPECT_EQ(count_kinds(graph)["softmax_cross_entropy"], 7);
  EXPECT_EQ(count_kinds(graph)["variable"], 1 + 3 * 2 + 2);
  EXPECT_EQ(count_kinds(graph)["optimizer_update"], 1 + 3 * 2 + 2);
}

// Forward: for each word and layer a product of 2 hidden numbers with four gates and 13 operations
// on each number of the state, 2 for dropout; for each word softmax and loss.
TEST(Rnnlm, CountsTheWorkOfEachWord) {
  constexpr std::int64_t kWords = 20 * 64;
  constexpr std::int64_t kHidden = 2048;
  constexpr std::int64_t kVocabulary = 10'000;
  const std::int64_t layer = 2 * (2 * kHidden) * (4 * kHidden) + 13 * kHidden + 2 * kHidden;
  const std::int64_t softmax = 2 * kHidden * kVocabulary + kVocabulary + 5 * kVocabulary + 2;
  const std::int64_t losses = 2 * 20 - 1;
  EXPECT_EQ(totals(load_graph("rnnlm:training=false")).flops,
            kWords * (2 * layer + softmax) + losses);
}

TEST(Rnnlm, FormsGroups) { EXPECT_EQ(group_ops(load_graph("rnnlm")).size(), kDefaultGroups); }

}  // namespace
}  // namespace emplace::rnnlm_test
