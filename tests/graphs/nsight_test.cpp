#include "support/errors.hpp"
#include "support/graphs.hpp"

#include <emplace/graphs/graph_format.hpp>
#include <emplace/graphs/graph_json.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <graphs/read_format.hpp>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace emplace::nsight_test {
namespace {

using test::find;
using test::producers_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;
using testing::UnorderedElementsAre;

// Returns the recording, made by data/make_nsight.py, after statements of SQL.
std::string recording_after(const std::string& sql) {
  std::string bytes = data_file("nsight.sqlite");
  sqlite3* opened = nullptr;
  int code = sqlite3_open(":memory:", &opened);
  const std::unique_ptr<sqlite3, decltype(&sqlite3_close)> database(opened, sqlite3_close);
  const auto check = [&] {
    if (code != SQLITE_OK) {
      throw std::runtime_error(fmt::format("{}: {}", sql, sqlite3_errmsg(opened)));
    }
  };
  check();
  auto* data = static_cast<unsigned char*>(sqlite3_malloc64(bytes.size()));
  std::copy(bytes.begin(), bytes.end(), data);
  const auto size = static_cast<sqlite3_int64>(bytes.size());
  code = sqlite3_deserialize(opened, "main", data, size, size,
                             SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE);
  check();
  code = sqlite3_exec(opened, sql.c_str(), nullptr, nullptr, nullptr);
  check();
  sqlite3_int64 changed_size = 0;
  const std::unique_ptr<unsigned char, decltype(&sqlite3_free)> changed(
      sqlite3_serialize(opened, "main", &changed_size, 0), sqlite3_free);
  return {changed.get(), changed.get() + changed_size};
}

OpGraph read_after(const std::string& sql, std::string_view format = "nsight-systems") {
  return read_format(format, recording_after(sql));
}

std::string error_after(const std::string& sql, std::string_view format = "nsight-systems") {
  return error_of_reading(format, recording_after(sql));
}

class Nsight : public testing::Test {
 protected:
  OpGraph graph_ =
      read_format("nsight-systems:device-class=gpu,range=iteration", data_file("nsight.sqlite"));
};

TEST_F(Nsight, IsToldByItsContent) {
  EXPECT_EQ(GraphFormats::global().guess(data_file("nsight.sqlite"), "report").name,
            "nsight-systems");
}

TEST_F(Nsight, HasKernelsCopiesAndMemsets) {
  ASSERT_EQ(num_ops(graph_), 7);
  const std::pair<const char*, double> costs[] = {
      {"Memcpy HtoD", 5},  {"encoder_gemm", 30}, {"relu_kernel", 10},  {"Memset", 2},
      {"Memcpy PtoP", 20}, {"decoder_gemm", 40}, {"gemm_backward", 15}};
  for (const auto& [name, cost_us] : costs) {
    ASSERT_EQ(find(graph_, name).measured.size(), 1U) << name;
    EXPECT_EQ(find(graph_, name).measured[0].cost_us, cost_us) << name;
    EXPECT_EQ(find(graph_, name).measured[0].device_class, "gpu") << name;
  }
  EXPECT_EQ(find(graph_, "Memcpy PtoP").bytes_read, 1 << 20);
  EXPECT_EQ(find(graph_, "Memcpy PtoP").bytes_written, 1 << 20);
  EXPECT_EQ(find(graph_, "Memset").bytes_read, 0);
  EXPECT_EQ(find(graph_, "Memset").bytes_written, 4096);
  EXPECT_EQ(graph_[boost::graph_bundle].source, "Nsight Systems profile of NVIDIA H200");
}

TEST_F(Nsight, HasRangesAroundLaunchesAsScopes) {
  EXPECT_EQ(find(graph_, "Memcpy HtoD").scope, "");
  EXPECT_EQ(find(graph_, "encoder_gemm").scope, "forward/encoder");
  EXPECT_EQ(find(graph_, "relu_kernel").scope, "forward");
  EXPECT_EQ(find(graph_, "decoder_gemm").scope, "backward");
  EXPECT_EQ(find(graph_, "gemm_backward").scope, "");  // by another thread
}

TEST_F(Nsight, OrdersStreamsAndWhatWaitsForEvents) {
  EXPECT_THAT(producers_of(graph_, "Memcpy HtoD"), IsEmpty());
  EXPECT_THAT(producers_of(graph_, "encoder_gemm"), ElementsAre("Memcpy HtoD"));
  EXPECT_THAT(producers_of(graph_, "relu_kernel"), ElementsAre("encoder_gemm"));
  EXPECT_THAT(producers_of(graph_, "Memset"), IsEmpty());
  EXPECT_THAT(producers_of(graph_, "Memcpy PtoP"), ElementsAre("relu_kernel"));
  // The copy is on a stream of the other GPU.
  EXPECT_THAT(producers_of(graph_, "decoder_gemm"), UnorderedElementsAre("Memset", "Memcpy PtoP"));
  EXPECT_THAT(producers_of(graph_, "gemm_backward"), ElementsAre("relu_kernel"));
}

TEST_F(Nsight, ReadsAllIterationsWithoutRange) {
  const OpGraph all = read_after("");
  ASSERT_EQ(num_ops(all), 14);
  EXPECT_EQ(all[0].scope, "iteration");
  EXPECT_EQ(all[1].scope, "iteration/forward/encoder");
  EXPECT_EQ(all[0].measured[0].device_class, "nsight-systems");
  // The thread waits for GPU 1 before it launches more; GPU 0 goes on in the order of its stream.
  EXPECT_THAT(producers_of(all, all[7].name),
              UnorderedElementsAre("decoder_gemm", "gemm_backward"));
  EXPECT_EQ(all[7].kind, "Memcpy HtoD");
}

// The first copy takes longer in the second iteration.
TEST(NsightIterations, AreCountedFromTheFirst) {
  const std::string bytes = recording_after(
      "UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET end = end + 7000 WHERE start > 900000");
  const auto cost_of = [&](std::string_view format) {
    const OpGraph graph = read_format(format, bytes);
    EXPECT_EQ(num_ops(graph), 7) << format;
    return find(graph, "Memcpy HtoD").measured[0].cost_us;
  };
  EXPECT_EQ(cost_of("nsight-systems:range=iteration,iteration=1"), 5);
  EXPECT_EQ(cost_of("nsight-systems:range=iteration,iteration=2"), 12);
  EXPECT_EQ(cost_of("nsight-systems:range=iteration"), 12);
}

TEST(NsightIterations, AreThoseOfEachProcess) {
  const std::string process = "(1 << 56) + (200 << 24)";
  std::string sql;
  for (const auto* table : {"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY"}) {
    sql += fmt::format("UPDATE {} SET globalPid = {} WHERE start > 900000;", table, process);
  }
  for (const auto* table : {"NVTX_EVENTS", "CUPTI_ACTIVITY_KIND_RUNTIME"}) {
    sql += fmt::format("UPDATE {} SET globalTid = {} + globalTid % 256 WHERE start > 900000;",
                       table, process);
  }
  const OpGraph graph = read_after(sql, "nsight-systems:range=iteration,iteration=1");
  // Without the memset of the second process, whose process was not changed.
  ASSERT_EQ(num_ops(graph), 13);
  EXPECT_EQ(graph[7].kind, "Memcpy HtoD");
  EXPECT_THAT(producers_of(graph, graph[7].name), IsEmpty());
}

TEST(NsightIterations, AreRefusedWhereThereAreNone) {
  EXPECT_THAT(error_after("", "nsight-systems:range=iterations"),
              HasSubstr("no NVTX range is called 'iterations'; did you mean 'iteration'?"));
  EXPECT_THAT(error_after("", "nsight-systems:range=iteration,iteration=3"),
              HasSubstr("iteration is 3, but the range 'iteration' was recorded 2 times"));
  EXPECT_THAT(error_after("", "nsight-systems:iteration=1"),
              HasSubstr("iteration needs range=NAME"));
  EXPECT_THAT(error_after("UPDATE NVTX_EVENTS SET end = start WHERE text = 'encoder'",
                          "nsight-systems:range=encoder"),
              HasSubstr("that were launched in the range 'encoder'"));
}

TEST(NsightRanges, MayBeOpenAtTheEndOrOfAProcess) {
  // A range without end contains what follows.
  const OpGraph open = read_after("UPDATE NVTX_EVENTS SET end = NULL WHERE start = 1020000");
  EXPECT_EQ(open[8].scope, "iteration/forward/encoder");
  EXPECT_EQ(open[9].scope, "iteration/forward/encoder");
  // One of start and end may be a step, but is no scope.
  const std::string started = "UPDATE NVTX_EVENTS SET eventType = 60 WHERE text = 'iteration'";
  EXPECT_EQ(read_after(started)[0].scope, "");
  EXPECT_EQ(num_ops(read_after(started, "nsight-systems:range=iteration")), 7);
}

// Without what else the profiler can record, a stream's order and the costs are left.
TEST(NsightTables, MayBeMissing) {
  const OpGraph graph = read_after(
      "DROP TABLE NVTX_EVENTS; DROP TABLE CUPTI_ACTIVITY_KIND_RUNTIME; DROP TABLE TARGET_INFO_GPU;"
      "DROP TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION; DROP TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT;"
      "DROP TABLE CUPTI_ACTIVITY_KIND_MEMSET; DROP TABLE META_DATA_EXPORT");
  ASSERT_EQ(num_ops(graph), 12);
  EXPECT_EQ(find(graph, "encoder_gemm").scope, "");
  EXPECT_THAT(producers_of(graph, "decoder_gemm"), IsEmpty());
  EXPECT_THAT(producers_of(graph, "gemm_backward"), ElementsAre("relu_kernel"));
  EXPECT_EQ(graph[boost::graph_bundle].source, "Nsight Systems profile");
}

TEST(NsightTables, MayHaveKernelsWithoutLaunch) {
  const OpGraph graph = read_after(
      "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET correlationId = NULL WHERE start = 30000;"
      "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET correlationId = 4711 WHERE start = 62000");
  EXPECT_EQ(find(graph, "encoder_gemm").scope, "");
  EXPECT_EQ(find(graph, "relu_kernel").scope, "");
  EXPECT_THAT(producers_of(graph, "relu_kernel"), ElementsAre("encoder_gemm"));
}

TEST(NsightTables, MayHaveGraphsOfKernels) {
  const OpGraph graph = read_after(
      "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INT, end INT, deviceId INT, streamId "
      "INT,"
      "correlationId INT, globalPid INT, graphId INT);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE SELECT 20000, 25000, deviceId, streamId, "
      "correlationId, globalPid, 1 FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE start = 30000");
  EXPECT_EQ(find(graph, "CUDA graph").measured[0].cost_us, 5);
  EXPECT_EQ(find(graph, "CUDA graph").scope, "iteration/forward/encoder");
  EXPECT_THAT(producers_of(graph, "CUDA graph"), ElementsAre("Memcpy HtoD"));
}

// Whoever normalizes to UTC (nsys export --ts-normalize) keeps each nanosecond.
TEST(NsightTables, MayHaveTimesSince1970) {
  std::string sql;
  for (const auto* table : {"NVTX_EVENTS", "CUPTI_ACTIVITY_KIND_RUNTIME",
                            "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY",
                            "CUPTI_ACTIVITY_KIND_MEMSET", "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"}) {
    sql += fmt::format(
        "UPDATE {} SET start = start + 1800000000123456789, "
        "end = end + 1800000000123456789;",
        table);
  }
  EXPECT_EQ(write_graph_json(read_after(sql)), write_graph_json(read_after("")));
}

// The same events on one GPU as Kineto writes them.
TEST(NsightAndKineto, GiveTheSameGraph) {
  const auto event = [](std::string_view category, std::string_view name, int process, int thread,
                        int at, int us, int correlation, const std::string& more = "") {
    return fmt::format(R"({{"ph": "X", "cat": "{}", "name": "{}", "pid": {}, "tid": {}, "ts": {},
                            "dur": {}, "args": {{"correlation": {}{}}}}})",
                       category, name, process, thread, at, us, correlation, more);
  };
  const auto launch = [&](int correlation, int at, int thread = 7) {
    return event("cuda_runtime", "cudaLaunchKernel", 100, thread, at, 2, correlation);
  };
  const std::vector<std::string> events = {
      event("user_annotation", "iteration", 100, 7, 0, 400, 0),
      event("user_annotation", "forward", 100, 7, 10, 95, 0),
      event("user_annotation", "encoder", 100, 7, 20, 30, 0),
      event("user_annotation", "backward", 100, 7, 110, 90, 0),
      launch(1, 5),
      launch(2, 25),
      launch(3, 60),
      launch(5, 75),
      launch(6, 80),
      launch(7, 85),
      launch(8, 130, 8),
      event("gpu_memcpy", "Memcpy HtoD", 0, 7, 10, 5, 1),
      event("kernel", "encoder_gemm", 0, 7, 30, 30, 2),
      event("kernel", "relu_kernel", 0, 7, 62, 10, 3),
      event("gpu_memcpy", "Memcpy PtoP", 0, 8, 90, 20, 7),
      event("kernel", "gemm_backward", 0, 7, 135, 15, 8),
      event("cuda_sync", "Stream Wait Event", 0, 8, 80, 1, 6,
            R"(, "stream": 8, "wait_on_stream": 7, "wait_on_cuda_event_record_corr_id": 5)")};
  OpGraph kineto = read_format("kineto:device-class=gpu",
                               fmt::format(R"({{"traceEvents": [{}]}})", fmt::join(events, ",")));
  std::string sql;
  for (const auto* table : {"KERNEL", "MEMCPY", "MEMSET", "SYNCHRONIZATION"}) {
    sql += fmt::format("DELETE FROM CUPTI_ACTIVITY_KIND_{} WHERE deviceId = 1 OR start > 900000;",
                       table);
  }
  sql += "UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET bytes = 0";
  OpGraph nsight = read_after(sql, "nsight-systems:device-class=gpu");
  kineto[boost::graph_bundle].source = nsight[boost::graph_bundle].source;
  EXPECT_EQ(num_ops(nsight), 5);
  EXPECT_EQ(boost::num_edges(nsight), 4U);
  EXPECT_EQ(write_graph_json(nsight), write_graph_json(kineto));
}

TEST(NsightMistakes, AreToldWithTheirPlace) {
  const std::string kernels = "CUPTI_ACTIVITY_KIND_KERNEL";
  const auto set = [&](const std::string& value) {
    return "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET " + value + " WHERE start = 62000";
  };
  const std::string nullable =
      "CREATE TABLE k AS SELECT * FROM CUPTI_ACTIVITY_KIND_KERNEL; DROP TABLE "
      "CUPTI_ACTIVITY_KIND_KERNEL; ALTER TABLE k RENAME TO CUPTI_ACTIVITY_KIND_KERNEL;";
  const std::string drop_activities =
      "DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL; DROP TABLE CUPTI_ACTIVITY_KIND_MEMCPY; DROP TABLE "
      "CUPTI_ACTIVITY_KIND_MEMSET;";
  const std::pair<std::string, std::string> mistakes[] = {
      {set("end = 61000"), kernels + ", row 2: it ends at 61000, before it starts at 62000"},
      {set("start = -1"),
       kernels + ", row 2: expected a whole number of at least 0 in column 'start', found -1"},
      {set("end = 'soon'"), kernels + ", row 2: expected a whole number in column 'end'"},
      {nullable + set("end = NULL"),
       kernels + ", row 2: expected a whole number in column 'end', found NULL"},
      {nullable + "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN streamId",
       kernels + ", row 1: expected a whole number in column 'streamId', found no such column"},
      {set("shortName = 999"),
       kernels + ", row 2: expected an id of StringIds in column 'shortName', found 999"},
      {"UPDATE StringIds SET value = CAST(x'ff41' AS TEXT)",
       R"(StringIds, row 1: expected text in UTF-8 in column 'value', found '\xffA')"},
      {"UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET bytes = -5",
       "CUPTI_ACTIVITY_KIND_MEMCPY, row 1: expected a whole number of at least 0 in column "
       "'bytes'"},
      {"UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET bytes = 9223372036854775807",
       "the sum of bytes over all ops does not fit 64 bits"},
      {"UPDATE NVTX_EVENTS SET end = 1 WHERE start = 20000",
       "NVTX_EVENTS, row 4: it ends at 1, before it starts at 20000"},
      {"UPDATE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION SET eventId = 'e'",
       "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, row 1: expected a whole number in column 'eventId'"},
      {drop_activities, "expected kernels, copies or memsets of Nsight Systems in the tables"},
  };
  for (const auto& [sql, message] : mistakes) {
    EXPECT_THAT(error_after(sql), HasSubstr(message)) << sql;
  }
}

// What would run code of the file, or read other files.
TEST(NsightMistakes, AreViewsAndVirtualTables) {
  const std::string drop = "DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL;";
  for (const std::string& made :
       {drop + "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE r(start) AS (SELECT 1 "
               "UNION ALL SELECT start + 1 FROM r) SELECT start FROM r",
        drop + "CREATE VIRTUAL TABLE CUPTI_ACTIVITY_KIND_KERNEL USING fts4(start)"}) {
    EXPECT_THAT(error_after(made),
                HasSubstr("CUPTI_ACTIVITY_KIND_KERNEL: expected a table, found a view or a virtual "
                          "table"));
  }
}

TEST(NsightMistakes, AreBrokenFiles) {
  const std::string bytes = data_file("nsight.sqlite");
  EXPECT_THAT(error_of_reading("nsight-systems", bytes.substr(0, bytes.size() / 2)),
              HasSubstr("SQLite cannot read it: database disk image is malformed"));
  EXPECT_THAT(error_of_reading("nsight-systems", "no database"),
              HasSubstr("expected an SQLite database"));
}

// Many rows may have one long text.
TEST(NsightTexts, AreCutBetweenLetters) {
  const OpGraph graph = read_after(
      "UPDATE StringIds SET value = 'k' || replace(hex(zeroblob(1000)), '0', 'ä') "
      "WHERE value = 'relu_kernel'");
  EXPECT_EQ(graph[2].name.size(), 999U);
  EXPECT_THAT(graph[2].name, StartsWith("kä"));
}

}  // namespace
}  // namespace emplace::nsight_test
