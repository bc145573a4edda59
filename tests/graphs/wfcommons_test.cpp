#include "support/graphs.hpp"
#include "tests/support/source_path.hpp"

#include <emplace/base/text_file.hpp>
#include <emplace/graphs/graph_format.hpp>

#include <boost/range/iterator_range.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace emplace::wfcommons_test {
namespace {

using testing::UnorderedElementsAre;

// make_samples.py: split -> three of blast -> cat -> clean, each blast with the same 5000 bytes of
// a database and a chunk of its own.
OpGraph read(const std::string& version) {
  const std::string path = test::source_path("tests/graphs/data/wfcommons-" + version + ".json");
  return GraphFormats::global().read(Spec::parse("wfcommons"), read_text_file(path), path);
}

// The bytes of the edges into an op; -1 for a control edge.
std::vector<std::int64_t> bytes_into(const OpGraph& graph, std::size_t op) {
  std::vector<std::int64_t> bytes;
  for (const auto edge : boost::make_iterator_range(boost::in_edges(op, graph))) {
    const std::int32_t output = graph[edge].output;
    bytes.push_back(
        output < 0
            ? -1
            : graph[boost::source(edge, graph)].outputs.at(static_cast<std::size_t>(output)).bytes);
  }
  return bytes;
}

TEST(WfCommons, TasksBecomeOpsThatHandOverTheirFiles) {
  const OpGraph graph = read("1.5");
  EXPECT_EQ(graph[boost::graph_bundle].name, "search");
  ASSERT_EQ(num_ops(graph), 6);
  EXPECT_EQ(boost::num_edges(graph), 10U);
  EXPECT_EQ(graph[2].name, "blast_ID000003");
  EXPECT_EQ(graph[2].scope, "blast");
  EXPECT_EQ(graph[2].measured[0].device_class, "wfcommons");
  EXPECT_EQ(graph[2].measured[0].cost_us, 20'000'000);  // 20 s
  EXPECT_EQ(graph[2].workspace_bytes, 3'000'000);
  EXPECT_THAT(bytes_into(graph, 2), UnorderedElementsAre(5000, 200));
  EXPECT_THAT(bytes_into(graph, 4), UnorderedElementsAre(10, 20, 30));
  // No file goes from cat to clean.
  EXPECT_THAT(bytes_into(graph, 5), UnorderedElementsAre(-1));
}

TEST(WfCommons, ConsumersOfAFileShareOneTensor) {
  const OpGraph graph = read("1.5");
  ASSERT_EQ(graph[0].outputs.size(), 4U);
  int uses_of_database = 0;
  for (const auto edge : boost::make_iterator_range(boost::out_edges(0, graph))) {
    uses_of_database += graph[edge].output == 0 ? 1 : 0;
  }
  EXPECT_EQ(uses_of_database, 3);
}

TEST(WfCommons, AnOlderVersionOfTheSameWorkflowGivesTheSameGraph) {
  test::expect_equal(read("1.4"), read("1.5"));
}

TEST(WfCommons, AnEdgeMayStandAtOneEndOnlyAndParentsBeCalledByName) {
  // Version 1.2: no ids, and sizes and runtimes without units in their names.
  const OpGraph graph = GraphFormats::global().read(Spec::parse("wfcommons:device-class=cpu"), R"(
    {"name": "old", "schemaVersion": "1.2", "workflow": {"tasks": [
      {"name": "a", "runtime": 0.5, "parents": [], "children": ["b"],
       "files": [{"link": "output", "name": "f", "size": 7}]},
      {"name": "b", "parents": [], "files": [{"link": "input", "name": "f", "size": 7}]},
      {"name": "c", "parents": ["b"], "files": []}]}})",
                                                    "old.json");
  EXPECT_THAT(bytes_into(graph, 1), UnorderedElementsAre(7));
  EXPECT_THAT(bytes_into(graph, 2), UnorderedElementsAre(-1));
  EXPECT_EQ(graph[0].measured[0].device_class, "cpu");
  EXPECT_EQ(graph[0].measured[0].cost_us, 500'000);
  EXPECT_TRUE(graph[1].measured.empty());
}

// Version 1.0 calls tasks jobs and gives memory in kilobytes. A transfer lists what it moves once,
// as what it stages in or out.
TEST(WfCommons, ATransferHandsOnWhatItMoves) {
  const OpGraph graph = GraphFormats::global().read(Spec::parse("wfcommons"), R"(
    {"name": "old", "schemaVersion": "1.0", "workflow": {"makespan": 9, "executedAt": "x", "jobs": [
      {"name": "stage_in_0", "type": "transfer", "runtime": 1,
       "files": [{"link": "input", "name": "f", "size": 100},
                 {"link": "input", "name": "g", "size": 7}]},
      {"name": "work_ID1", "type": "compute", "runtime": 2, "memory": 3, "parents": ["stage_in_0"],
       "files": [{"link": "input", "name": "f", "size": 100},
                 {"link": "output", "name": "h", "size": 50}]},
      {"name": "stage_out_0", "type": "transfer", "runtime": 1, "parents": ["work_ID1"],
       "files": [{"link": "output", "name": "h", "size": 50}]},
      {"name": "last_ID2", "type": "compute", "runtime": 1, "parents": ["stage_out_0"],
       "files": [{"link": "input", "name": "h", "size": 50}]}]}})",
                                                    "old.json");
  ASSERT_EQ(num_ops(graph), 4);
  EXPECT_THAT(bytes_into(graph, 1), UnorderedElementsAre(100));
  EXPECT_THAT(bytes_into(graph, 2), UnorderedElementsAre(50));
  EXPECT_THAT(bytes_into(graph, 3), UnorderedElementsAre(50));
  EXPECT_EQ(graph[1].workspace_bytes, 3000);
}

// Two files of one name are two if their folders differ.
TEST(WfCommons, FilesOfTwoFoldersAreTwo) {
  const OpGraph graph = GraphFormats::global().read(Spec::parse("wfcommons"), R"(
    {"name": "old", "schemaVersion": "1.4", "workflow": {"tasks": [
      {"name": "a", "files": [{"link": "output", "name": "f", "path": "x/", "sizeInBytes": 100},
                              {"link": "output", "name": "f", "path": "y/", "sizeInBytes": 7}]},
      {"name": "b", "parents": ["a"],
       "files": [{"link": "input", "name": "f", "path": "y/", "sizeInBytes": 7}]}]}})",
                                                    "old.json");
  EXPECT_THAT(bytes_into(graph, 1), UnorderedElementsAre(7));
}

}  // namespace
}  // namespace emplace::wfcommons_test
