#include "support/graphs.hpp"

#include <emplace/graphs/graph_format.hpp>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <graphs/read_format.hpp>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace emplace::kineto_test {
namespace {

using test::find;
using test::inputs_of;
using test::producers_of;
using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> before(const OpGraph& graph, std::string_view name) {
  EXPECT_THAT(inputs_of(graph, name), testing::Each(testing::EndsWith(":-1")));
  return producers_of(graph, name);
}

// A run on a GPU with two streams, as Kineto writes it; made by hand after its description.
class Kineto : public testing::Test {
 protected:
  std::string text_ = data_file("kineto.json");
  OpGraph graph_ = read_format("kineto:device-class=gpu", text_);
};

TEST_F(Kineto, IsToldByItsContent) {
  EXPECT_EQ(GraphFormats::global().guess(text_, "trace").name, "kineto");
  EXPECT_EQ(GraphFormats::global().guess(R"( [{"name": "a", "ph": "X", "ts": 1}])", "t").name,
            "kineto");
}

TEST_F(Kineto, HasTheWorkThatShapesTell) {
  EXPECT_EQ(find(graph_, "aten::linear").kind, "matmul");
  EXPECT_EQ(find(graph_, "aten::linear").flops, 2 * 32 * 64 * 16);
  // 4 maps of 3 x 16 x 16, 8 filters of 3 x 3 with stride 2 and padding 1: 8 x 8.
  EXPECT_EQ(find(graph_, "aten::conv2d").flops, 2 * (4 * 8 * 8 * 8) * (3 * 3 * 3));
  EXPECT_EQ(find(graph_, "aten::conv2d").shape,
            (std::vector<std::int64_t>{4, 3, 16, 16, 8, 3, 3, 2, 2, 1, 8, 8}));
  EXPECT_EQ(find(graph_, "aten::relu").flops, 4 * 8 * 8 * 8);
  EXPECT_EQ(find(graph_, "aten::relu").bytes_read, 4 * 4 * 8 * 8 * 8);
}

TEST_F(Kineto, FindsKernelsByExternalIdByLaunchOrAlone) {
  EXPECT_EQ(find(graph_, "aten::linear").measured[0].cost_us, 9.5);
  EXPECT_EQ(find(graph_, "aten::linear").measured[0].device_class, "gpu");
  // Neither kernel nor launch has an id: the launch was within the operator.
  EXPECT_EQ(find(graph_, "aten::conv2d").measured[0].cost_us, 3.25);
  EXPECT_EQ(find(graph_, "aten::conv2d").scope, "decoder");
  // No operator launched this one.
  EXPECT_EQ(find(graph_, "triton_poi_fused").measured[0].cost_us, 2);
}

TEST_F(Kineto, OrdersTheOpsOfAStream) {
  EXPECT_THAT(before(graph_, "aten::linear"), IsEmpty());
  EXPECT_THAT(before(graph_, "aten::conv2d"), IsEmpty());  // another stream
  EXPECT_THAT(before(graph_, "aten::relu"), ElementsAre("aten::linear"));
  EXPECT_THAT(before(graph_, "triton_poi_fused"), ElementsAre("aten::relu"));
}

TEST_F(Kineto, CanSplitOperatorsIntoThoseThatTheyCall) {
  const OpGraph graph = read_format("kineto:level=innermost", text_);
  EXPECT_EQ(find(graph, "aten::addmm").flops, 2 * 32 * 64 * 16);
  EXPECT_EQ(find(graph, "aten::addmm").measured[0].cost_us, 9.5);
}

// The list that builds without Kineto export; times are whole microseconds.
TEST(KinetoList, OrdersTheOpsOfAThreadByTheirOwnTimes) {
  const OpGraph graph = read_format("kineto", R"([
    {"name": "aten::relu", "ph": "X", "ts": 70, "dur": 40, "tid": 1, "pid": "CPU functions"},
    {"name": "aten::clamp_min", "ph": "X", "ts": 70, "dur": 40, "tid": 1, "pid": "CPU functions"},
    {"name": "Optimizer.step#SGD.step", "ph": "X", "ts": 110, "dur": 9, "tid": 1,
     "pid": "CPU functions", "args": {}},
    {"name": "aten::add_", "ph": "X", "ts": 111, "dur": 3, "tid": 1, "pid": "CPU functions"}])");
  ASSERT_EQ(num_ops(graph), 2);
  EXPECT_EQ(find(graph, "aten::relu").measured[0].cost_us, 40);
  EXPECT_EQ(find(graph, "aten::relu").flops, 0);  // shapes were not recorded
  EXPECT_EQ(find(graph, "aten::add_").phase, Phase::kUpdate);
  EXPECT_THAT(before(graph, "aten::add_"), ElementsAre("aten::relu"));
}

// An operator on tensors of these types and dimensions, lists in JSON without their brackets.
std::string typed_event(const std::string& types, const std::string& dimensions, int at) {
  return fmt::format(
      R"({{"ph": "X", "cat": "cpu_op", "name": "aten::add", "ts": {}, "dur": 1, "pid": 1, "tid": 1,
          "args": {{"Input Dims": [{}], "Input type": [{}]}}}})",
      at, dimensions, types);
}

TEST(KinetoTypes, HaveTheirBytes) {
  const std::pair<const char*, std::int64_t> bytes_of[] = {{"float", 4},
                                                           {"int", 4},
                                                           {"c10::Half", 2},
                                                           {"c10::Float8_e4m3fn", 1},
                                                           {"c10::Float8_e5m2", 1},
                                                           {"short", 2},
                                                           {"short int", 2},
                                                           {"c10::complex<float>", 8},
                                                           {"c10::complex<double>", 16}};
  for (const auto& [type, bytes] : bytes_of) {
    const OpGraph graph = read_format(
        "kineto",
        "[" + typed_event(fmt::format("\"{}\", \"Scalar\"", type), "[1000], []", 1) + "]");
    EXPECT_EQ(graph[0].bytes_read, 1000 * bytes) << type;
    EXPECT_EQ(graph[boost::graph_bundle].source, "Kineto trace") << type;
  }
}

// A list of tensors has no type for each. Events may stand in another order than they ran.
TEST(KinetoTypes, ThatAreUnknownAreTold) {
  const OpGraph graph = read_format(
      "kineto", "[" + typed_event(R"("c10::Strange", "Scalar")", "[1000], []", 9) + "," +
                    typed_event(R"("TensorList", "c10::Strange")", "[[10], [20]], [5]", 1) + "]");
  EXPECT_EQ(graph[0].bytes_read, 4 * (10 + 20 + 5));
  EXPECT_EQ(graph[boost::graph_bundle].source,
            "Kineto trace; elements of unknown types count as 4 bytes: TensorList (1), "
            "c10::Strange (2)");
}

// The first switch of cuDNN's convolution is `benchmark`: 28 x 28 numbers of each of 128 filters.
TEST(KinetoSwitches, OfOtherMeaningDoNotTranspose) {
  const OpGraph graph = read_format("kineto", R"([
    {"ph": "X", "cat": "cpu_op", "name": "aten::cudnn_convolution", "ts": 1, "dur": 5, "pid": 1,
     "tid": 1,
     "args": {"Input Dims": [[8, 64, 56, 56], [128, 64, 3, 3], [], [], [], [], [], [], []],
     "Concrete Inputs": ["", "", "[1, 1]", "[2, 2]", "[1, 1]", "1", "True", "False", "True"]}}])");
  EXPECT_EQ(graph[0].kind, "conv2d");
  EXPECT_EQ(graph[0].flops, 2LL * (8 * 128 * 28 * 28) * (64 * 3 * 3));
}

TEST(KinetoMistakes, AreToldWithTheirPlace) {
  const auto event = [](const std::string& members) {
    return R"({"traceEvents": [{"ph": "X", "cat": "cpu_op", )" + members + "}]}";
  };
  const Mistakes mistakes = {
      {R"({"traceEvents": []})", "/traceEvents: no event is an operator of PyTorch"},
      {R"({"events": []})", "the member 'traceEvents' is missing"},
      {event(R"("name": "aten::add", "dur": 1)"), "/traceEvents/0: the member 'ts' is missing"},
      {event(R"("name": "aten::add", "ts": 1, "dur": -1)"), "/traceEvents/0/dur: expected"},
      {event(R"("name": "aten::add", "ts": 1, "dur": 1, "args": {"Input Dims": [[-1]]})"),
       "/traceEvents/0/args/Input Dims/0/0: expected"},
      {event(
           R"("name": "a::b", "ts": 1, "dur": 1, "args": {"Input Dims": [[9223372036854775807, 2]]})"),
       "/traceEvents/0/args/Input Dims/0: the size of the tensor does not fit 64 bits"},
  };
  expect_errors("kineto", mistakes);
}

}  // namespace
}  // namespace emplace::kineto_test
