#include "support/errors.hpp"
#include "support/temporary_folder.hpp"

#include <emplace/base/text_file.hpp>
#include <emplace/bench/training.hpp>
#include <emplace/profiles/cluster.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

namespace emplace::bench::training_test {
namespace {

// Two graphs of 8 groups, on which an episode is short.
const TrainingPlan kPlan{
    .agent = "placeto:preset=released,rounds=1,workers=2,greedy-first=false,start=best",
    .graphs = {"fork-join:width=3,stages=2", "in-tree:levels=4"},
    .clusters = {"p2-8xlarge-2"},
    .groups = 8,
    .grouping = "neighbours",
    .root_seed = 3,
    .episodes = 12};

bool go_on() { return true; }

// What a training leaves in the end.
struct Left {
  explicit Left(const Training& training)
      : policy(training.policy_file()),
        curve(training.curve().to_csv()),
        checkpoint(training.checkpoint()) {}

  std::string policy;
  std::string curve;
  std::string checkpoint;
};

// The policy and the checkpoint are too long to be shown.
void expect_same(const Left& left, const Left& expected) {
  EXPECT_EQ(left.curve, expected.curve);
  EXPECT_TRUE(left.policy == expected.policy);
  EXPECT_TRUE(left.checkpoint == expected.checkpoint);
}

// Stops after `updates` on as many threads as given, and goes on to the end on two.
Left resumed_after(int updates, const TrainingPlan& plan, int threads = 1) {
  Training first(plan);
  EXPECT_EQ(first.run(threads, [&] { return --updates > 0; }), TrainingEnd::kStopped);
  Training second(plan);
  second.resume(first.checkpoint(), "checkpoint");
  EXPECT_EQ(second.run(2, go_on), TrainingEnd::kEpisodes);
  return Left(second);
}

Left whole() {
  Training training(kPlan);
  EXPECT_EQ(training.run(1, go_on), TrainingEnd::kEpisodes);
  return Left(training);
}

TEST(Training, PlaysTheEpisodesOfItsPlanOnEachProblem) {
  Training training(kPlan);
  EXPECT_EQ(training.num_episodes(), 24);
  EXPECT_EQ(training.run(1, go_on), TrainingEnd::kEpisodes);
  EXPECT_EQ(training.curve().episodes(), 24);
  for (const auto& evaluator : training.evaluators()) {
    EXPECT_EQ(evaluator->budget().evaluations(), 12 * (evaluator->problem().num_groups() + 1));
  }
  const PolicyFile file = read_policy_file(training.policy_file(), "policy.json");
  EXPECT_EQ(file.origin.plan, kPlan);
  EXPECT_EQ(file.origin.episodes_played, 24);
  EXPECT_EQ(file.origin.updates, 12);
  EXPECT_EQ(write_policy_file(file.origin, agent_of(file, true)->save()), training.policy_file());
}

// Every agent whose training computes in parallel, and one whose problems have a coarser level.
class TrainingInParallel : public ::testing::TestWithParam<std::string> {};

TEST_P(TrainingInParallel, LeavesTheSameBitsOnMoreThreadsAndAfterAStop) {
  TrainingPlan plan = kPlan;
  plan.agent = GetParam();
  plan.graphs.emplace_back("fft:log2-points=3");
  plan.episodes = 3;
  if (GetParam().find("groups") != std::string::npos) {
    plan.groups = 0;
    plan.grouping = kDefaultGrouping;
  }
  Training alone(plan);
  alone.run(1, go_on);
  expect_same(resumed_after(1, plan, 2), Left(alone));
}

INSTANTIATE_TEST_SUITE_P(Agents, TrainingInParallel,
                         ::testing::Values("placeto:preset=released,rounds=1,workers=3,start=best",
                                           "placeto:preset=released,rounds=1,workers=3,groups=6",
                                           "rnn-hdp:groups=6,hidden=4",
                                           "rnn-colocrl:hidden=4,placements=1"));

TEST(Training, GoesOnFromACheckpointWithTheSameBits) {
  const Left expected = whole();
  for (const int cut : {1, 5, 11}) {
    SCOPED_TRACE(cut);
    expect_same(resumed_after(cut, kPlan), expected);
  }
}

TEST(Training, IsStoppedAtAnyMomentAndGoesOnFromTheLastCheckpoint) {
  std::atomic<bool> stop = false;
  std::string checkpoint;
  Training first(kPlan, &stop);
  const TrainingEnd end = first.run(1, [&] {
    checkpoint = first.checkpoint();
    stop = true;
    return true;
  });
  EXPECT_EQ(end, TrainingEnd::kStopped);
  EXPECT_EQ(first.curve().episodes(), 2);
  Training second(kPlan);
  second.resume(checkpoint, "checkpoint");
  EXPECT_EQ(second.run(1, go_on), TrainingEnd::kEpisodes);
  expect_same(Left(second), whole());
}

TEST(Training, RefusesAClusterWithOnePlaceableDevice) {
  const TemporaryFolder folder;
  Cluster cluster = load_cluster("p2-8xlarge-2");
  cluster.devices[1].placeable = false;
  write_text_file(folder.path("one.json"), write_cluster_json(cluster));
  TrainingPlan plan = kPlan;
  plan.clusters = {folder.path("one.json")};
  EXPECT_THAT(test::error_of(ErrorCode::kUnsupported, [&] { Training(plan).run(1, go_on); }),
              testing::EndsWith("one.json: it has one placeable device"));
}

// The best policy is not the last one.
TrainingPlan validated_plan() {
  TrainingPlan plan = kPlan;
  plan.agent = "rnn-hdp:hidden=4,groups=8";
  plan.episodes = 40;
  plan.validation = {"fft:log2-points=3", "fork-join:width=4,stages=2"};
  return plan;
}

double objective_of(const TrainingPlan& plan, const agents::TrainableAgent& policy) {
  double log_sum = 0;
  for (const std::string& graph : plan.validation) {
    const Cell cell{.graph = graph,
                    .cluster = plan.clusters[0],
                    .agent = plan.agent,
                    .groups = plan.groups,
                    .grouping = plan.grouping,
                    .root_seed = plan.root_seed};
    const ProblemSet problems({cell});
    const Problem& problem = problems.find(cell).problem;
    const auto agent = make_trainable(plan.agent, true);
    agent->load(JsonDocument::parse(policy.save(), "policy").root());
    agents::Evaluator evaluator(problem, {.seed = cell.seed()});
    agent->place_with_policy(problem, evaluator);
    log_sum += std::log(evaluator.incumbent().evaluation().objective_us());
  }
  return std::exp(log_sum / static_cast<double>(plan.validation.size()));
}

TEST(Training, KeepsThePolicyThatPlacesTheValidationGraphsBest) {
  const TrainingPlan plan = validated_plan();
  Training training(plan);
  EXPECT_EQ(training.run(1, go_on), TrainingEnd::kEpisodes);
  const std::vector<Validation>& validations = training.validations();
  ASSERT_EQ(std::ssize(validations), kValidations);
  for (std::int64_t i = 0; i < kValidations; ++i) {
    EXPECT_EQ(validations[static_cast<std::size_t>(i)].episodes, (i + 1) * 4);
    EXPECT_GE(validations[static_cast<std::size_t>(i)].objective_us,
              training.best_validation().objective_us);
  }
  EXPECT_LT(training.best_validation().objective_us, validations.back().objective_us);

  const PolicyFile file = read_policy_file(training.policy_file(), "policy.json");
  EXPECT_EQ(file.origin.plan, plan);
  EXPECT_EQ(file.origin.episodes_played, training.best_validation().episodes);
  EXPECT_EQ(file.origin.updates, training.best_validation().updates);
  EXPECT_NEAR(objective_of(plan, *agent_of(file, true)), training.best_validation().objective_us,
              1e-9 * training.best_validation().objective_us);

  // The training is the same without.
  TrainingPlan unvalidated = plan;
  unvalidated.validation.clear();
  Training same(unvalidated);
  same.run(1, go_on);
  EXPECT_EQ(same.curve().to_csv(), training.curve().to_csv());
  const PolicyFile last = read_policy_file(same.policy_file(), "policy.json");
  EXPECT_NEAR(objective_of(plan, *agent_of(last, true)), validations.back().objective_us,
              1e-9 * validations.back().objective_us);
}

TEST(Training, GoesOnFromACheckpointWithItsValidations) {
  Training whole_training(validated_plan());
  whole_training.run(1, go_on);
  const Left expected(whole_training);
  for (const int cut : {1, 10, 19}) {
    SCOPED_TRACE(cut);
    expect_same(resumed_after(cut, validated_plan()), expected);
  }
}

TEST(Training, IsValidatedWhereItsPatienceEnds) {
  TrainingPlan plan = validated_plan();
  plan.episodes = 2000;
  plan.patience = 10;
  Training training(plan);
  EXPECT_EQ(training.run(1, go_on), TrainingEnd::kPatience);
  ASSERT_FALSE(training.validations().empty());
  EXPECT_EQ(training.validations().back().episodes, training.curve().episodes());
}

// A policy that decides on 5 groups of the finest problems.
TEST(Training, GoesOnAtACoarserLevelAndPlacesThere) {
  TrainingPlan plan = kPlan;
  plan.agent = "placeto:preset=released,rounds=1,workers=2,greedy-first=false,start=best,groups=5";
  plan.groups = 0;
  plan.grouping = kDefaultGrouping;
  Training whole_training(plan);
  EXPECT_EQ(whole_training.run(1, go_on), TrainingEnd::kEpisodes);
  for (const auto& evaluator : whole_training.evaluators()) {
    EXPECT_GT(evaluator->problem().num_groups(), 5);
    EXPECT_EQ(evaluator->budget().evaluations(), 12 * (5 + 1));
  }
  const Left expected(whole_training);
  expect_same(resumed_after(5, plan), expected);

  const PolicyFile file = read_policy_file(expected.policy, "policy.json");
  EXPECT_FALSE(file.origin.plan.groups_are_given());
  const auto agent = agent_of(file, false);
  const Problem& problem = whole_training.evaluators().back()->problem();
  EXPECT_EQ(agent->decision_groups(problem), 5);
  agents::Evaluator evaluator(problem, {.budget = {.max_evaluations = 100}});
  EXPECT_EQ(agent->place_with_policy(problem, evaluator).size(), problem.num_groups());
  EXPECT_EQ(evaluator.budget().evaluations(), 5 + 1);
}

// At rate 0 the policy stays as it is; after a time nothing better comes. Whatever the cut,
// patience counts from the last gain.
TEST(Training, EndsWhereNothingBetterComesForLong) {
  TrainingPlan plan = kPlan;
  plan.episodes = 2000;
  plan.patience = 10;
  Training patient(plan);
  EXPECT_EQ(patient.run(1, go_on), TrainingEnd::kPatience);
  const std::int64_t episodes = patient.curve().episodes();
  EXPECT_LT(episodes, patient.num_episodes());
  EXPECT_GE(patient.curve().episodes_without_gain(), 20);
  EXPECT_LT(patient.curve().episodes_without_gain(), 22);  // an update is 2 episodes

  Training first(plan);
  EXPECT_EQ(first.run(1, [&] { return first.curve().episodes() < episodes - 4; }),
            TrainingEnd::kStopped);
  Training second(plan);
  second.resume(first.checkpoint(), "checkpoint");
  EXPECT_EQ(second.run(1, go_on), TrainingEnd::kPatience);
  EXPECT_EQ(second.curve().to_csv(), patient.curve().to_csv());
}

std::string resume_mistake(const TrainingPlan& plan, const std::string& checkpoint) {
  return test::error_of([&] {
    Training training(plan);
    training.resume(checkpoint, "p.checkpoint");
    training.run(1, [] { return false; });  // here the agent reads its state
  });
}

TEST(Training, RefusesTheCheckpointOfAnotherCommand) {
  Training training(kPlan);
  training.run(1, [] { return false; });
  const std::string checkpoint = training.checkpoint();
  EXPECT_EQ(resume_mistake(kPlan, checkpoint), "none");

  const auto mistake_of = [&](void (*change)(TrainingPlan&)) {
    TrainingPlan other = kPlan;
    change(other);
    return resume_mistake(other, checkpoint);
  };
  EXPECT_EQ(mistake_of([](TrainingPlan& other) { other.episodes = 13; }),
            "p.checkpoint: cannot resume: it was started with --episodes 12, not 13");
  EXPECT_EQ(mistake_of([](TrainingPlan& other) { other.root_seed = 4; }),
            "p.checkpoint: cannot resume: it was started with --seed 3, not 4");
  EXPECT_EQ(mistake_of([](TrainingPlan& other) { other.agent = "placeto"; }),
            "p.checkpoint: cannot resume: it trains "
            "placeto:preset=released,rounds=1,workers=2,greedy-first=false,start=best, not "
            "placeto");
  EXPECT_EQ(mistake_of([](TrainingPlan& other) { other.graphs.pop_back(); }),
            "p.checkpoint: cannot resume: it was started with other graphs");
  EXPECT_EQ(mistake_of([](TrainingPlan& other) { other.validation = {"fft"}; }),
            "p.checkpoint: cannot resume: it was started with other validation graphs");
  EXPECT_THAT(mistake_of([](TrainingPlan& other) { other.groups = 9; }),
              testing::HasSubstr("--groups 8, not 9"));
  EXPECT_THAT(mistake_of([](TrainingPlan& other) { other.patience = 2; }),
              testing::HasSubstr("--patience 0, not 2"));
}

TEST(Training, TellsWhatIsWrongInACheckpoint) {
  Training training(kPlan);
  training.run(1, [] { return false; });
  const std::string checkpoint = training.checkpoint();
  std::string no_checksum = checkpoint;
  no_checksum.replace(no_checksum.rfind(",\"crc32\""), std::string::npos, "}\n");
  EXPECT_EQ(resume_mistake(kPlan, no_checksum), "none");
  const auto changed = [&](const std::string& from, const std::string& to) {
    return resume_mistake(kPlan, test::with(no_checksum, from, to));
  };
  EXPECT_THAT(resume_mistake(kPlan, checkpoint.substr(0, 2000)),
              testing::StartsWith("p.checkpoint: "));
  for (std::size_t i = checkpoint.find("\"sessions\""); i < checkpoint.size(); i += 1999) {
    std::string damaged = checkpoint;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    EXPECT_NE(resume_mistake(kPlan, damaged), "none") << i;
  }
  EXPECT_THAT(changed("\"devices\":[", "\"devices\":[0,"),
              testing::HasSubstr("/sessions/0/best/devices: expected one device for each of"));
  EXPECT_THAT(changed("\"random\":[\"", "\"random\":[\"g"),
              testing::HasSubstr("/sessions/0/random/0: expected 64 bits"));
  EXPECT_THAT(changed("[1,2,18,0,", "[1,2,18,7,"), testing::HasSubstr("/curve/0/3: expected"));
  // What a learner indexes tables by, and counts by which it would go on for ever. Device 2 is the
  // CPU, which is not placeable.
  const auto valued = [&](const std::string& place, const std::string& to) {
    std::string text = no_checksum;
    const std::size_t at = text.find(place);
    EXPECT_NE(at, std::string::npos) << place;
    const std::size_t begin = at + place.size();
    return resume_mistake(kPlan, text.replace(begin, text.find_first_of(",]}", begin) - begin, to));
  };
  EXPECT_THAT(valued("\"devices\":[", "9"),
              testing::StartsWith("p.checkpoint: /sessions/0/best/devices/0: expected"));
  EXPECT_THAT(valued("\"devices\":[", "2"),
              testing::HasSubstr("/sessions/0/best/devices/0: device 2 is not placeable"));
  EXPECT_THAT(valued("\"starts\": [[", "2"), testing::HasSubstr("device 2 is not placeable"));
  EXPECT_THAT(valued("\"evaluations\":", "109"),
              testing::HasSubstr("/sessions/0/evaluations: expected at most the 108 of the plan"));
  EXPECT_THAT(valued("\"evaluations_before\": ", "100"),
              testing::HasSubstr("/evaluations_before: expected"));
  EXPECT_THAT(valued("\"square\": [", "-1"), testing::HasSubstr("found a number below 0"));
  EXPECT_THAT(changed("[1,2,18,0,", "[2,2,18,0,"),
              testing::HasSubstr("/curve/1: expected updates"));
  EXPECT_THAT(valued("[1,2,18,0,", "\"inf\""), testing::HasSubstr("/curve/0/4: expected"));
  EXPECT_THAT(changed("emplace-training\"", "emplace-trainin\""),
              testing::StartsWith("p.checkpoint: /training/"));
}

TEST(Training, TellsWhatIsWrongInItsValidations) {
  Training training(validated_plan());
  training.run(1, [&] { return training.curve().episodes() < 8; });
  std::string checkpoint = training.checkpoint();
  checkpoint.replace(checkpoint.rfind(",\"crc32\""), std::string::npos, "}\n");
  EXPECT_EQ(resume_mistake(validated_plan(), checkpoint), "none");
  const auto changed = [&](const std::string& from, const std::string& to) {
    return resume_mistake(validated_plan(), test::with(checkpoint, from, to));
  };
  EXPECT_THAT(changed("\"validations\": [[4,", "\"validations\": [[0,"),
              testing::StartsWith("p.checkpoint: /validations/0/0: expected"));
  EXPECT_THAT(changed("\"validations\": [[4,1,", "\"validations\": [[4,"),
              testing::StartsWith("p.checkpoint: /validations/0: expected the 3 numbers"));
  EXPECT_THAT(changed("\"best\": \"{", "\"best\": \""),
              testing::StartsWith("p.checkpoint: /best: "));
  EXPECT_THAT(changed("\"validation\": [", "\"validatio\": ["),
              testing::HasSubstr("/plan/validatio: "));
}

// The entropy of a policy that is all but certain is rounded to less than 0; one whose weights have
// grown too large has none. Both trainings go on.
TEST(Training, ResumesWhateverTheEntropyIs) {
  Training training(kPlan);
  training.run(1, [] { return false; });
  std::string checkpoint = training.checkpoint();
  checkpoint.replace(checkpoint.rfind(",\"crc32\""), std::string::npos, "}\n");
  const std::string row = "[1,2,18,0,";
  std::size_t begin = checkpoint.find(row) + row.size();
  for (const char* const skipped : {"last", "best"}) {
    begin = checkpoint.find(',', begin) + 1;
    EXPECT_NE(begin, 0) << skipped;
  }
  for (const char* const entropy : {"-0.0006", "\"nan\"", "\"inf\""}) {
    std::string text = checkpoint;
    text.replace(begin, text.find(',', begin) - begin, entropy);
    EXPECT_EQ(resume_mistake(kPlan, text), "none") << entropy;
  }
}

TEST(Training, RefusesAGraphThatHasChangedSince) {
  const TemporaryFolder folder;
  const auto write = [&](const std::string& flops) {
    write_text_file(folder.path("g.json"),
                    R"({"schema": "emplace-graph", "version": 1, "name": "g", "ops": [)"
                    R"({"name": "a", "kind": "matmul", "flops": )" +
                        flops +
                        R"(, "outputs": [{"shape": [10], "bytes": 40}]},)"
                        R"({"name": "b", "kind": "add", "flops": 10}], "edges": [[0, 0, 1]]})");
  };
  TrainingPlan plan = kPlan;
  plan.graphs = {folder.path("g.json")};
  write("1000000");
  Training training(plan);
  training.run(1, [] { return false; });
  write("2000000");
  EXPECT_THAT(resume_mistake(plan, training.checkpoint()),
              testing::HasSubstr("g.json on p2-8xlarge-2 has changed since"));
}

// A group that stays where it is is not simulated again, so simulations are left.
TEST(Training, EndsAfterItsEpisodesWhereTheyTakeFewerSimulations) {
  TrainingPlan plan = kPlan;
  plan.agent = "placeto:preset=released,rounds=1,skip-unchanged=true";
  Training training(plan);
  EXPECT_EQ(training.run(1, go_on), TrainingEnd::kEpisodes);
  EXPECT_EQ(training.curve().episodes(), 24);
  std::int64_t evaluations = 0;
  std::int64_t budget = 0;
  for (const auto& evaluator : training.evaluators()) {
    evaluations += evaluator->budget().evaluations();
    budget += 12 * (evaluator->problem().num_groups() + 1);
  }
  EXPECT_LT(evaluations, budget);
}

TEST(Training, RefusesProblemsOfDifferentNumbersOfDevices) {
  TrainingPlan plan = kPlan;
  plan.clusters = {"p2-8xlarge-2", "p2-8xlarge-4"};
  Training training(plan);
  EXPECT_THAT(
      test::error_of(ErrorCode::kUnsupported, [&] { training.run(1, go_on); }),
      testing::AllOf(testing::HasSubstr("for 2 devices"), testing::HasSubstr("p2-8xlarge-4")));
}

TEST(Training, RefusesAGraphThatComesTwice) {
  TrainingPlan plan = kPlan;
  plan.graphs.push_back(plan.graphs.front());
  EXPECT_THROW(Training{plan}, Error);
  plan = kPlan;
  plan.validation.push_back(plan.graphs.front());
  EXPECT_THROW(Training{plan}, Error);
}

}  // namespace
}  // namespace emplace::bench::training_test
