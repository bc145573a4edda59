#include "support/errors.hpp"

#include <emplace/agents/registry.hpp>
#include <emplace/bench/cell.hpp>
#include <emplace/bench/suite.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <stdexcept>
#include <string>

namespace emplace::bench::suite_test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

std::vector<std::string> graphs_of(const Suite& suite) {
  std::vector<std::string> names;
  names.reserve(suite.graphs.size());
  for (const SuiteGraph& graph : suite.graphs) {
    names.push_back(graph.graph);
  }
  return names;
}

std::vector<std::string> labels_of(const Suite& suite) {
  std::vector<std::string> labels;
  labels.reserve(suite.agents.size());
  for (const SuiteAgent& agent : suite.agents) {
    labels.push_back(agent.label());
  }
  return labels;
}

const Published& published_of(const Suite& suite) {
  if (!suite.published) {
    throw std::runtime_error("the suite has no published figures");
  }
  return *suite.published;
}

// A suite that is valid, with some of its text replaced.
std::string suite_with(const std::string& from = "", const std::string& to = "") {
  return test::with(R"({
    "schema": "emplace-suite", "version": 1, "name": "tiny", "summary": "two agents",
    "graphs": ["inception-v3:batch=2"], "clusters": ["p2-8xlarge-2"],
    "agents": ["single-gpu", "random"], "repetitions": 2, "max_evaluations": 5, "groups": 60,
    "grouping": "heavy-edge"
  })",
                    from, to);
}

TEST(Suite, ReadsEveryMember) {
  const Suite suite = read_suite(suite_with(), "tiny.json");
  EXPECT_EQ(suite.name, "tiny");
  EXPECT_EQ(suite.summary, "two agents");
  EXPECT_THAT(graphs_of(suite), ElementsAre("inception-v3:batch=2"));
  EXPECT_THAT(suite.clusters, ElementsAre("p2-8xlarge-2"));
  EXPECT_THAT(labels_of(suite), ElementsAre("single-gpu", "random"));
  EXPECT_EQ(suite.repetitions, 2);
  EXPECT_EQ(suite.max_evaluations, 5);
  EXPECT_EQ(suite.groups, 60);
  EXPECT_EQ(suite.grouping, "heavy-edge");
}

TEST(Suite, WithoutAGroupingItFollowsFromTheGroups) {
  Suite suite = read_suite(suite_with(",\n    \"grouping\": \"heavy-edge\""), "s.json");
  EXPECT_EQ(suite.grouping, "");
  EXPECT_EQ(suite.grouping_of(suite.graphs.front()), "neighbours");
  suite.groups = 0;
  EXPECT_EQ(suite.grouping_of(suite.graphs.front()), "colocation");
}

TEST(Suite, AGraphMayBePlacedOnSomeOfTheClusters) {
  const Suite suite = read_suite(
      suite_with(R"("graphs": ["inception-v3:batch=2"], "clusters": ["p2-8xlarge-2"])",
                 R"("graphs": [{"graph": "nmt", "clusters": ["p2-8xlarge-4"]}, "inception-v3"],
                    "clusters": ["p2-8xlarge-2", "p2-8xlarge-4"])"),
      "s.json");
  EXPECT_FALSE(suite.graphs[0].is_placed_on("p2-8xlarge-2"));
  EXPECT_TRUE(suite.graphs[0].is_placed_on("p2-8xlarge-4"));
  EXPECT_TRUE(suite.graphs[1].is_placed_on("p2-8xlarge-2"));
  EXPECT_EQ(suite.groups_of(suite.graphs[0]), 60) << "that of the suite";
  EXPECT_EQ(read_suite(write_suite(suite), "again"), suite);
  std::map<std::string, int> cells;  // single-gpu once and random twice on each
  for (const Cell& cell : cells_of(suite, 1)) {
    ++cells[cell.graph + " " + cell.cluster];
  }
  EXPECT_THAT(
      cells, ElementsAre(Pair("inception-v3 p2-8xlarge-2", 3), Pair("inception-v3 p2-8xlarge-4", 3),
                         Pair("nmt p2-8xlarge-4", 3)));
}

TEST(Suite, AgentsAreThereWithEachBudgetUnlessTheyAreDeterministic) {
  const Suite suite = read_suite(
      suite_with(R"("agents": ["single-gpu", "random"], "repetitions": 2, "max_evaluations": 5)",
                 R"("agents": ["single-gpu", "random", {"agent": "mcmc", "name": "few"},
                               {"agent": "hill-climb", "max_evaluations": 9}],
                    "max_evaluations": [1, 7, 20])"),
      "s.json");
  EXPECT_THAT(labels_of(suite), ElementsAre("single-gpu", "random, 1", "random, 7", "random, 20",
                                            "few, 1", "few, 7", "few, 20", "hill-climb"));
  EXPECT_EQ(suite.max_evaluations, 20);
  EXPECT_EQ(suite.evaluations_of(suite.agents[0]), 20);
  EXPECT_EQ(suite.evaluations_of(suite.agents[2]), 7);
  EXPECT_EQ(suite.evaluations_of(suite.agents[7]), 9);
  EXPECT_EQ(read_suite(write_suite(suite), "again"), suite);
  const Suite all =
      read_suite(suite_with(R"(["single-gpu", "random"], "repetitions": 2, "max_evaluations": 5)",
                            R"("*", "max_evaluations": [1, 7])"),
                 "s.json");
  EXPECT_THAT(labels_of(all), ::testing::AllOf(Contains("heft"), Contains("hill-climb, 7")));
  for (const char* const budgets : {"[]", "[0]", "[7, 7]", "[7, 1]", "[1.5]", "\"5\""}) {
    SCOPED_TRACE(budgets);
    const std::string text =
        suite_with("\"max_evaluations\": 5", fmt::format("\"max_evaluations\": {}", budgets));
    EXPECT_THAT(test::error_of(ErrorCode::kFormat, [&] { read_suite(text, "s.json"); }),
                HasSubstr("s.json: /max_evaluations"));
  }
}

TEST(Suite, AnAgentMayHaveAGroupingOfItsOwn) {
  const Suite suite = read_suite(
      suite_with(R"(["single-gpu", "random"])",
                 R"(["random", {"agent": "random", "name": "fine", "grouping": "colocation"},
                     {"agent": "random", "name": "other", "grouping": "neighbours"}])"),
      "s.json");
  const SuiteGraph& graph = suite.graphs.front();
  EXPECT_EQ(suite.grouping_of(graph, suite.agents[0]), "heavy-edge");
  EXPECT_EQ(suite.groups_of(graph, suite.agents[0]), 60);
  EXPECT_EQ(suite.grouping_of(graph, suite.agents[1]), "colocation");
  EXPECT_EQ(suite.groups_of(graph, suite.agents[1]), 0) << "it takes no target";
  EXPECT_EQ(suite.groups_of(graph, suite.agents[2]), 60);
  EXPECT_EQ(read_suite(write_suite(suite), "again"), suite);

  std::set<std::string> ids;
  for (const Cell& cell : cells_of(suite, 1)) {
    ids.insert(cell.id());
  }
  EXPECT_EQ(ids.size(), 6U);
}

TEST(Suite, StarMeansAllAgentsThatNeedNoProgram) {
  const Suite suite = read_suite(suite_with(R"(["single-gpu", "random"])", R"("*")"), "s.json");
  std::vector<std::string> names = agents::AgentRegistry::global().names();
  EXPECT_EQ(std::erase(names, "exec"), 1U);
  EXPECT_EQ(labels_of(suite), names);
}

TEST(Suite, AFamilyStandsForItsMembersAndAMemberForItself) {
  const Suite suite = read_suite(
      suite_with(R"("inception-v3:batch=2")", R"("ptb:split=test,members=2", "cifar10:member=7")"),
      "s.json");
  EXPECT_THAT(graphs_of(suite), ElementsAre("ptb:split=test,member=0", "ptb:split=test,member=1",
                                            "cifar10:member=7"));
  EXPECT_EQ(read_suite(write_suite(suite), "again"), suite);
}

TEST(Suite, EntriesMayBeObjectsWithGroupsNamesAndBudgetsOfTheirOwn) {
  const Suite suite =
      read_suite(suite_with(R"(["inception-v3:batch=2"])",
                            R"(["nmt", {"graph": "cifar10:members=2", "groups": 90}])"),
                 "s.json");
  EXPECT_EQ(suite.groups_of(suite.graphs[0]), 60);
  EXPECT_EQ(suite.groups_of(suite.graphs[1]), 90);
  EXPECT_EQ(suite.groups_of(suite.graphs[2]), 90);
  EXPECT_EQ(read_suite(write_suite(suite), "again"), suite);

  const Suite other = read_suite(
      suite_with(R"(["single-gpu", "random"])",
                 R"(["random", {"agent": "random", "name": "patient", "max_evaluations": 9}])"),
      "s.json");
  EXPECT_THAT(labels_of(other), ElementsAre("random", "patient"));
  EXPECT_EQ(other.evaluations_of(other.agents[0]), 5);
  EXPECT_EQ(other.evaluations_of(other.agents[1]), 9);
  EXPECT_EQ(read_suite(write_suite(other), "again"), other);
}

// Baselines and published figures of a suite.
constexpr const char* kPublished = R"("baselines": ["random"], "published": {
    "source": "someone", "recalled": true, "comment": "other machine", "figures": [
      {"graph": "inception-v3:batch=2", "cluster": "p2-8xlarge-2", "agent": "random",
       "step_time_s": 1.5, "evaluations": 800},
      {"graph": "inception-v3:batch=2", "cluster": "p2-8xlarge-2", "agent": "single-gpu",
       "step_time_s": "out of memory"}]}, "repetitions": 2)";

std::string suite_with_published(const std::string& from = "", const std::string& to = "") {
  return test::with(suite_with("\"repetitions\": 2", kPublished), from, to);
}

TEST(Suite, HoldsPublishedFigures) {
  const Suite suite = read_suite(suite_with_published(), "s.json");
  EXPECT_THAT(suite.baselines, ElementsAre("random"));
  EXPECT_TRUE(published_of(suite).recalled);
  ASSERT_EQ(published_of(suite).figures.size(), 2U);
  EXPECT_EQ(published_of(suite).figures[0].step_time_s, 1.5);
  EXPECT_EQ(published_of(suite).figures[0].evaluations, 800);
  EXPECT_EQ(published_of(suite).figures[1].step_time_s, std::nullopt);  // out of memory
  EXPECT_EQ(read_suite(write_suite(suite), "again"), suite);
}

// A suite with a family and a policy, with some of its text replaced.
std::string suite_of_families(const std::string& from = "", const std::string& to = "") {
  return test::with(R"({
    "schema": "emplace-suite", "version": 1, "name": "held-out",
    "families": [{"name": "cells", "groups": 20, "train": ["cifar10:members=2"],
                  "test": ["cifar10:split=test,members=2"]}],
    "clusters": ["p2-8xlarge-2"],
    "policies": [{"name": "net", "agent": "placeto:preset=released,rounds=1", "episodes": 3}],
    "agents": ["random", {"policy": "net", "learns": false, "name": "zero-shot"},
               {"policy": "net", "agent": "placeto:preset=released,rounds=1,entropy-weight=0", "max_evaluations": 9}]
  })",
                    from, to);
}

TEST(Suite, AFamilyHasGraphsToTrainAndOthersToTestOn) {
  const Suite suite = read_suite(suite_of_families(), "s.json");
  EXPECT_THAT(graphs_of(suite),
              ElementsAre("cifar10:split=test,member=0", "cifar10:split=test,member=1"));
  EXPECT_EQ(suite.graphs[0].family, "cells");
  EXPECT_EQ(suite.groups_of(suite.graphs[0]), 20);
  ASSERT_EQ(suite.families.size(), 1U);
  EXPECT_THAT(suite.families[0].train, ElementsAre("cifar10:member=0", "cifar10:member=1"));
  EXPECT_EQ(read_suite(write_suite(suite), "again"), suite);
}

TEST(Suite, APolicyMayBeTheBestByValidationGraphs) {
  const Suite suite = read_suite(
      test::with(suite_of_families("\"episodes\": 3", "\"episodes\": 3, \"validated\": true"),
                 R"("train": ["cifar10:members=2"],)",
                 R"("train": ["cifar10:members=2"], "validation": ["cifar10:member=2"],)"),
      "s.json");
  EXPECT_THAT(suite.families[0].validation, ElementsAre("cifar10:member=2"));
  EXPECT_TRUE(suite.policies[0].validated);
  EXPECT_EQ(read_suite(write_suite(suite), "again"), suite);
}

TEST(Suite, AgentsWithAPolicyAreThoseOfThePolicyUnlessTheySayMore) {
  const Suite suite = read_suite(suite_of_families(), "s.json");
  ASSERT_EQ(suite.policies.size(), 1U);
  EXPECT_EQ(suite.policies[0].episodes, 3);
  ASSERT_EQ(suite.agents.size(), 3U);
  EXPECT_TRUE(suite.agents[0].policy.empty());
  EXPECT_EQ(suite.agents[1].agent, "placeto:preset=released,rounds=1");
  EXPECT_EQ(suite.agents[1].policy, "net");
  EXPECT_FALSE(suite.agents[1].learns);
  EXPECT_EQ(suite.agents[2].agent, "placeto:preset=released,rounds=1,entropy-weight=0");
  EXPECT_TRUE(suite.agents[2].learns);
}

TEST(Suite, TheShippedSuitesOfThePaperCanBeRead) {
  for (const std::string name : {"paper-table-1", "paper-table-1-quick"}) {
    const Suite suite = load_suite(name);
    EXPECT_GE(suite.repetitions, 3);
    EXPECT_TRUE(published_of(suite).recalled);
    EXPECT_THAT(graphs_of(suite), ElementsAre("inception-v3", "nasnet-a-large", "nmt"));
  }
  for (const std::string name : {"paper-generalization", "paper-generalization-quick"}) {
    const Suite suite = load_suite(name);
    EXPECT_EQ(suite.families.size(), 3U);
    EXPECT_FALSE(suite.policies.empty());
    EXPECT_THAT(suite.baselines, ElementsAre("learned-search zero-shot, 257"));
  }
}

TEST(Suite, TakesMembersThatItLacksFromTheSuiteThatItExtends) {
  const Suite full = load_suite("paper-table-1");
  const Suite suite = read_suite(R"({"schema": "emplace-suite", "version": 1, "name": "smaller",
                                     "extends": "paper-table-1", "repetitions": 1})",
                                 "s.json");
  EXPECT_EQ(suite.name, "smaller");
  EXPECT_EQ(suite.repetitions, 1);
  EXPECT_EQ(suite.summary, full.summary);
  EXPECT_EQ(suite.graphs, full.graphs);
  EXPECT_EQ(suite.agents, full.agents);
  EXPECT_EQ(suite.published, full.published);
  // A copy is complete.
  EXPECT_THAT(write_suite(suite), testing::Not(HasSubstr("extends")));
  EXPECT_EQ(read_suite(write_suite(suite), "again"), suite);
}

Suite extending(const std::string& extended, const std::string& members) {
  return read_suite(R"({"schema": "emplace-suite", "version": 1, "name": "smaller", "extends": ")" +
                        extended + "\", " + members + "}",
                    "s.json");
}

TEST(Suite, MayExtendOneThatExtendsAnother) {
  const Suite quick = load_suite("paper-table-1-quick");
  const Suite suite = extending("paper-table-1-quick", R"("repetitions": 1)");
  EXPECT_EQ(suite.agents, quick.agents);
  EXPECT_EQ(suite.published, quick.published);
}

TEST(Suite, LeavesOutWhatItsFewerGraphsClustersAndAgentsDoNotUse) {
  const Suite full = load_suite("paper-table-1");
  const Suite suite = extending("paper-table-1", R"("clusters": ["p2-8xlarge-2"], "graphs": ["nmt"],
                                                    "agents": ["single-gpu", "metis", "heft"])");
  EXPECT_THAT(full.baselines, testing::Not(testing::IsEmpty()));
  EXPECT_THAT(published_of(suite).figures, testing::Not(testing::IsEmpty()));
  for (const PublishedFigure& figure : published_of(suite).figures) {
    EXPECT_EQ(figure.graph, "nmt");
    EXPECT_EQ(figure.cluster, "p2-8xlarge-2");
    EXPECT_THAT(figure.agent, testing::AnyOf("single-gpu", "metis", "heft"));
  }
  EXPECT_EQ(read_suite(write_suite(suite), "again"), suite);
  const Suite without = extending("paper-table-1", R"("graphs": ["cifar10:member=1"])");
  EXPECT_FALSE(without.published);

  const Suite held_out = load_suite("paper-generalization-quick");
  const std::string policy = held_out.policies.front().name;
  const Suite one = extending("paper-generalization-quick",
                              R"("agents": ["heft", {"policy": ")" + policy + R"("}])");
  ASSERT_EQ(one.policies.size(), 1U);
  EXPECT_EQ(one.policies.front().name, policy);
  EXPECT_THAT(one.baselines, testing::IsEmpty());
}

TEST(Suite, NullRemovesWhatItExtends) {
  const Suite suite = extending("paper-table-1", R"("published": null, "baselines": null)");
  EXPECT_FALSE(suite.published);
  EXPECT_THAT(suite.baselines, testing::IsEmpty());
}

TEST(Suite, GivesAgentsOfOneLabelDistinctNames) {
  const Suite suite = extending("paper-generalization-quick", R"(
      "policies": [{"name": "transfer", "agent": "learned-search", "episodes": 5}],
      "agents": [{"policy": "transfer", "learns": false}, {"policy": "transfer"}, "random",
                 {"agent": "random", "max_evaluations": 5}, "heft"])");
  EXPECT_THAT(labels_of(suite), ElementsAre("transfer zero-shot", "transfer fine-tuned", "random",
                                            "random, 5", "heft"));
  EXPECT_EQ(read_suite(write_suite(suite), "again"), suite);
}

// The suites heuristics and parallelism have the others. Networks that take minutes are in none.
TEST(Suite, QuickstartIsInceptionOnTwoAndFourGpusWithAgentsOfAllKinds) {
  EXPECT_THAT(suite_names(), Contains("quickstart"));
  const Suite suite = load_suite("quickstart");
  EXPECT_THAT(graphs_of(suite), ElementsAre("inception-v3"));
  EXPECT_THAT(suite.clusters, ElementsAre("p2-8xlarge-2", "p2-8xlarge-4"));
  std::set<std::string> of_any;
  for (const std::string name : {"quickstart", "heuristics", "parallelism"}) {
    std::ranges::copy(labels_of(load_suite(name)), std::inserter(of_any, of_any.end()));
  }
  std::vector<std::string> quick;
  for (const std::string& name : agents::AgentRegistry::global().names()) {
    if (name == "exact" || name == "exec" || name.starts_with("test-")) {
      continue;  // for small problems, for programs of users, and of executor_test.cpp
    }
    if (!agents::AgentRegistry::global().info(name).trainable || name == "learned-search") {
      quick.push_back(name);
    }
  }
  EXPECT_THAT(of_any, testing::UnorderedElementsAreArray(quick));
  EXPECT_EQ(suite.repetitions, 3);
}

TEST(Suite, SuggestsTheNearestShippedName) {
  EXPECT_THAT(test::error_of(ErrorCode::kUnknownName, [&] { load_suite("quikstart"); }),
              HasSubstr("did you mean 'quickstart'?"));
}

struct Hostile {
  const char* name;
  std::string text;
  const char* message;  ///< part of the error
};

class HostileSuite : public ::testing::TestWithParam<Hostile> {};

TEST_P(HostileSuite, IsRefusedWithFileAndPlace) {
  EXPECT_THAT(test::error_of(ErrorCode::kFormat, [&] { read_suite(GetParam().text, "bad.json"); }),
              testing::AllOf(HasSubstr("bad.json"), HasSubstr(GetParam().message)));
}

std::vector<Hostile> hostile_suites() {
  return {
      {"TwoAgentsThatAGroupingMakesOne",
       suite_with(R"("random"])", R"("random", {"agent": "random", "name": "again",
                                             "grouping": "heavy-edge"}])"),
       "/agents/2: 'random' with 5 evaluations is already in the list"},
      {"UnknownClusterOfAGraph",
       suite_with(R"(["inception-v3:batch=2"])",
                  R"([{"graph": "nmt", "clusters": ["p2-8xlarge-4"]}])"),
       "/graphs/0/clusters/0: 'p2-8xlarge-4' is not one of the suite's clusters"},
      {"UnknownGroupingOfAnAgent",
       suite_with(R"("random"])", R"({"agent": "random", "grouping": "heavy-edges"}])"),
       "did you mean 'heavy-edge'?"},
      {"Empty", "", ""},
      {"Truncated", suite_with().substr(0, 80), ""},
      {"NotUtf8", suite_with("two agents", "two \xff agents"), ""},
      {"Array", "[]", ""},
      {"OtherSchema", suite_with("emplace-suite", "emplace-graph"), "/schema"},
      {"LaterVersion", suite_with("\"version\": 1", "\"version\": 2"), "/version"},
      {"DuplicateMember", suite_with("\"groups\": 60", "\"name\": \"other\""), "name"},
      {"UnknownMember", suite_with("repetitions", "repetition"), "repetition"},
      {"NameIsAPath", suite_with("\"tiny\"", "\"../tiny\""), "/name"},
      {"NoGraphs", suite_with("[\"inception-v3:batch=2\"]", "[]"), "/graphs"},
      {"GraphTwice",
       suite_with("[\"inception-v3:batch=2\"]", "[\"inception-v3\", \"inception-v3\"]"),
       "/graphs/1"},
      {"UnknownGraph", suite_with("inception-v3", "inception-v9"), "'inception-v3'"},
      {"UnknownParameter", suite_with("batch=2", "bacth=2"), "/graphs/0"},
      {"UnknownCluster", suite_with("p2-8xlarge-2", "p2-8xlarge-3"), "/clusters/0"},
      {"UnknownAgent", suite_with("single-gpu", "single-cpu"), "/agents/0"},
      {"OtherWildcard", suite_with(R"(["single-gpu", "random"])", "\"random\""), "/agents"},
      {"MistypedAgents", suite_with(R"(["single-gpu", "random"])", "7"), "/agents"},
      {"NegativeRepetitions", suite_with("\"repetitions\": 2", "\"repetitions\": -2"),
       "/repetitions"},
      {"GiganticBudget", suite_with("evaluations\": 5", "evaluations\": 1e300"),
       "/max_evaluations"},
      {"FractionOfAGroup", suite_with("\"groups\": 60", "\"groups\": 1.5"), "/groups"},
      {"UnknownGrouping", suite_with("heavy-edge", "heavy-edges"), "'heavy-edge'"},
      {"ANumberOfGroupsForAGroupingThatTakesNone", suite_with("heavy-edge", "colocation"),
       "/grouping"},
      {"GroupsOfAGraphThatIsNoObject",
       suite_with("[\"inception-v3:batch=2\"]", "[{\"groups\": 3}]"), "/graphs/0"},
      {"NegativeGroupsOfAGraph",
       suite_with("[\"inception-v3:batch=2\"]", R"([{"graph": "inception-v3", "groups": -3}])"),
       "/graphs/0/groups"},
      {"BudgetOfNothing",
       suite_with(R"(["single-gpu", "random"])", R"([{"agent": "random", "max_evaluations": 0}])"),
       "/agents/0/max_evaluations"},
      {"TwoAgentsOfOneName",
       suite_with(R"(["single-gpu", "random"])",
                  R"(["random", {"agent": "heft", "name": "random"}])"),
       "/agents/1"},
      {"OneAgentByTwoNames",
       suite_with(R"(["single-gpu", "random"])",
                  R"(["random", {"agent": "random", "name": "again"}])"),
       "/agents/1"},
      {"ExtendsAnUnknownSuite", suite_with("\"repetitions\": 2", R"("extends": "paper-table-2")"),
       "/extends: unknown suite 'paper-table-2'"},
      {"RemovesWhatItNeeds",
       R"({"schema": "emplace-suite", "version": 1, "name": "small", "extends": "quickstart",
           "clusters": null})",
       "/clusters"},
      {"GraphOnAClusterThatIsNoLongerThere",
       R"({"schema": "emplace-suite", "version": 1, "name": "small", "extends": "beyond",
           "clusters": ["cpu-gpu"], "graphs": [{"graph": "nmt", "clusters": ["p2-8xlarge-2"]}]})",
       "/graphs/0/clusters/0: 'p2-8xlarge-2' is not one of the suite's clusters"},
      {"ExtendsAndHasNoName", suite_with("\"name\": \"tiny\"", R"("extends": "paper-table-1")"),
       "'name'"},
      {"BaselineThatIsNoAgent", suite_with_published("[\"random\"]", "[\"heft\"]"), "/baselines/0"},
      {"FigureOfAnotherGraph",
       suite_with_published(R"("graph": "inception-v3:batch=2")", R"("graph": "nmt")"),
       "/published/figures/0/graph"},
      {"FigureOfAnotherCluster",
       suite_with_published(R"("cluster": "p2-8xlarge-2")", R"("cluster": "p2")"),
       "/published/figures/0/cluster"},
      {"FigureOfAnotherAgent", suite_with_published(R"("agent": "random")", R"("agent": "heft")"),
       "/published/figures/0/agent"},
      {"FigureTwice", suite_with_published(R"("agent": "single-gpu")", R"("agent": "random")"),
       "/published/figures/1"},
      {"FigureThatIsNoTime", suite_with_published("out of memory", "OOM"),
       "/published/figures/1/step_time_s"},
      {"FiguresOfUnknownWorth", suite_with_published("\"recalled\": true, ", ""), "/published"},
      {"NeitherGraphsNorFamilies", suite_with("\"graphs\": [\"inception-v3:batch=2\"], ", ""),
       "graphs"},
      {"AGraphOnBothSides", suite_of_families("cifar10:split=test,members=2", "cifar10:member=1"),
       "/families/0/test/0: 'cifar10:member=1' is a training graph too"},
      {"AGraphToTestOnTwice",
       suite_of_families("[\"cifar10:split=test,members=2\"]",
                         R"(["cifar10:split=test", "cifar10:split=test,member=3"])"),
       "/families/0/test/1"},
      {"NothingToTrainOn", suite_of_families("[\"cifar10:members=2\"]", "[]"), "/families/0/train"},
      {"FamilyWithoutAName", suite_of_families("\"name\": \"cells\", ", ""), "/families/0"},
      {"PolicyNameIsAPath", suite_of_families("\"net\"", "\"../net\""), "/policies/0/name"},
      {"PolicyOfAnAgentThatLearnsNothing",
       suite_of_families("\"agent\": \"placeto:preset=released,rounds=1\"", "\"agent\": \"heft\""),
       "/policies/0/agent"},
      {"PolicyThatIsNotTrained", suite_of_families("\"episodes\": 3", "\"episodes\": 0"),
       "/policies/0/episodes"},
      {"PolicyThatNobodyUses",
       suite_of_families(R"([{"name": "net")",
                         R"([{"name": "idle", "agent": "placeto", "episodes": 1},
                                      {"name": "net")"),
       "/policies/0: no agent uses 'idle'"},
      {"PolicyThatNothingValidates",
       suite_of_families("\"episodes\": 3", "\"episodes\": 3, \"validated\": true"),
       "/policies/0/validated: family 'cells' has no validation graphs"},
      {"PolicyTrainedTwice",
       suite_of_families(R"([{"name": "net")",
                         R"([{"name": "same", "agent": "placeto:preset=released,rounds=1",
                                       "episodes": 3}, {"name": "net")"),
       "/policies/1: it is trained exactly like policy 'same'"},
      {"UnknownPolicy",
       suite_of_families(R"({"policy": "net", "learns")", R"({"policy": "nut", "learns")"),
       "/agents/1/policy"},
      {"PolicyOfAnotherAgent",
       suite_of_families("\"placeto:preset=released,rounds=1,entropy-weight=0\"", "\"random\""),
       "/agents/2/agent"},
      {"PolicyForGraphsWithoutAFamily",
       suite_of_families("\"clusters\"", "\"graphs\": [\"nmt\"], \"clusters\""),
       "/agents/1/policy"},
      {"NothingToUseAsItIs",
       suite_of_families("\"random\"", R"({"agent": "random", "learns": false})"),
       "/agents/0/learns"},
      {"NotANumber", suite_with("\"groups\": 60", "\"groups\": NaN"), ""},
  };
}

INSTANTIATE_TEST_SUITE_P(Table, HostileSuite, ::testing::ValuesIn(hostile_suites()),
                         [](const auto& hostile) { return std::string(hostile.param.name); });

}  // namespace
}  // namespace emplace::bench::suite_test
