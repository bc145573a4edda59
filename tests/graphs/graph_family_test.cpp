#include <emplace/base/error.hpp>
#include <emplace/graphs/graph_family.hpp>
#include <emplace/graphs/model_builder.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

namespace emplace::graph_family_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

// Towers of 1 to `highest` relus.
GraphFamily towers() {
  return {
      .name = "towers",
      .summary = "relus in a row",
      .reference = "none",
      .parameters = {{.name = "highest", .default_value = std::int64_t{100}, .min = 1, .max = 1e9}},
      .draw =
          [](const Params& params, RandomStream& stream) {
            const auto highest = static_cast<std::uint64_t>(params.get<std::int64_t>("highest"));
            return Design{1 + static_cast<std::int64_t>(stream.below(highest))};
          },
      .build =
          [](const Params&, const Design& design) {
            ModelBuilder net("tower");
            Tensor x = net.input("x", {1, 8});
            for (std::int64_t i = 0; i < design.at(0); ++i) {
              x = net.relu(x);
            }
            return std::move(net).finish();
          }};
}

Design design(const std::string& given) {
  const GraphFamily family = towers();
  return member_design(family, resolve_params(with_members(family.parameters),
                                              Spec::parse("towers" + given), "graph towers"));
}

std::set<Design> designs(const std::string& given, int members) {
  std::set<Design> result;
  for (int i = 0; i < members; ++i) {
    result.insert(design(given + ",member=" + std::to_string(i)));
  }
  return result;
}

TEST(GraphFamily, AMemberIsTheSameGraphEveryTimeAndMembersDiffer) {
  EXPECT_EQ(design(":member=7"), design(":member=7,members=3"));
  EXPECT_EQ(design(""), design(":member=0,split=train,seed=0"));
  EXPECT_THAT(designs(":split=train", 50), SizeIs(50));
  EXPECT_NE(designs(":split=train", 10), designs(":split=train,seed=1", 10));
}

// 40 designs, drawn to the last on both sides and from two seeds: together they are all designs,
// and none is on both sides.
TEST(GraphFamily, NoGraphIsOnBothSidesOfTheSplitWhateverTheSeed) {
  std::map<std::string, std::set<Design>> sides;
  for (const std::string split : {"train", "test"}) {
    for (const std::string seed : {"0", "1"}) {
      const std::string given = ":highest=40,split=" + split + ",seed=" + seed;
      std::set<Design> all;
      for (int member = 0;; ++member) {
        try {
          all.insert(design(given + ",member=" + std::to_string(member)));
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), ErrorCode::kUsage);
          EXPECT_THAT(error.what(), HasSubstr("only " + std::to_string(member) + " graphs"));
          break;
        }
      }
      auto [side, first] = sides.try_emplace(split, all);
      EXPECT_EQ(side->second, all) << split;
    }
  }
  EXPECT_EQ(sides["train"].size() + sides["test"].size(), 40U);
  sides["train"].merge(sides["test"]);
  EXPECT_THAT(sides["train"], SizeIs(40));
}

// Of n designs three quarters are for training: 750 of 1000 give or take 4 standard deviations, 55.
TEST(GraphFamily, ThreeOfFourDesignsAreForTraining) {
  const auto training = designs(":highest=1000,split=train", 695);
  EXPECT_THAT(training, SizeIs(695));
  EXPECT_THROW(design(":highest=1000,split=train,member=805"), Error);
}

TEST(GraphFamily, ItsModelBuildsTheMemberAndIsKnownAsAFamily) {
  GraphCatalog catalog;
  catalog.add(family_model(towers()));
  EXPECT_TRUE(catalog.find("towers").is_family);
  const OpGraph graph = catalog.build(Spec::parse("towers:highest=9,split=test"));
  EXPECT_EQ(num_ops(graph) - 1, design(":highest=9,split=test")[0]);
  EXPECT_EQ(graph[boost::graph_bundle].name, "towers:highest=9,split=test");
}

TEST(ExpandGraphs, AGraphThatIsNoFamilyStandsForItself) {
  EXPECT_THAT(expand_graphs("inception-v3:batch=8"), ElementsAre("inception-v3:batch=8"));
  EXPECT_THAT(expand_graphs("folder/graph.json"), ElementsAre("folder/graph.json"));
  EXPECT_THROW(expand_graphs("inception-v3:batch=0"), Error);
  EXPECT_THROW(expand_graphs("inception"), Error);
}

// The global catalog has what other tests may not add to, so this test's family has a name of its
// own.
const GraphRegistration kTowers(family_model(towers()));

TEST(ExpandGraphs, AFamilyStandsForItsMembers) {
  EXPECT_THAT(expand_graphs("towers"), SizeIs(32));
  EXPECT_THAT(expand_graphs("towers:split=test,members=2,highest=50"),
              ElementsAre("towers:split=test,highest=50,member=0",
                          "towers:split=test,highest=50,member=1"));
  EXPECT_THAT(expand_graphs("towers:members=7,member=3"), ElementsAre("towers:members=7,member=3"));
  EXPECT_THAT(expand_graphs(std::vector<std::string>{"towers:members=2", "nmt"}),
              ElementsAre("towers:member=0", "towers:member=1", "nmt"));
}

}  // namespace
}  // namespace emplace::graph_family_test
