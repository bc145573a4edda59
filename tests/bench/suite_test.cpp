#include <emplace/agents/registry.hpp>
#include <emplace/bench/suite.hpp>
#include <emplace/graphs/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace emplace::bench {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A suite that is valid, with some of its text replaced.
std::string suite_with(const std::string& from = "", const std::string& to = "") {
  std::string text = R"({
    "schema": "emplace-suite", "version": 1, "name": "tiny", "summary": "two agents",
    "graphs": ["inception-v3:batch=2"], "clusters": ["p2-8xlarge-2"],
    "agents": ["single-gpu", "random"], "repetitions": 2, "max_evaluations": 5, "groups": 60,
    "grouping": "heavy-edge"
  })";
  if (!from.empty()) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
  }
  return text;
}

TEST(Suite, ReadsEveryMember) {
  const Suite suite = read_suite(suite_with(), "tiny.json");
  EXPECT_EQ(suite.name, "tiny");
  EXPECT_EQ(suite.summary, "two agents");
  EXPECT_THAT(suite.graphs, ElementsAre("inception-v3:batch=2"));
  EXPECT_THAT(suite.clusters, ElementsAre("p2-8xlarge-2"));
  EXPECT_THAT(suite.agents, ElementsAre("single-gpu", "random"));
  EXPECT_EQ(suite.repetitions, 2);
  EXPECT_EQ(suite.max_evaluations, 5);
  EXPECT_EQ(suite.groups, 60);
  EXPECT_EQ(suite.grouping, "heavy-edge");
}

TEST(Suite, WithoutAGroupingItHasTheDefault) {
  const Suite suite = read_suite(suite_with(",\n    \"grouping\": \"heavy-edge\""), "s.json");
  EXPECT_EQ(suite.grouping, kDefaultGrouping);
}

TEST(Suite, StarMeansAllAgents) {
  const Suite suite = read_suite(suite_with(R"(["single-gpu", "random"])", R"("*")"), "s.json");
  EXPECT_EQ(suite.agents, agents::AgentRegistry::global().names());
}

TEST(Suite, AFamilyStandsForItsMembersAndAMemberForItself) {
  const Suite suite = read_suite(
      suite_with(R"("inception-v3:batch=2")", R"("ptb:split=test,members=2", "cifar10:member=7")"),
      "s.json");
  EXPECT_THAT(suite.graphs, ElementsAre("ptb:split=test,member=0", "ptb:split=test,member=1",
                                        "cifar10:member=7"));
  EXPECT_EQ(read_suite(write_suite(suite), "again"), suite);
}

TEST(Suite, SurvivesARoundTrip) {
  const Suite suite = read_suite(suite_with(), "tiny.json");
  EXPECT_EQ(read_suite(write_suite(suite), "again"), suite);
}

TEST(Suite, QuickstartIsInceptionOnTwoAndFourGpusWithAllAgents) {
  EXPECT_THAT(suite_names(), Contains("quickstart"));
  const Suite suite = load_suite("quickstart");
  EXPECT_THAT(suite.graphs, ElementsAre("inception-v3"));
  EXPECT_THAT(suite.clusters, ElementsAre("p2-8xlarge-2", "p2-8xlarge-4"));
  EXPECT_EQ(suite.agents, agents::AgentRegistry::global().names());
  EXPECT_EQ(suite.repetitions, 3);
}

TEST(Suite, SuggestsTheNearestShippedName) {
  try {
    load_suite("quikstart");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnknownName);
    EXPECT_THAT(error.what(), HasSubstr("did you mean 'quickstart'?"));
  }
}

struct Hostile {
  const char* name;
  std::string text;
  const char* message;  ///< part of the error
};

class HostileSuite : public ::testing::TestWithParam<Hostile> {};

TEST_P(HostileSuite, IsRefusedWithFileAndPlace) {
  try {
    read_suite(GetParam().text, "bad.json");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kFormat);
    EXPECT_THAT(error.what(), HasSubstr("bad.json"));
    EXPECT_THAT(error.what(), HasSubstr(GetParam().message));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Table, HostileSuite,
    ::testing::Values(
        Hostile{"Empty", "", ""}, Hostile{"Truncated", suite_with().substr(0, 80), ""},
        Hostile{"NotUtf8", suite_with("two agents", "two \xff agents"), ""},
        Hostile{"Array", "[]", ""},
        Hostile{"OtherSchema", suite_with("emplace-suite", "emplace-graph"), "/schema"},
        Hostile{"LaterVersion", suite_with("\"version\": 1", "\"version\": 2"), "/version"},
        Hostile{"DuplicateMember", suite_with("\"groups\": 60", "\"name\": \"other\""), "name"},
        Hostile{"UnknownMember", suite_with("repetitions", "repetition"), "repetition"},
        Hostile{"NameIsAPath", suite_with("\"tiny\"", "\"../tiny\""), "/name"},
        Hostile{"NoGraphs", suite_with("[\"inception-v3:batch=2\"]", "[]"), "/graphs"},
        Hostile{"GraphTwice",
                suite_with("[\"inception-v3:batch=2\"]", "[\"inception-v3\", \"inception-v3\"]"),
                "/graphs/1"},
        Hostile{"UnknownGraph", suite_with("inception-v3", "inception-v9"), "'inception-v3'"},
        Hostile{"UnknownParameter", suite_with("batch=2", "bacth=2"), "/graphs/0"},
        Hostile{"UnknownCluster", suite_with("p2-8xlarge-2", "p2-8xlarge-3"), "/clusters/0"},
        Hostile{"UnknownAgent", suite_with("single-gpu", "single-cpu"), "/agents/0"},
        Hostile{"OtherWildcard", suite_with(R"(["single-gpu", "random"])", "\"random\""),
                "/agents"},
        Hostile{"MistypedAgents", suite_with(R"(["single-gpu", "random"])", "7"), "/agents"},
        Hostile{"NegativeRepetitions", suite_with("\"repetitions\": 2", "\"repetitions\": -2"),
                "/repetitions"},
        Hostile{"GiganticBudget", suite_with("evaluations\": 5", "evaluations\": 1e300"),
                "/max_evaluations"},
        Hostile{"FractionOfAGroup", suite_with("\"groups\": 60", "\"groups\": 1.5"), "/groups"},
        Hostile{"UnknownGrouping", suite_with("heavy-edge", "heavy-edges"), "'heavy-edge'"},
        Hostile{"ANumberOfGroupsForAGroupingThatTakesNone", suite_with("heavy-edge", "colocation"),
                "/grouping"},
        Hostile{"NotANumber", suite_with("\"groups\": 60", "\"groups\": NaN"), ""}),
    [](const auto& hostile) { return std::string(hostile.param.name); });

}  // namespace
}  // namespace emplace::bench
