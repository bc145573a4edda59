#include "graphs/src/zoo/enas.hpp"

#include <emplace/base/check.hpp>
#include <emplace/base/random.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/graph_json.hpp>

#include <boost/range/iterator_range.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

namespace emplace::cifar10_test {
namespace {

using testing::SizeIs;

std::set<std::string> kinds_of(const OpGraph& graph) {
  std::set<std::string> kinds;
  for (const auto op : boost::make_iterator_range(boost::vertices(graph))) {
    kinds.insert(graph[op].kind);
  }
  return kinds;
}

// A hash of what is computed: names, shapes and edges, but not what the graph is called.
std::uint64_t content_of(OpGraph graph) {
  graph[boost::graph_bundle].name = "any";
  return stable_hash(write_graph_json(graph));
}

// A stem and three layers, one at each size, with 8, 16 and 32 filters. Layer 1 also reads the
// stem, halved; layer 2 the stem, halved twice.
TEST(EnasMacro, HasTheParametersOfItsLayers) {
  const std::vector<std::int64_t> architecture = {0, 1, 1, 4, 1, 0};
  const OpGraph graph = enas_macro_network(architecture, 3, {.batch = 1, .filters = 8});
  constexpr std::int64_t kStem = 3 * 9 * 8 + 2 * 8;
  constexpr std::int64_t kLayer0 = (8 * 8 + 2 * 8) + (9 * 8 * 8 + 2 * 8);
  constexpr std::int64_t kHalve8 = 2 * 8 * 8 + 2 * 16;  // two 1x1 convolutions from 8 to 8
  constexpr std::int64_t kLayer1 =
      2 * kHalve8 + (16 * 16 + 2 * 16) + (9 * 16 + 16 * 16 + 2 * 16) + (32 * 16 + 2 * 16);
  constexpr std::int64_t kHalve16 = 2 * 16 * 16 + 2 * 32;
  constexpr std::int64_t kLayer2 = 2 * kHalve16 + (32 * 32 + 2 * 32) + (64 * 32 + 2 * 32);
  EXPECT_EQ(totals(graph).parameters, kStem + kLayer0 + kLayer1 + kLayer2 + 32 * 10 + 10);
}

TEST(EnasMacro, RefusesAnArchitectureOfTheWrongLength) {
  const EnasSize size{.batch = 1, .filters = 8};
  EXPECT_THROW(enas_macro_network(std::vector<std::int64_t>{0, 1, 1, 4, 1}, 3, size),
               InternalError);
  EXPECT_THROW(enas_macro_network(std::vector<std::int64_t>{0, 1, 1, 4, 1, 0, 0}, 3, size),
               InternalError);
}

// Cells of one block: a separable 3x3 convolution of the layer before last plus a pool of the last,
// and, halving, the last layer itself plus a pool of it; the layer before last goes unread there
// and joins the result. So the five cells have 8, 32, 16, 64 and 32 channels.
TEST(EnasMicro, HasTheParametersOfItsCells) {
  const std::vector<std::int64_t> architecture = {0, 0, 1, 2, 1, 4, 1, 3};
  const OpGraph graph = enas_micro_network(architecture, 1, {.batch = 1, .filters = 8});
  const auto conv = [](std::int64_t from, std::int64_t to) { return from * to + 2 * to; };
  const auto separable = [](std::int64_t filters) {
    return 2 * (9 * filters + filters * filters + 2 * filters);
  };
  const std::int64_t stem = 3 * 9 * 24 + 2 * 24;
  // Last layer to the cell's filters, squeeze, layer before last to the cell's filters, block.
  const std::int64_t cell_0 = conv(24, 8) + conv(8, 8) + conv(24, 8) + separable(8);
  const std::int64_t cell_1 = conv(8, 16) + conv(16, 16) + conv(24, 16) + 2 * conv(16, 16);
  const std::int64_t cell_2 = conv(32, 16) + conv(16, 16) + conv(8, 16) + separable(16);
  const std::int64_t cell_3 = conv(16, 32) + conv(32, 32) + 2 * conv(32, 32);  // 32 as they are
  const std::int64_t cell_4 = conv(64, 32) + conv(32, 32) + conv(16, 32) + separable(32);
  EXPECT_EQ(totals(graph).parameters,
            stem + cell_0 + cell_1 + cell_2 + cell_3 + cell_4 + 32 * 10 + 10);
}

TEST(Cifar10, AMemberIsTheSameGraphEveryTime) {
  for (const char* name : {"cifar10", "cifar10:member=5", "cifar10:split=test,member=3,seed=7"}) {
    EXPECT_TRUE(write_graph_json(load_graph(name)) == write_graph_json(load_graph(name))) << name;
  }
  EXPECT_NE(content_of(load_graph("cifar10")), content_of(load_graph("cifar10:seed=1")));
}

TEST(Cifar10, ThirtyTwoGraphsOnEachSideAreAllDifferent) {
  std::set<std::uint64_t> contents;
  for (const std::string family : {"cifar10", "cifar10:split=test"}) {
    for (const std::string& name : expand_graphs(family)) {
      contents.insert(content_of(load_graph(name)));
    }
  }
  EXPECT_THAT(contents, SizeIs(64));
}

// A macro network has a stem, 12 layers of at most 10 ops each beside variables, and reductions; a
// micro one 8 cells of 10 steps, of 8 ops at most. A variable and its update come with most ops,
// and two ops of the backward pass.
TEST(Cifar10, MembersAreTrainingGraphsOfASensibleSize) {
  for (const std::string family : {"cifar10", "cifar10:split=test"}) {
    for (const std::string& name : expand_graphs(family)) {
      const OpGraph graph = load_graph(name);  // validates
      EXPECT_GE(num_ops(graph), 400) << name;
      EXPECT_LE(num_ops(graph), 4000) << name;
      EXPECT_GE(totals(graph).parameters, 100'000) << name;
      EXPECT_LE(totals(graph).parameters, 10'000'000) << name;
      EXPECT_TRUE(kinds_of(graph).contains("optimizer_update")) << name;
      EXPECT_LT(num_ops(load_graph(name + (name.find(':') == std::string::npos ? ":" : ",") +
                                   "training=false")),
                num_ops(graph))
          << name;
    }
  }
}

TEST(Cifar10, NothingIsComputedInVain) {
  for (const std::string& name : expand_graphs("cifar10")) {
    const OpGraph graph = load_graph(name + ",training=false");
    std::vector<std::string> unread;
    for (const auto op : boost::make_iterator_range(boost::vertices(graph))) {
      if (boost::out_degree(op, graph) == 0) {
        unread.push_back(graph[op].kind);
      }
    }
    EXPECT_THAT(unread, testing::ElementsAre("softmax_cross_entropy")) << name;
  }
}

TEST(Cifar10, DrawsFromTheSpaceThatIsAskedFor) {
  std::map<std::string, std::set<std::string>> tops;
  for (const std::string space : {"macro", "micro", "both"}) {
    for (const std::string& name : expand_graphs("cifar10:members=12,space=" + space)) {
      const OpGraph graph = load_graph(name);
      for (const auto op : boost::make_iterator_range(boost::vertices(graph))) {
        tops[space].insert(graph[op].scope.substr(0, graph[op].scope.find_first_of("_/")));
      }
    }
  }
  EXPECT_EQ(tops["macro"], (std::set<std::string>{"input", "layer", "logits", "stem"}));
  EXPECT_EQ(tops["micro"], (std::set<std::string>{"cell", "input", "logits", "stem"}));
  EXPECT_EQ(tops["both"], (std::set<std::string>{"cell", "input", "layer", "logits", "stem"}));
}

TEST(Cifar10, EveryOpOfTheSpacesOccurs) {
  std::set<std::string> kinds;
  for (const std::string& name : expand_graphs("cifar10:training=false")) {
    kinds.merge(kinds_of(load_graph(name)));
  }
  EXPECT_THAT(kinds, testing::IsSupersetOf({"conv2d", "depthwise_conv2d", "avg_pool", "max_pool",
                                            "shift2d", "concat", "add"}));
}

}  // namespace
}  // namespace emplace::cifar10_test
