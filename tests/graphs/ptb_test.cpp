#include "support/graphs.hpp"

#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/grouping.hpp>

#include <boost/range/iterator_range.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace emplace::ptb_test {
namespace {

using test::count_kinds;
using testing::SizeIs;

const std::string kSmall = ",hidden=8,vocabulary=11,steps=3,batch=2";

OpGraph member(int index, const std::string& given = kSmall) {
  return load_graph("ptb:member=" + std::to_string(index) + given);
}

// What is computed and from what: the kind of each op, and each edge.
using Structure = std::pair<std::vector<std::string>, std::vector<std::vector<OpId>>>;

Structure structure_of(const OpGraph& graph) {
  Structure structure;
  for (const auto op : boost::make_iterator_range(boost::vertices(graph))) {
    structure.first.push_back(graph[op].kind);
  }
  for (const auto edge : boost::make_iterator_range(boost::edges(graph))) {
    structure.second.push_back({static_cast<OpId>(boost::source(edge, graph)),
                                static_cast<OpId>(boost::target(edge, graph)), graph[edge].output});
  }
  return structure;
}

std::set<Structure> structures(const std::string& split) {
  std::set<Structure> result;
  for (int i = 0; i < 32; ++i) {
    result.insert(structure_of(member(i, kSmall + ",split=" + split)));
  }
  return result;
}

TEST(Ptb, MembersAreDifferentGraphsAndNoneIsOnBothSides) {
  const auto train = structures("train");
  const auto test = structures("test");
  EXPECT_THAT(train, SizeIs(32));
  EXPECT_THAT(test, SizeIs(32));
  for (const Structure& structure : test) {
    EXPECT_FALSE(train.contains(structure));
  }
  EXPECT_EQ(structure_of(member(7)), structure_of(member(7)));
}

TEST(Ptb, EachOfTheFirst32IsAValidTrainingGraphAtFullSize) {
  for (int i = 0; i < 32; ++i) {
    for (const std::string split : {"train", "test"}) {
      const OpGraph graph = member(i, ",split=" + split);  // validated by the catalog
      EXPECT_EQ(count_kinds(graph)["optimizer_update"], 1 + 12) << split << i;
      EXPECT_EQ(count_kinds(graph)["variable"], 1 + 12) << split << i;
    }
  }
}

// A node's weights make two numbers of each of a state: what it becomes, and by how much. The first
// node reads the word beside the state. The table of words is the classifier, too.
TEST(Ptb, HasTheParametersOfItsFormula) {
  constexpr std::int64_t kHidden = 748;
  EXPECT_EQ(totals(member(5, "")).parameters,
            10'000 * kHidden + 2 * kHidden * 2 * kHidden + 11 * kHidden * 2 * kHidden);
  EXPECT_EQ(totals(member(0, ",nodes=1,hidden=8,vocabulary=11,steps=3,batch=2")).parameters,
            11 * 8 + 16 * 16);
}

TEST(Ptb, EveryStepHasTheSameCell) {
  const OpGraph graph = member(3, kSmall + ",training=false");
  std::map<std::string, std::vector<std::string>> kinds_in;
  for (const auto op : boost::make_iterator_range(boost::vertices(graph))) {
    kinds_in[graph[op].scope].push_back(graph[op].kind);
  }
  for (int i = 0; i < 12; ++i) {
    const std::string node = "/node_" + std::to_string(i);
    ASSERT_TRUE(kinds_in.contains("cell/step_0" + node));
    EXPECT_EQ(kinds_in["cell/step_0" + node], kinds_in["cell/step_2" + node]);
  }
  EXPECT_EQ(count_kinds(graph)["lstm_cell"], 0);
}

// s_i = s_j + sigmoid(b) (f(a) - s_j) with [a, b] = s_j W_i, for some j before i. Nodes that none
// reads are added up: with u of them, the cell has u - 1 additions of its own.
TEST(Ptb, ANodeReadsOneNodeBeforeItAndTheUnreadAreTheResult) {
  for (int index = 0; index < 8; ++index) {
    const OpGraph graph = member(index, kSmall + ",training=false");
    std::set<std::string> read;
    std::int64_t additions = 0;
    for (const auto op : boost::make_iterator_range(boost::vertices(graph))) {
      additions += graph[op].kind == "add" && graph[op].scope == "cell/step_1";
      const std::string prefix = "cell/step_1/node_";
      if (graph[op].kind != "subtract" || !graph[op].scope.starts_with(prefix)) {
        continue;
      }
      const int node = std::stoi(graph[op].scope.substr(prefix.size()));
      const std::vector<std::string> inputs = test::producers_of(graph, graph[op].name);
      ASSERT_EQ(inputs.size(), 2U);
      if (node > 0) {
        EXPECT_TRUE(inputs[1].starts_with(prefix) && inputs[1].ends_with("/add")) << inputs[1];
        EXPECT_LT(std::stoi(inputs[1].substr(prefix.size())), node);
        read.insert(inputs[1]);
      }
    }
    EXPECT_EQ(additions, 12 - std::ssize(read) - 1);
  }
}

TEST(Ptb, FormsGroups) { EXPECT_EQ(group_ops(member(0, "")).size(), kDefaultGroups); }

}  // namespace
}  // namespace emplace::ptb_test
