#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/side_by_side.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

namespace emplace::side_by_side_test {
namespace {

using testing::ElementsAre;

TEST(SideBySide, IsNamedByThePartsOfAText) {
  EXPECT_THAT(split_graphs("rnnlm"), ElementsAre("rnnlm"));
  EXPECT_THAT(split_graphs("a+b.json"), ElementsAre("a+b.json"));
  EXPECT_THAT(split_graphs("a:x=1 + ./b.json + c"), ElementsAre("a:x=1", "./b.json", "c"));
  EXPECT_THAT(part_names(std::vector<std::string>{"a:x=1", "./m/a.json", "b", "a"}),
              ElementsAre("a", "a_2", "b", "a_3"));
  EXPECT_EQ(join_graphs(split_graphs("a:x=1 + ./b.json + c")), "a:x=1 + ./b.json + c");
  EXPECT_TRUE(names_several_graphs("a + b"));
  EXPECT_FALSE(names_several_graphs("a"));
}

TEST(SideBySide, HoldsEachGraphAsItIs) {
  const std::string text = "rnnlm:batch=2,steps=2 + in-tree + in-tree";
  const OpGraph whole = load_graph(text);
  EXPECT_EQ(whole[boost::graph_bundle].name, text);
  const std::vector<std::string> graphs = split_graphs(text);
  const std::vector<std::string> names = part_names(graphs);
  std::size_t first = 0;
  for (std::size_t at = 0; at < graphs.size(); ++at) {
    const OpGraph part = load_graph(graphs[at]);
    for (std::size_t op = 0; op < boost::num_vertices(part); ++op) {
      Op copy = whole[first + op];
      const Op& original = part[op];
      EXPECT_EQ(copy.name, names[at] + "/" + original.name);
      EXPECT_EQ(copy.scope, original.scope.empty() ? names[at] : names[at] + "/" + original.scope);
      EXPECT_EQ(copy.colocation,
                original.colocation.empty() ? "" : names[at] + "/" + original.colocation);
      EXPECT_EQ(copy.flops, original.flops);
      // The same inputs, in the same order.
      auto [edge, end] = boost::in_edges(first + op, whole);
      for (auto [known, last] = boost::in_edges(op, part); known != last; ++known, ++edge) {
        ASSERT_NE(edge, end);
        EXPECT_EQ(boost::source(*edge, whole), first + boost::source(*known, part));
        EXPECT_EQ(whole[*edge].output, part[*known].output);
      }
      EXPECT_EQ(edge, end);
    }
    first += boost::num_vertices(part);
  }
  EXPECT_EQ(first, boost::num_vertices(whole));
  validate(whole, text);
}

}  // namespace
}  // namespace emplace::side_by_side_test
