#include "graphs/read_format.hpp"

#include <boost/range/iterator_range.hpp>

#include <utility>
#include <vector>

namespace emplace::stg_test {
namespace {

// A fork of two after the first task, and a join; the first and the last line are no tasks.
constexpr std::string_view kFork =
    "   4\n"
    "0 0 0\n"
    "1 5 1 0\n"
    "2 3 1 1\r\n"
    "3 4 1 1\n"
    "4 2 2 2 3\n"
    "5 0 1 4\n"
    "# CP Length : 11\n"
    "#\n";

TEST(Stg, TasksBecomeOpsAndPrecedencesOrderThem) {
  const OpGraph graph = read_format("stg", kFork);
  ASSERT_EQ(num_ops(graph), 4);
  EXPECT_EQ(graph[boost::graph_bundle].name, "file");
  std::vector<double> costs_us;
  for (const auto op : boost::make_iterator_range(boost::vertices(graph))) {
    EXPECT_EQ(graph[op].measured.at(0).device_class, "stg");
    costs_us.push_back(graph[op].measured.at(0).cost_us);
  }
  EXPECT_THAT(costs_us, testing::ElementsAre(5, 3, 4, 2));
  EXPECT_EQ(graph[0].name, "task_1");
  std::vector<std::pair<OpId, OpId>> edges;
  for (const auto edge : boost::make_iterator_range(boost::edges(graph))) {
    EXPECT_EQ(graph[edge].output, Dependency::kControl);
    edges.emplace_back(boost::source(edge, graph), boost::target(edge, graph));
  }
  EXPECT_THAT(edges, testing::UnorderedElementsAre(std::pair(0, 1), std::pair(0, 2),
                                                   std::pair(1, 3), std::pair(2, 3)));
}

TEST(Stg, TimesMayHaveAnotherUnitAndClass) {
  const OpGraph graph = read_format("stg:us-per-unit=100,device-class=gpu-k80", kFork);
  EXPECT_EQ(graph[1].measured.at(0).cost_us, 300);
  EXPECT_EQ(graph[1].measured.at(0).device_class, "gpu-k80");
}

TEST(Stg, SaysWhatIsWrong) {
  const Mistakes mistakes = {
      {"", "1: expected the number of tasks, from 1 to"},
      {"x", "expected the number of tasks"},
      {"0\n", "expected the number of tasks, from 1 to"},
      {"99999999999999999999", "expected the number of tasks"},
      {"1\n0 0 0\n1 5 1 0\n", "expected the number of the task, 2, found"},
      {"1\n0 0 0\n2 5 1 0\n2 0 1 1\n", "3: expected the number of the task, 1, found"},
      {"1\n0 7 0\n1 5 1 0\n2 0 1 1\n", "2: expected a processing time, 0, found"},
      {"1\n0 0 0\n1 -5 1 0\n2 0 1 1\n", "3: expected a processing time, from 0 to"},
      {"1\n0 0 0\n1 5.5 1 0\n2 0 1 1\n", "3: expected a processing time"},
      {"1\n0 0 0\n1 5 1 3\n2 0 1 1\n", "3: expected a predecessor, from 0 to 2"},
      {"1\n0 0 0\n1 5 9 0\n2 0 1 1\n", "3: expected the number of predecessors, from 0 to 2"},
      {"1\n0 0 0\n1 5 1 0\n2 0 1 1\n3 1 0\n", "5: expected a remark after the last task"},
      {"2\n0 0 0\n1 5 1 2\n2 5 1 1\n3 0 1 2\n", "cycle"}};
  for (const auto& [bytes, message] : mistakes) {
    EXPECT_THAT(
        test::error_of([&, &text = bytes] { read_format("stg", text); }),
        testing::AllOf(testing::StartsWith("folder/file.bin:"), testing::HasSubstr(message)));
  }
}

}  // namespace
}  // namespace emplace::stg_test
