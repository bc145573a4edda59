#include "support/errors.hpp"

#include <emplace/base/text_file.hpp>
#include <emplace/bench/result_store.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/temporary_folder.hpp>
#include <sys/stat.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <thread>
#include <tuple>

namespace emplace::bench::result_store_test {
namespace {

using ::testing::HasSubstr;

const Suite kSuite{.name = "tiny",
                   .graphs = {{"g"}},
                   .clusters = {"c"},
                   .agents = {{"a"}, {"b"}},
                   .repetitions = 4,
                   .max_evaluations = 10,
                   .groups = 3,
                   .grouping = "scope"};

const Placement kPlacement(20, 1);  // all on the second of two devices

Manifest manifest_of(const Suite& suite = kSuite, std::uint64_t root_seed = 7) {
  return {.suite = suite,
          .root_seed = root_seed,
          .num_cells = 8,
          .problems = {{"g", "c", "0123456789abcdef", "fedcba9876543210"}},
          .starts = {start_now({"emplace", "run", "tiny"})}};
}

CellResult result_of(const std::string& agent, std::int64_t repetition) {
  return {.cell = {.graph = "g",
                   .cluster = "c",
                   .agent = agent,
                   .repetition = repetition,
                   .max_evaluations = 10,
                   .groups = 3,
                   .grouping = "scope",
                   .root_seed = 7},
          .step_time_us = 0.1 + static_cast<double>(repetition),
          .bound_us = 1.0 / 3,
          .peak_bytes = {1, std::numeric_limits<std::int64_t>::max()},
          .evaluations = 10,
          .evaluations_to_best = 4,
          .evaluations_to_near_best = 3,
          .evaluations_per_episode = 2,
          .problem_groups = 20,
          .decision_groups = 12,
          .placement_hash = hash_of(kPlacement),
          .wall_s = 1e-9,
          .placement = kPlacement};
}

// With a placement and a history, as of a search that first found what does not fit.
CellResult kept_result_of(const std::string& agent, std::int64_t repetition) {
  CellResult result = result_of(agent, repetition);
  result.problem_groups = 4;
  result.decision_groups = 4;
  result.placement = Placement({0, 1, 1, 0});
  result.placement_hash = hash_of(result.placement);
  result.history = {
      {.evaluations = 1,
       .evaluation = {.status = agents::EvaluationStatus::kOutOfMemory,
                      .step_time_us = 0.5,
                      .bytes_over = 3},
       .seconds = 0.25},
      {.evaluations = 4,
       .evaluation = {.status = agents::EvaluationStatus::kOk, .step_time_us = 0.1 + 0.2},
       .seconds = 0.75}};
  return result;
}

class ResultStoreTest : public ::testing::Test {
 protected:
  void fill(int results) const {
    ResultStore store = ResultStore::open(folder_, manifest_of(), true);
    for (int i = 0; i < results; ++i) {
      store.append(result_of("a", i));
    }
  }

  std::string cells() const { return read_text_file(folder_ + "/cells.jsonl"); }

  void write_cells(const std::string& text) const {
    std::ofstream(folder_ + "/cells.jsonl", std::ios::binary) << text;
  }

  void expect_refused(ErrorCode code, const std::string& message) const {
    EXPECT_THAT(test::error_of(code, [&] { read_store(folder_); }), HasSubstr(message));
  }

  const TemporaryFolder temporary_;
  const std::string folder_ = temporary_.path("store");
};

TEST_F(ResultStoreTest, GivesBackTheSameBits) {
  CellResult result = result_of("b", 0);
  result.step_time_us = 0.1 + 0.2;
  result.bound_us = std::nextafter(1e6, 2e6);
  {
    ResultStore store = ResultStore::open(folder_, manifest_of(), false);
    EXPECT_TRUE(store.finished().empty());
    store.append(result);
  }
  const StoredRun run = read_store(folder_);
  EXPECT_EQ(run.manifest.suite, kSuite);
  EXPECT_EQ(run.manifest.root_seed, 7U);
  ASSERT_EQ(run.results.size(), 1U);
  EXPECT_EQ(run.results[0].cell, result.cell);
  EXPECT_EQ(run.results[0].step_time_us, result.step_time_us);
  EXPECT_EQ(run.results[0].bound_us, result.bound_us);
  EXPECT_EQ(run.results[0].peak_bytes, result.peak_bytes);
  EXPECT_EQ(run.results[0].evaluations_to_near_best, 3);
  EXPECT_EQ(run.results[0].evaluations_per_episode, 2);
  EXPECT_EQ(run.results[0].problem_groups, 20);
  EXPECT_EQ(run.results[0].decision_groups, 12);
  EXPECT_EQ(write_cell_result(run.results[0]), write_cell_result(result));
}

TEST(CellResultLine, KeepsPlacementAndHistory) {
  const CellResult result = kept_result_of("a", 0);
  const std::string line = write_cell_result(result);
  EXPECT_THAT(line, HasSubstr("\"placement\":\"0 1*2 0\",\"history\":{\"evaluations\":[1,4],"
                              "\"step_time_us\":[0.5,0.30000000000000004],"
                              "\"bytes_over\":[3,0]},\"measured\":{\"wall_s\":1e-09,"
                              "\"history_s\":[0.25,0.75]},\"crc32\":\""));
  const CellResult again = read_cell_result(line, "line");
  EXPECT_EQ(again.placement, result.placement);
  ASSERT_EQ(again.history.size(), 2U);
  EXPECT_EQ(again.history[0].evaluation.status, agents::EvaluationStatus::kOutOfMemory);
  EXPECT_EQ(again.history[1].evaluation.status, agents::EvaluationStatus::kOk);
  EXPECT_EQ(again.history[1].seconds, 0.75);
  EXPECT_EQ(write_cell_result(again), line);
}

TEST(CellResultLine, RefusesAPlacementOrAHistoryThatIsWrong) {
  const std::string line = write_cell_result(kept_result_of("a", 0));
  const std::tuple<std::string, std::string, std::string> cases[] = {
      {"0 1*2 0", "0 1*3", "/placement: expected a placement with the hash"},
      {"0 1*2 0", "0 1*2", "/placement: expected the devices of 4 groups, found 3"},
      {"0 1*2 0", "0 1*2 2", "/placement: expected DEVICE"},
      {"\"history\"", "\"histori\"", "histori"},
      {"\"bytes_over\"", "\"bytes\"", "/history/bytes: the member is not known"},
      {"[1,4]", "[1]", "/history: expected lists of one length, found 1, 2, 2 and 2 seconds"},
      {"[0.25,0.75]", "[0.25]", "/history: expected lists of one length, found 2, 2, 2 and 1"},
      {"[1,4]", "[4,4]", "/history/evaluations/1"},
      {"[1,4]", "[1,11]", "/history/evaluations/1"},
      {"[3,0]", "[3,999999]", "/history/step_time_us/1: expected an improvement"},
      {"[3,0]", "[0,3]", "/history/step_time_us/1: expected an improvement"},
      {"[0.25,0.75]", "[0.25,0.125]", "/measured/history_s/1"},
      {",\"history_s\":[0.25,0.75]", "", "history_s"},
  };
  for (const auto& [from, to, message] : cases) {
    const std::string text = test::with(line, from, to);
    EXPECT_THAT(test::error_of(ErrorCode::kFormat, [&] { read_cell_result(text, "line"); }),
                HasSubstr(message))
        << text;
  }
}

TEST(CellResultLine, KeepsThePolicy) {
  CellResult result = result_of("placeto", 1);
  EXPECT_EQ(write_cell_result(result).find("policy"), std::string::npos);
  result.cell.policy = "net";
  result.cell.training = "0123456789abcdef";
  result.cell.learns = false;
  const std::string line = write_cell_result(result);
  EXPECT_EQ(read_cell_result(line, "line").cell, result.cell);
  EXPECT_THROW(read_cell_result(test::with(line, "\"learns\":false", "\"learns\":true"), "line"),
               Error);
}

TEST_F(ResultStoreTest, ListsResultsInTheOrderOfTheSuite) {
  ResultStore store = ResultStore::open(folder_, manifest_of(), false);
  store.append(result_of("b", 0));
  store.append(result_of("a", 2));
  store.append(result_of("a", 0));
  const StoredRun run = read_store(folder_);
  ASSERT_EQ(run.results.size(), 3U);
  EXPECT_EQ(run.results[0].cell, result_of("a", 0).cell);
  EXPECT_EQ(run.results[1].cell, result_of("a", 2).cell);
  EXPECT_EQ(run.results[2].cell, result_of("b", 0).cell);
}

TEST_F(ResultStoreTest, KeepsMessagesThatAreNotText) {
  CellResult result = result_of("a", 0);
  result.status = CellStatus::kFailed;
  result.message = "line 1\nline \xff 2";
  {
    ResultStore store = ResultStore::open(folder_, manifest_of(), false);
    store.append(result);
  }
  EXPECT_EQ(read_store(folder_).results[0].message, "line 1\nline \xEF\xBF\xBD 2");
}

TEST_F(ResultStoreTest, ThreadsDoNotTearLines) {
  {
    ResultStore store = ResultStore::open(folder_, manifest_of(), false);
    std::thread other([&] {
      for (int i = 0; i < 4; ++i) {
        store.append(result_of("b", i));
      }
    });
    for (int i = 0; i < 4; ++i) {
      store.append(result_of("a", i));
    }
    other.join();
  }
  EXPECT_EQ(read_store(folder_).results.size(), 8U);
}

TEST_F(ResultStoreTest, DropsATornLastLineAndGoesOn) {
  fill(2);
  const std::string whole = cells();
  write_cells(whole + write_cell_result(result_of("a", 2)).substr(0, 50));
  EXPECT_EQ(read_store(folder_).results.size(), 2U);
  {
    ResultStore store = ResultStore::open(folder_, manifest_of(), true);
    EXPECT_EQ(store.finished().size(), 2U);
    EXPECT_EQ(cells(), whole);
    store.append(result_of("a", 3));
  }
  EXPECT_EQ(read_store(folder_).results.size(), 3U);
}

TEST_F(ResultStoreTest, RecordsEveryStart) {
  fill(1);
  fill(0);
  EXPECT_EQ(read_store(folder_).manifest.starts.size(), 2U);
}

TEST_F(ResultStoreTest, IsNotOverwritten) {
  fill(1);
  EXPECT_THROW(ResultStore::open(folder_, manifest_of(), false), Error);
  EXPECT_EQ(read_store(folder_).results.size(), 1U);
}

TEST_F(ResultStoreTest, HasOneWriterAtATime) {
  const ResultStore store = ResultStore::open(folder_, manifest_of(), false);
  EXPECT_THROW(ResultStore::open(folder_, manifest_of(), true), Error);
}

TEST_F(ResultStoreTest, IsNotResumedWithAnythingElse) {
  fill(1);
  Suite other_suite = kSuite;
  other_suite.max_evaluations = 11;
  Manifest other_problem = manifest_of();
  other_problem.problems[0].hash = "fedcba9876543210";
  const std::pair<Manifest, const char*> cases[] = {
      {manifest_of(other_suite), "its suite"},
      {manifest_of(kSuite, 8), "seed 7, not 8"},
      {other_problem, "g on c has changed"},
  };
  for (const auto& [manifest, message] : cases) {
    EXPECT_THAT(
        test::error_of(ErrorCode::kUsage,
                       [&, &manifest = manifest] { ResultStore::open(folder_, manifest, true); }),
        HasSubstr(message))
        << message;
  }
}

TEST_F(ResultStoreTest, StartsWhereARunWasKilledBeforeItsManifest) {
  std::filesystem::create_directory(folder_);
  write_cells("");
  EXPECT_FALSE(holds_store(folder_));
  EXPECT_TRUE(ResultStore::open(folder_, manifest_of(), false).finished().empty());
}

TEST_F(ResultStoreTest, MayHaveAgentsThatThisProgramLacks) {
  fill(1);
  EXPECT_EQ(read_store(folder_).manifest.suite.agents, kSuite.agents);
}

TEST_F(ResultStoreTest, MissingFolderIsAnError) { expect_refused(ErrorCode::kIo, folder_); }

TEST_F(ResultStoreTest, MissingManifestIsAnError) {
  fill(1);
  std::filesystem::remove(folder_ + "/manifest.json");
  expect_refused(ErrorCode::kIo, "manifest.json");
}

TEST_F(ResultStoreTest, HostileCellsAreRefusedWithTheirLine) {
  const std::string good = write_cell_result(result_of("a", 0));
  const std::string second = write_cell_result(result_of("a", 1));
  const auto with = [&](const std::string& from, const std::string& to) {
    return test::with(second, from, to);
  };
  const std::string hostile[] = {
      "",                                                        // an empty line
      second.substr(0, 60),                                      // torn, and not the last
      std::string(80, '\0'),                                     // lost blocks
      with("\"repetition\":1", "\"repetition\":2"),              // id of another cell
      with("\"repetition\":1", "\"repetition\":-1"),             // negative
      with("\"step_time_us\":1.1", "\"step_time_us\":null"),     // not a number
      with("\"step_time_us\":1.1", "\"step_time_us\":1e999"),    // out of range
      with("\"status\":\"ok\"", "\"status\":\"okay\""),          // unknown status
      with("\"evaluations\":10", "\"evaluations\":10,\"x\":1"),  // unknown member
      with("\"measured\"", "\"measurd\""),                       // mistyped member
      with("\"message\":\"\"", "\"message\":\"\xff\""),          // not UTF-8
      with("\"agent\":\"a\"", "\"agent\":\"a:\""),               // malformed agent
      good,                                                      // twice
      write_cell_result(result_of("c", 0)),                      // not of the suite
  };
  fill(1);
  for (const std::string& line : hostile) {
    SCOPED_TRACE(line);
    write_cells(good + "\n" + line + "\n" + write_cell_result(result_of("b", 0)) + "\n");
    expect_refused(ErrorCode::kFormat, "cells.jsonl:2");
  }
}

TEST_F(ResultStoreTest, IsRefusedWhereAnyBitOfItChanged) {
  fill(2);
  for (const char* name : {"/cells.jsonl", "/manifest.json"}) {
    const std::string good = read_text_file(folder_ + name);
    for (std::size_t i = 0; i < good.size(); ++i) {
      std::string damaged = good;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << (i % 8)));
      std::ofstream(folder_ + name, std::ios::binary) << damaged;
      EXPECT_THROW(read_store(folder_), Error) << name << ", byte " << i;
    }
    std::ofstream(folder_ + name, std::ios::binary) << good;
  }
}

TEST_F(ResultStoreTest, ChangedByHandNeedsNoChecksum) {
  fill(2);
  std::string text = cells();
  text.replace(text.find(",\"crc32\""), std::string_view(",\"crc32\":\"01234567\"").size(), "");
  write_cells(text);
  EXPECT_EQ(read_store(folder_).results.size(), 2U);
}

TEST_F(ResultStoreTest, NothingOfOthersIsEmptied) {
  fill(1);
  const std::string diary = temporary_.path("diary.txt");
  write_text_file(diary, "Dear diary");  // without an end of line, as a torn line
  const std::string path = folder_ + "/cells.jsonl";
  std::filesystem::remove(path);
  std::filesystem::create_symlink(diary, path);
  EXPECT_THROW(ResultStore::open(folder_, manifest_of(), true), Error);
  expect_refused(ErrorCode::kIo, "cells.jsonl: expected a plain file, found a link");
  EXPECT_EQ(read_text_file(diary), "Dear diary");

  std::filesystem::remove(path);
  std::filesystem::copy_file(diary, path);
  EXPECT_THROW(ResultStore::open(folder_, manifest_of(), true), Error);
  expect_refused(ErrorCode::kFormat, "the last line is not that of a cell");
  EXPECT_EQ(cells(), "Dear diary");

  std::filesystem::remove(path);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_THROW(ResultStore::open(folder_, manifest_of(), true), Error);
  expect_refused(ErrorCode::kIo, "expected a plain file");
}

TEST_F(ResultStoreTest, ALineThatAPowerCutLeftAsZerosIsDropped) {
  fill(2);
  const std::string good = cells();
  write_cells(good + std::string(100, '\0'));
  ResultStore::open(folder_, manifest_of(), true);
  EXPECT_EQ(cells(), good);
}

TEST_F(ResultStoreTest, AnOlderStoreIsRefusedWithTheAdviceToRunAgain) {
  fill(1);
  const std::string path = folder_ + "/manifest.json";
  write_text_file(path, test::with(read_text_file(path), "\"version\": 4", "\"version\": 3"));
  expect_refused(ErrorCode::kFormat,
                 "manifest.json: /version: an older program wrote these results; run the suite "
                 "again");
}

TEST_F(ResultStoreTest, HostileManifestsAreRefused) {
  fill(1);
  const std::string path = folder_ + "/manifest.json";
  const std::string good = read_text_file(path);
  const auto with = [&](const std::string& from, const std::string& to) {
    return test::with(good, from, to);
  };
  const std::string hostile[] = {
      "",
      good.substr(0, good.size() / 2),
      with("\"version\": 4", "\"version\": 99"),
      with("emplace-run", "emplace-suite"),
      with("\"root_seed\": 7", "\"root_seed\": -7"),
      with("\"root_seed\": 7", "\"root_seed\": 18446744073709551615"),
      with("\"num_cells\": 8", "\"num_cells\": 0"),
      with("\"step_hash\"", "\"steps_hash\""),
      with("\"problems\"", "\"problem\""),
  };
  for (const std::string& text : hostile) {
    write_text_file(path, text);
    expect_refused(ErrorCode::kFormat, "manifest.json");
  }
}

}  // namespace
}  // namespace emplace::bench::result_store_test
