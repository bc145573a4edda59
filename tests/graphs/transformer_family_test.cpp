// The families of transformers and of all families together.

#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/graph_family.hpp>

#include <boost/range/iterator_range.hpp>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace emplace::transformer_family_test {
namespace {

using testing::AllOf;
using testing::Ge;
using testing::Le;
using testing::SizeIs;

// What tells two members apart.
struct Member {
  int layers = 0;
  std::int64_t batch = 0;
  std::int64_t sequence = 0;
  std::int64_t heads = 0;
  bool causal = false;

  auto operator<=>(const Member&) const = default;
};

Member member_of(const OpGraph& graph) {
  Member member;
  for (const auto op : boost::make_iterator_range(boost::vertices(graph))) {
    if (graph[op].kind == "softmax") {
      ++member.layers;
      const auto& shape = graph[op].outputs[0].shape;  // [batch, heads, sequence, sequence]
      member.batch = shape.at(0);
      member.heads = shape.at(1);
      member.sequence = shape.at(2);
    }
    member.causal = member.causal || graph[op].kind == "causal_mask";
  }
  return member;
}

std::set<Member> members(const std::string& spec) {
  std::set<Member> result;
  for (const std::string& name : expand_graphs(spec)) {
    result.insert(member_of(load_graph(name)));
  }
  return result;
}

TEST(TransformerFamily, TrainsOn32TransformersOfEverySize) {
  const std::set<Member> all = members("transformer-family");
  EXPECT_THAT(all, SizeIs(32));
  std::set<int> layers;
  std::set<std::int64_t> heads;
  std::set<bool> causal;
  for (const Member& member : all) {
    EXPECT_THAT(member.layers, AllOf(Ge(3), Le(12)));
    EXPECT_THAT(member.heads, AllOf(Ge(4), Le(16)));
    EXPECT_THAT(member.sequence, AllOf(Ge(128), Le(512)));
    EXPECT_THAT(member.batch, AllOf(Ge(8), Le(32)));
    layers.insert(member.layers);
    heads.insert(member.heads);
    causal.insert(member.causal);
  }
  EXPECT_THAT(layers.size(), Ge(8U));  // of ten
  EXPECT_THAT(heads.size(), Ge(9U));   // of thirteen
  EXPECT_THAT(causal, SizeIs(2));
}

TEST(TransformerFamily, NoTransformerIsOnBothSides) {
  const std::set<Member> train = members("transformer-family");
  for (const Member& member : members("transformer-family:split=test,seed=1")) {
    EXPECT_FALSE(train.contains(member));
  }
}

TEST(TransformerFamily, SizesAreTheMost) {
  for (const Member& member :
       members("transformer-family:layers=4,heads=4,sequence=64,batch=4,members=20")) {
    EXPECT_THAT(member.layers, AllOf(Ge(1), Le(4)));
    EXPECT_THAT(member.heads, AllOf(Ge(1), Le(4)));
    EXPECT_THAT(member.sequence, AllOf(Ge(16), Le(64)));
    EXPECT_THAT(member.batch, AllOf(Ge(1), Le(4)));
  }
}

TEST(TransformerFamily, AMemberHasTheParametersOfItsSizes) {
  for (const std::string& name : expand_graphs("transformer-family:members=5")) {
    const OpGraph graph = load_graph(name + ",training=false");
    const Member member = member_of(graph);
    const std::int64_t width = 64 * member.heads;
    // As GPT-2: 12 d^2 + 13 d for each layer, and the last normalization.
    EXPECT_EQ(totals(graph).parameters, 32000 * width + member.sequence * width +
                                            member.layers * (12 * width * width + 13 * width) +
                                            2 * width)
        << name;
  }
}

TEST(Mixed, TakesMembersOfItsFamiliesInTurn) {
  const std::vector<std::string> names = {"cifar10", "nmt-family", "ptb", "transformer-family"};
  EXPECT_THAT(expand_graphs("mixed"), SizeIs(32));
  for (const std::string split : {"train", "test"}) {
    for (std::size_t i = 0; i < 2 * names.size(); ++i) {
      const OpGraph mixed = load_graph(fmt::format("mixed:split={},member={},seed=3", split, i));
      const OpGraph own = load_graph(fmt::format("{}:split={},member={},seed=3",
                                                 names[i % names.size()], split, i / names.size()));
      EXPECT_EQ(num_ops(mixed), num_ops(own)) << split << i;
      EXPECT_EQ(totals(mixed).flops, totals(own).flops) << split << i;
    }
  }
}

}  // namespace
}  // namespace emplace::transformer_family_test
