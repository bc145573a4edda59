#include "bench/small_suite.hpp"
#include "support/errors.hpp"

#include <emplace/bench/executor.hpp>
#include <emplace/bench/result_store.hpp>
#include <emplace/bench/suite_policies.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace emplace::bench::suite_policies_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::atomic<bool> kNeverStop{false};

// One policy, trained on two networks of ten groups and tested on two others.
const Suite kSuite = [] {
  Suite suite = small_suite();
  suite.families[0].train.emplace_back("cifar10:member=1");
  suite.policies[0].episodes = 4;
  SuiteAgent zero_shot = suite.agents[1];
  zero_shot.name = "zero-shot";
  zero_shot.learns = false;
  suite.agents[1].name = "fine-tuned";
  suite.agents.insert(suite.agents.begin() + 1, zero_shot);
  suite.max_evaluations = 33;
  return suite;
}();

std::map<std::string, std::string> train(int threads) {
  std::map<std::string, std::string> files;
  ThreadExecutor(threads).train_policies(
      trainings_of(kSuite, 7), kNeverStop,
      [&](const SuiteTraining& training, const TrainedPolicy& trained) {
        files.emplace(training.file_name(), trained.policy);
      });
  return files;
}

Policies policies_of(const std::map<std::string, std::string>& files) {
  Policies policies;
  for (const auto& [name, text] : files) {
    PolicyFile file = read_policy_file(text, name);
    const std::string hash = hash_of(file.origin.plan);
    policies.emplace(hash, PolicyAndText{std::move(file), text});
  }
  return policies;
}

TEST(SuitePolicies, AreTrainedOnceForEachRepetitionOnAllGraphsOfTheFamily) {
  const std::vector<SuiteTraining> trainings = trainings_of(kSuite, 7);
  ASSERT_EQ(trainings.size(), 2U);
  EXPECT_THAT(trainings[0].plan.graphs, ElementsAre("cifar10:member=0", "cifar10:member=1"));
  EXPECT_EQ(trainings[0].plan.groups, 10);
  EXPECT_EQ(trainings[0].plan.episodes, 4);
  EXPECT_NE(trainings[0].plan.root_seed, trainings[1].plan.root_seed);
  EXPECT_NE(trainings[0].file_name(), trainings[1].file_name());
  EXPECT_THAT(trainings[0].file_name(), HasSubstr("net-"));
  EXPECT_NE(trainings_of(kSuite, 8)[0].plan.root_seed, trainings[0].plan.root_seed);
}

TEST(SuitePolicies, EveryPartOfAPlanChangesItsHash) {
  const TrainingPlan plan = trainings_of(kSuite, 7)[0].plan;
  std::vector<TrainingPlan> changed(9, plan);
  changed[0].agent = "placeto:preset=released,rounds=2";
  changed[1].graphs.pop_back();
  changed[2].clusters = {"p2-8xlarge-4"};
  changed[3].groups = 11;
  changed[4].grouping = "scope";
  changed[5].root_seed += 1;
  changed[6].episodes = 5;
  changed[7].patience = 1;
  changed[8].validation = {"cifar10:member=2"};
  std::set<std::string> hashes = {hash_of(plan)};
  for (const TrainingPlan& other : changed) {
    EXPECT_TRUE(hashes.insert(hash_of(other)).second);
  }
}

TEST(SuitePolicies, CellsBeginWithThePolicyOfTheirRepetition) {
  const std::vector<SuiteTraining> trainings = trainings_of(kSuite, 7);
  for (const Cell& cell : cells_of(kSuite, 7)) {
    if (cell.agent == "random") {
      EXPECT_EQ(cell.policy, "");
      continue;
    }
    EXPECT_EQ(cell.policy, "net");
    EXPECT_EQ(cell.training, hash_of(trainings[static_cast<std::size_t>(cell.repetition)].plan));
  }
}

TEST(SuitePolicies, AreTheSameBitsOnAnyNumberOfThreads) {
  const auto files = train(1);
  EXPECT_EQ(files.size(), 2U);
  EXPECT_EQ(train(2), files);
}

TEST(SuitePolicies, AreUsedAsTheyAreForOneEpisodeOrLearnedFrom) {
  const Policies policies = policies_of(train(2));
  const std::vector<Cell> cells = cells_of(kSuite, 7);
  const ProblemSet problems(cells);
  const auto run = [&](int threads) {
    std::map<std::string, std::string> lines;
    ThreadExecutor(threads).run_cells(
        cells, problems, policies, kNeverStop, [&](const CellResult& result) {
          EXPECT_EQ(result.status, CellStatus::kOk) << result.message;
          // An episode visits ten groups: 11 evaluations with that of its start.
          const std::int64_t budget = result.cell.learns ? 33 : 11;
          EXPECT_EQ(result.evaluations, budget) << result.cell.agent.text();
          EXPECT_EQ(result.evaluations_per_episode, result.cell.agent == "random" ? 0 : 11);
          lines.emplace(result.cell.id(), line_without_times(result));
        });
    return lines;
  };
  const auto one = run(1);
  EXPECT_EQ(one.size(), cells.size());
  EXPECT_EQ(run(2), one);
}

TEST(SuitePolicies, ACellWhosePolicyIsNoneFails) {
  const std::vector<Cell> cells = cells_of(kSuite, 7);
  const ProblemSet problems(cells);
  const Cell& cell = *std::ranges::find(cells, "net", &Cell::policy);
  Policies policies;
  policies.emplace(cell.training,
                   PolicyAndText{{.policy = JsonDocument::parse("{}", "policy net")}, "{}"});
  const CellResult result = run_cell(cell, problems.find(cell), policies, kNeverStop);
  EXPECT_EQ(result.status, CellStatus::kFailed);
  EXPECT_THAT(result.message, HasSubstr("policy net"));
}

TEST(SuitePolicies, ListTheProblemsTheyWereTrainedOn) {
  const std::vector<SuiteTraining> trainings = trainings_of(kSuite, 7);
  const ProblemSet tested(cells_of(kSuite, 7));
  const auto hashes = hash_trained(kSuite, trainings, tested.hashes());
  ASSERT_EQ(hashes.size(), 2U);  // once, though there are two repetitions
  EXPECT_EQ(hashes[0].graph, "cifar10:member=0");
  EXPECT_EQ(hashes[1].graph, "cifar10:member=1");
}

// The first member by another name: names differ, problems do not.
TEST(SuitePolicies, AreNotTrainedOnWhatIsTested) {
  Suite suite = kSuite;
  suite.graphs[1].graph = "cifar10:split=train,member=0";
  const ProblemSet tested(cells_of(suite, 7));
  EXPECT_THAT(test::error_of(ErrorCode::kFormat,
                             [&] { hash_trained(suite, trainings_of(suite, 7), tested.hashes()); }),
              HasSubstr("family 'cells': the test graph cifar10:split=train,member=0 is the same "
                        "problem as the training graph cifar10:member=0"));
}

TEST(SuitePolicies, AreNotValidatedByWhatIsTested) {
  Suite suite = kSuite;
  suite.families[0].validation = {"cifar10:split=train,member=2"};
  const ProblemSet tested(cells_of(suite, 7));
  EXPECT_EQ(hash_trained(suite, trainings_of(suite, 7), tested.hashes()).size(), 2U);
  suite.families[0].validation = {"cifar10:member=1,split=test"};  // by another name
  EXPECT_THAT(test::error_of(ErrorCode::kFormat,
                             [&] { hash_trained(suite, trainings_of(suite, 7), tested.hashes()); }),
              HasSubstr("is the same problem as the validation graph"));
}

TEST(SuitePolicies, AreValidatedByTheGraphsOfTheFamilyIfTheSuiteSaysSo) {
  Suite suite = kSuite;
  suite.families[0].validation = {"cifar10:member=2"};
  EXPECT_THAT(trainings_of(suite, 7)[0].plan.validation, ElementsAre());
  suite.policies[0].validated = true;
  EXPECT_THAT(trainings_of(suite, 7)[0].plan.validation, ElementsAre("cifar10:member=2"));
}

// Four episodes on each of two graphs; the mean begins when both have been played, and ends at the
// best of the training.
TEST(SuitePolicies, ComeWithTheirLearningCurves) {
  std::map<std::string, std::string> curves;
  ThreadExecutor(2).train_policies(
      trainings_of(kSuite, 7), kNeverStop,
      [&](const SuiteTraining& training, const TrainedPolicy& trained) {
        curves.emplace(training.curve_file_name(), trained.curve);
      });
  ASSERT_EQ(curves.size(), 2U);
  for (const auto& [name, text] : curves) {
    EXPECT_THAT(name, ::testing::EndsWith(".curve.json"));
    const auto json = nlohmann::json::parse(text);
    ASSERT_FALSE(json.at("best").empty());
    EXPECT_DOUBLE_EQ(json.at("best").back(), 1);
    EXPECT_EQ(json.at("evaluations").back(), 88) << "of 11 in an episode";
    for (const char* const member : {"last", "entropy", "evaluations"}) {
      EXPECT_EQ(json.at(member).size(), json.at("best").size());
    }
  }
}

TEST(SuitePolicies, StopBetweenUpdates) {
  std::atomic<bool> stop{true};
  ThreadExecutor(2).train_policies(
      trainings_of(kSuite, 7), stop,
      [](const SuiteTraining&, const TrainedPolicy&) { FAIL() << "handed over"; });
}

}  // namespace
}  // namespace emplace::bench::suite_policies_test
