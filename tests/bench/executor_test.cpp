#include "bench/small_suite.hpp"
#include "bench/src/run/suite_cell.hpp"

#include <emplace/agents/agent.hpp>
#include <emplace/base/error.hpp>
#include <emplace/base/text_file.hpp>
#include <emplace/bench/executor.hpp>
#include <emplace/bench/rank_executor.hpp>
#include <emplace/bench/result_store.hpp>
#include <emplace/profiles/cluster.hpp>
#include <emplace/sim/draws.hpp>

#include <gtest/gtest.h>
#include <support/temporary_folder.hpp>
#include <support/thread_ranks.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <new>
#include <stdexcept>
#include <string>

namespace emplace::bench::executor_test {
namespace {

const std::atomic<bool> kNeverStop{false};

// Two clusters, one agent that is deterministic and two that are not: 2 x (1 + 2 x 3) cells.
const Suite kSuite{.name = "tiny",
                   .graphs = {{"inception-v3:batch=2"}},
                   .clusters = {"p2-8xlarge-2", "p2-8xlarge-4"},
                   .agents = {{"single-gpu"}, {"random"}, {"hill-climb"}},
                   .repetitions = 3,
                   .max_evaluations = 5,
                   .groups = 60};

std::atomic<int> faults_left{0};

// Lacks memory as often as it is told to.
class Unlucky final : public agents::Agent {
 public:
  explicit Unlucky(const Params&) {}
  Placement place(const Problem& problem, agents::Evaluator&) override {
    if (faults_left-- > 0) {
      throw std::bad_alloc();
    }
    return Placement(std::vector<DeviceId>(static_cast<std::size_t>(problem.num_groups()),
                                           problem.placeable_devices().front()));
  }
};

EMPLACE_REGISTER_AGENT(Unlucky, {.name = "test-unlucky",
                                 .kind = agents::AgentKind::kBaseline,
                                 .summary = "lacks memory at first"});

// Does what an agent of the user's own may do wrong.
class Faulty final : public agents::Agent {
 public:
  explicit Faulty(const Params& params) : fault_(params.get<std::string>("fault")) {
    if (fault_ == "constructor") {
      throw std::runtime_error("not made");
    }
  }
  Placement place(const Problem& problem, agents::Evaluator& evaluator) override {
    if (fault_ == "throw") {
      throw std::runtime_error("lost");
    }
    if (fault_ == "throw-number") {
      throw 42;
    }
    if (fault_ == "evaluate") {
      evaluator.evaluate(Placement(problem.num_groups(), problem.num_devices()));
    }
    return fault_ == "missing"   ? Placement(problem.num_groups() - 1)
           : fault_ == "beyond"  ? Placement(problem.num_groups(), problem.num_devices())
           : fault_ == "nowhere" ? Placement(problem.num_groups(), DeviceId{-1})
                                 : Placement(problem.num_groups());
  }

 private:
  std::string fault_;
};

EMPLACE_REGISTER_AGENT(Faulty,
                       {.name = "test-faulty",
                        .kind = agents::AgentKind::kBaseline,
                        .summary = "does something wrong",
                        .parameters = {{.name = "fault",
                                        .default_value = std::string("none"),
                                        .choices = {"none", "constructor", "throw", "throw-number",
                                                    "evaluate", "missing", "beyond", "nowhere"}}}});

class ExecutorTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    cells_ = new std::vector<Cell>(cells_of(kSuite, 1));
    problems_ = new ProblemSet(*cells_);
  }
  static void TearDownTestSuite() {
    delete problems_;
    delete cells_;
  }

  // Returns the results without wall times, as lines by id.
  static std::map<std::string, std::string> run(std::vector<Cell> cells, int threads) {
    std::map<std::string, std::string> lines;
    ThreadExecutor(threads).run_cells(
        cells, *problems_, {}, kNeverStop, [&](const CellResult& result) {
          EXPECT_TRUE(lines.emplace(result.cell.id(), line_without_times(result)).second);
        });
    return lines;
  }

  static std::vector<Cell>* cells_;
  static ProblemSet* problems_;
};

std::vector<Cell>* ExecutorTest::cells_ = nullptr;
ProblemSet* ExecutorTest::problems_ = nullptr;

// What takes longest, by agent, budget and problem, starts first, so that no thread ends alone.
TEST_F(ExecutorTest, StartsWithWhatTakesLongest) {
  Suite suite = kSuite;
  suite.graphs = {{"inception-v3:batch=2"}, {"rnnlm"}};
  suite.clusters = {"p2-8xlarge-2"};
  suite.groups = 0;
  suite.repetitions = 1;
  suite.agents = {{"heft"},
                  {.agent = {"random"}, .name = "few", .max_evaluations = 10},
                  {.agent = {"random"}, .name = "many", .max_evaluations = 10'000}};
  const std::vector<Cell> cells = cells_of(suite, 1);
  const ProblemSet problems(cells);
  std::vector<std::pair<std::string, std::int64_t>> order;
  for (const Cell* cell : longest_first(cells, problems)) {
    order.emplace_back(cell->graph, cell->max_evaluations);
  }
  ASSERT_EQ(order.size(), 6U);
  EXPECT_EQ(order[0].second, 10'000);
  EXPECT_EQ(order[1].second, 10'000);
  EXPECT_NE(order[0].first, order[1].first);
  EXPECT_EQ(order[2].second, 10);
}

TEST_F(ExecutorTest, GivesTheSameBitsOnAnyNumberOfThreadsAndInAnyOrder) {
  const auto lines = run(*cells_, 1);
  EXPECT_EQ(lines.size(), cells_->size());
  EXPECT_EQ(run(*cells_, 4), lines);
  std::vector<Cell> reversed = *cells_;
  std::ranges::reverse(reversed);
  EXPECT_EQ(run(reversed, 2), lines);
}

TEST_F(ExecutorTest, CellsKeepTheirStepTimesInTheSameDrawsOfUncertainCosts) {
  EXPECT_EQ(run(*cells_, 1).begin()->second.find("draws_us"), std::string::npos);
  Cluster cluster = load_cluster("p2-8xlarge-2");
  for (DeviceProfile& profile : cluster.profiles) {
    for (auto& roofline : profile.rooflines) {
      if (roofline) {
        roofline->relative_deviation = 0.2;
      }
    }
  }
  const TemporaryFolder folder;
  const std::string path = folder.path("uncertain.json");
  write_text_file(path, write_cluster_json(cluster));
  Suite suite = kSuite;
  suite.clusters = {path};
  const std::vector<Cell> cells = cells_of(suite, 1);
  const ProblemSet problems(cells);
  std::map<std::string, std::string> lines;
  for (const int threads : {1, 4}) {
    ThreadExecutor(threads).run_cells(
        cells, problems, {}, kNeverStop, [&](const CellResult& result) {
          const std::array placements{result.placement};
          const std::vector<Draws> draws =
              simulate_draws(problems.find(result.cell).problem, placements, {.draws = kCellDraws});
          EXPECT_EQ(result.draws_us, draws[0].makespan_us);
          const std::string line = line_without_times(result);
          EXPECT_EQ(read_cell_result(line, "line").draws_us, result.draws_us);
          EXPECT_EQ(lines.emplace(result.cell.id(), line).first->second, line);
        });
  }
  EXPECT_EQ(lines.size(), cells.size());
  const std::string& line = lines.begin()->second;
  EXPECT_THROW(read_cell_result(line.substr(0, line.find("\"draws_us\"")) +
                                    "\"draws_us\":[1.0],\"measured\":{\"wall_s\":0.0}}",
                                "line"),
               Error);
  std::string of_version_0_2 = line.substr(0, line.find(",\"crc32\"")) + "}";
  of_version_0_2.replace(line.find("draws_us"), std::string_view("draws_us").size(), "replicas_us");
  EXPECT_EQ(read_cell_result(of_version_0_2, "line").draws_us,
            read_cell_result(line, "line").draws_us);
}

TEST_F(ExecutorTest, RepetitionsDiffer) {
  const auto random = std::ranges::find(*cells_, "random", &Cell::agent);
  const CellResult first = run_cell(*random, problems_->find(*random), {}, kNeverStop);
  const CellResult second = run_cell(*(random + 1), problems_->find(*random), {}, kNeverStop);
  EXPECT_NE(first.placement_hash, second.placement_hash);
}

TEST_F(ExecutorTest, CellsTellWhatTheyUsed) {
  const auto random = std::ranges::find(*cells_, "random", &Cell::agent);
  const CellResult result = run_cell(*random, problems_->find(*random), {}, kNeverStop);
  EXPECT_EQ(result.evaluations, 5);
  EXPECT_GE(result.evaluations_to_best, 1);
  EXPECT_LE(result.evaluations_to_best, 5);
  EXPECT_EQ(result.placement.size(), problems_->find(*random).problem.num_groups());
  EXPECT_GE(result.step_time_us, result.bound_us);
  EXPECT_GT(result.bound_us, 0);
}

TEST_F(ExecutorTest, CellsKeepTheirHistory) {
  for (const Cell& cell : *cells_) {
    const CellResult result = run_cell(cell, problems_->find(cell), {}, kNeverStop);
    if (result.evaluations == 0) {
      EXPECT_TRUE(result.history.empty());
      continue;
    }
    ASSERT_FALSE(result.history.empty());
    EXPECT_EQ(result.history.front().evaluations, 1);
    EXPECT_EQ(result.history.back().evaluations, result.evaluations_to_best);
    EXPECT_EQ(result.history.back().evaluation.step_time_us, result.step_time_us);
    EXPECT_GT(result.history.front().seconds, 0);
    EXPECT_LE(result.history.back().seconds, result.wall_s);
  }
}

TEST_F(ExecutorTest, AnAgentThatThrowsMakesAFailedCell) {
  Cell cell = cells_->front();
  cell.agent = "no-such-agent";
  const CellResult result = run_cell(cell, problems_->find(cells_->front()), {}, kNeverStop);
  EXPECT_EQ(result.status, CellStatus::kFailed);
  EXPECT_NE(result.message.find("no-such-agent"), std::string::npos);
}

TEST_F(ExecutorTest, WhatAnAgentDoesWrongIsTheResultOfItsCell) {
  const std::pair<std::string, std::string> faults[] = {
      {"constructor", "not made"},
      {"throw", "lost"},
      {"throw-number", "the agent threw something that is not a std::exception"},
      {"evaluate", "the placement has 'input/images' on device 3 of 3"},
      {"missing", "the agent placed 59 of 60 groups"},
      {"beyond", "the agent's placement has 'input/images' on device 3 of 3"},
      {"nowhere", "the agent's placement has 'input/images' on device -1 of 3"}};
  Cell cell = cells_->front();
  for (const auto& [fault, message] : faults) {
    cell.agent = agents::AgentSpec("test-faulty:fault=" + fault);
    const CellResult result = run_cell(cell, problems_->find(cells_->front()), {}, kNeverStop);
    EXPECT_EQ(result.status, CellStatus::kFailed) << fault;
    EXPECT_NE(result.message.find(message), std::string::npos) << fault << ": " << result.message;
  }
  cell.agent = "test-faulty";
  EXPECT_EQ(run_cell(cell, problems_->find(cells_->front()), {}, kNeverStop).status,
            CellStatus::kOk);
}

TEST_F(ExecutorTest, ACellThatLackedMemoryIsRunAgainAndIsNoResult) {
  Cell cell = cells_->front();
  cell.agent = "test-unlucky";
  const std::vector<Cell> cells{cell};
  int results = 0;
  const auto sink = [&](const CellResult& result) {
    EXPECT_EQ(result.status, CellStatus::kOk) << result.message;
    ++results;
  };
  faults_left = 1;
  EXPECT_TRUE(ThreadExecutor(2).run_cells(cells, *problems_, {}, kNeverStop, sink).empty());
  EXPECT_EQ(results, 1);

  faults_left = 2;
  const std::vector<CellFault> faults =
      ThreadExecutor(2).run_cells(cells, *problems_, {}, kNeverStop, sink);
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].cell, cell);
  EXPECT_EQ(faults[0].reason, "out of memory");
  EXPECT_EQ(results, 1);
}

TEST_F(ExecutorTest, CellsThatARankLackedMemoryForAreRunAgainByTheRoot) {
  std::vector<Cell> cells{cells_->front(), cells_->back()};  // on two clusters
  for (Cell& cell : cells) {
    cell.agent = "test-unlucky";
  }
  const std::vector<SuiteTraining> no_trainings;
  int results = 0;
  std::vector<CellFault> faults;
  const auto run = [&](int num_faults) {
    faults_left = num_faults;
    ThreadRanks(2).run([&](Communicator& rank) {
      if (!rank.is_root()) {
        work_for_root(rank, 1, {cells, no_trainings, *problems_});
        return;
      }
      RankExecutor executor(rank, 1);
      faults = executor.run_cells(cells, *problems_, {}, kNeverStop,
                                  [&](const CellResult&) { ++results; });
    });
  };
  run(2);
  EXPECT_TRUE(faults.empty());
  EXPECT_EQ(results, 2);
  run(4);
  EXPECT_EQ(faults.size(), 2U);
  EXPECT_EQ(results, 2);
}

TEST_F(ExecutorTest, StopsBetweenCells) {
  std::atomic<bool> stop{false};
  int results = 0;
  ThreadExecutor(1).run_cells(*cells_, *problems_, {}, stop, [&](const CellResult&) {
    ++results;
    stop = true;
  });
  EXPECT_EQ(results, 1);
}

TEST_F(ExecutorTest, AnErrorOfTheSinkEndsTheRun) {
  int results = 0;
  EXPECT_THROW(ThreadExecutor(2).run_cells(*cells_, *problems_, {}, kNeverStop,
                                           [&](const CellResult&) {
                                             ++results;
                                             throw std::runtime_error("disk full");
                                           }),
               std::runtime_error);
  EXPECT_EQ(results, 1);
}

TEST_F(ExecutorTest, ProblemsAreHashedByContent) {
  ASSERT_EQ(problems_->hashes().size(), 2U);
  EXPECT_EQ(problems_->hashes()[0].cluster, "p2-8xlarge-2");
  EXPECT_NE(problems_->hashes()[0].hash, problems_->hashes()[1].hash);
  const Problem again = load_problem("inception-v3:batch=2", "p2-8xlarge-2", 60);
  EXPECT_EQ(hash_of(again), problems_->hashes()[0].hash);
  const Problem larger_batch = load_problem("inception-v3:batch=3", "p2-8xlarge-2", 60);
  EXPECT_NE(hash_of(larger_batch), problems_->hashes()[0].hash);
  const Problem other_grouping = load_problem("inception-v3:batch=2", "p2-8xlarge-2", 90);
  EXPECT_NE(hash_of(other_grouping), problems_->hashes()[0].hash);
}

}  // namespace
}  // namespace emplace::bench::executor_test
