#include "support/graphs.hpp"

#include <emplace/graphs/graph_format.hpp>

#include <boost/range/iterator_range.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <graphs/read_format.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace emplace::kineto_test {
namespace {

using test::find;
using test::inputs_of;
using test::producers_of;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

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

// --- Traces made by hand ------------------------------------------------------------------------

std::string event(std::string_view category, std::string_view name, int process, int thread, int at,
                  int us, const std::string& arguments) {
  return fmt::format(
      R"({{"ph": "X", "cat": "{}", "name": "{}", "pid": {}, "tid": {}, "ts": {}, "dur": {},
          "args": {{{}}}}})",
      category, name, process, thread, at, us, arguments);
}

std::string op_event(std::string_view name, int external, int at, int us) {
  return event("cpu_op", name, 1, 11, at, us, fmt::format(R"("External id": {})", external));
}

std::string launch_event(int correlation, int at) {
  return event("cuda_runtime", "cudaLaunchKernel", 1, 11, at, 1,
               fmt::format(R"("correlation": {})", correlation));
}

std::string kernel_event(std::string_view name, int correlation, int stream, int at, int us) {
  return event("kernel", name, 0, stream, at, us,
               fmt::format(R"("correlation": {}, "stream": {})", correlation, stream));
}

OpGraph read_events(const std::vector<std::string>& events, std::string_view format = "kineto") {
  return read_format(format, fmt::format(R"({{"traceEvents": [{}]}})", fmt::join(events, ", ")));
}

double cost_of(const OpGraph& graph, std::string_view name) {
  const std::vector<MeasuredCost>& measured = find(graph, name).measured;
  return measured.empty() ? -1 : measured[0].cost_us;
}

double critical_path(const OpGraph& graph) {
  std::vector<double> end(boost::num_vertices(graph), 0);
  for (const OpId op : topological_order(graph)) {
    const auto index = static_cast<std::size_t>(op);
    double begin = 0;
    for (const auto edge : boost::make_iterator_range(boost::in_edges(index, graph))) {
      begin = std::max(begin, end[boost::source(edge, graph)]);
    }
    end[index] = begin + graph[index].measured.at(0).cost_us;
  }
  return *std::ranges::max_element(end);
}

// Traces of 2023: the "External id" of a kernel and its launch is the number of the launch.
TEST(KinetoLaunches, BelongToTheOperatorAroundThem) {
  const auto both = [](int number) {
    return fmt::format(R"("External id": {}, "correlation": {})", number, number);
  };
  const OpGraph graph =
      read_events({op_event("aten::rand", 1, 0, 20), op_event("aten::uniform_", 2, 5, 10),
                   op_event("aten::mm", 3, 30, 20), op_event("aten::add", 4, 60, 20),
                   event("cuda_runtime", "cudaLaunchKernel", 1, 11, 8, 1, both(3)),
                   event("cuda_runtime", "cudaLaunchKernel", 1, 11, 35, 1, both(4)),
                   event("cuda_runtime", "cudaLaunchKernel", 1, 11, 65, 1, both(5)),
                   event("kernel", "uniform", 0, 7, 20, 1000, both(3)),
                   event("kernel", "gemm", 0, 7, 1030, 100, both(4)),
                   event("kernel", "add", 0, 7, 1140, 10, both(5))});
  ASSERT_EQ(num_ops(graph), 3);
  EXPECT_EQ(cost_of(graph, "aten::rand"), 1000);
  EXPECT_EQ(cost_of(graph, "aten::mm"), 100);
  EXPECT_EQ(cost_of(graph, "aten::add"), 10);
}

// Such an id says nothing where the launch was not recorded, either.
TEST(KinetoLaunches, AreNotGuessedFromNumbersOfOtherThings) {
  const auto both = [](int number) {
    return fmt::format(R"("External id": {}, "correlation": {})", number, number);
  };
  const OpGraph graph =
      read_events({op_event("aten::mm", 3, 30, 20), op_event("aten::add", 4, 60, 20),
                   event("cuda_runtime", "cudaLaunchKernel", 1, 11, 35, 1, both(4)),
                   event("kernel", "gemm", 0, 7, 1030, 100, both(4)),
                   event("kernel", "lost", 0, 7, 1200, 10, both(3))});
  EXPECT_EQ(cost_of(graph, "aten::mm"), 100);
  EXPECT_EQ(cost_of(graph, "aten::add"), 0);
  EXPECT_EQ(cost_of(graph, "lost"), 10);
}

// Times in whole microseconds: one operator ends as the next begins and launches.
TEST(KinetoLaunches, OfARoundedMomentBelongToTheOperatorWithTheirId) {
  for (const int external : {1, 2}) {
    const OpGraph graph =
        read_events({op_event("aten::mm", 1, 0, 8), op_event("aten::add", 2, 8, 4),
                     event("cuda_runtime", "cudaLaunchKernel", 1, 11, 8, 1,
                           fmt::format(R"("External id": {}, "correlation": 77)", external)),
                     kernel_event("k", 77, 7, 20, 5)});
    EXPECT_EQ(cost_of(graph, "aten::mm"), external == 1 ? 5 : 0) << external;
    EXPECT_EQ(cost_of(graph, "aten::add"), external == 2 ? 5 : 0) << external;
  }
}

// PyTorch 2 wraps the launch of a collective in an annotation.
TEST(KinetoLaunches, WithinAnAnnotationBelongToTheOperatorAroundIt) {
  const OpGraph graph =
      read_events({op_event("c10d::allreduce_", 1, 0, 30),
                   event("user_annotation", "nccl:all_reduce", 1, 11, 2, 20, R"("External id": 2)"),
                   launch_event(5, 4), kernel_event("ncclDevKernel_AllReduce", 5, 9, 40, 70)});
  ASSERT_EQ(num_ops(graph), 1);
  EXPECT_EQ(cost_of(graph, "c10d::allreduce_"), 70);
}

// Kernels of Triton or CUDA C++, which no operator of PyTorch launches.
TEST(KinetoLaunches, WithinAnAnnotationAloneHaveItsScopeAndPhase) {
  const OpGraph graph = read_events(
      {event("user_annotation", "encoder", 1, 11, 0, 50, ""),
       event("user_annotation", "attention", 1, 11, 10, 20, ""),
       event("user_annotation", "Optimizer.step#SGD.step", 1, 11, 60, 20, ""), launch_event(1, 15),
       launch_event(2, 40), launch_event(3, 55), launch_event(4, 70),
       kernel_event("a", 1, 7, 100, 5), kernel_event("b", 2, 7, 105, 5),
       kernel_event("c", 3, 7, 110, 5), kernel_event("d", 4, 7, 115, 5)});
  ASSERT_EQ(num_ops(graph), 4);
  EXPECT_EQ(find(graph, "a").scope, "encoder/attention");
  EXPECT_EQ(find(graph, "b").scope, "encoder");
  EXPECT_EQ(find(graph, "c").scope, "");
  EXPECT_EQ(find(graph, "d").phase, Phase::kUpdate);
}

// A process and a thread may have the numbers of a GPU and its stream, as in containers.
TEST(KinetoLaunches, AreNotMistakenForStreams) {
  const OpGraph graph =
      read_events({event("cpu_op", "aten::mm", 0, 7, 0, 100, R"("External id": 1)"),
                   event("kernel", "lone", 0, 7, 10, 5, R"("correlation": 9)")});
  ASSERT_EQ(num_ops(graph), 2);
  EXPECT_EQ(cost_of(graph, "aten::mm"), 0);
  EXPECT_EQ(cost_of(graph, "lone"), 5);
}

TEST(KinetoLaunches, WhoseKernelIsMissingLeaveTheCostOpen) {
  const OpGraph graph = read_events({op_event("aten::mm", 1, 0, 5), op_event("aten::add", 2, 6, 5),
                                     op_event("aten::view", 3, 12, 1), launch_event(101, 1),
                                     launch_event(102, 7), kernel_event("add", 102, 7, 20, 50)});
  EXPECT_TRUE(find(graph, "aten::mm").measured.empty());
  EXPECT_EQ(cost_of(graph, "aten::add"), 50);
  EXPECT_EQ(cost_of(graph, "aten::view"), 0);  // launched nothing
}

TEST(KinetoStreams, KeepTheirOrderAcrossAKernelWithoutOperator) {
  const OpGraph graph = read_events(
      {op_event("aten::mm", 1, 0, 5), op_event("aten::add", 2, 6, 5), launch_event(101, 1),
       launch_event(103, 7), kernel_event("gemm", 101, 7, 20, 40),
       kernel_event("lone_kernel", 102, 7, 60, 60), kernel_event("add_kernel", 103, 7, 120, 50)});
  EXPECT_THAT(before(graph, "lone_kernel"), ElementsAre("aten::mm"));
  EXPECT_THAT(before(graph, "aten::add"), ElementsAre("lone_kernel"));
  EXPECT_EQ(critical_path(graph), 40 + 60 + 50);
}

// The first operator's kernels are first on one stream and last on another.
TEST(KinetoStreams, KeepTheirOrderWhereTwoStreamsDisagree) {
  const OpGraph graph = read_events(
      {op_event("aten::mm", 1, 0, 5), op_event("aten::add", 2, 6, 5),
       op_event("aten::mul", 3, 12, 5), launch_event(1, 1), launch_event(2, 2), launch_event(3, 7),
       launch_event(4, 8), launch_event(5, 13), kernel_event("a7", 1, 7, 20, 10),
       kernel_event("a9", 2, 9, 60, 30), kernel_event("b9", 3, 9, 25, 30),
       kernel_event("b7", 4, 7, 30, 10), kernel_event("c9", 5, 9, 90, 30)});
  EXPECT_EQ(critical_path(graph), 40 + 40 + 30);
}

TEST(KinetoStreams, RunKernelsWithoutAnyOperator) {
  const OpGraph graph = read_events(
      {kernel_event("add_kernel", 103, 7, 120, 50), kernel_event("gemm", 102, 7, 60, 40),
       kernel_event("copy", 104, 9, 61, 2), kernel_event("late", 105, 7, 169, 3)});
  ASSERT_EQ(num_ops(graph), 4);
  EXPECT_EQ(cost_of(graph, "gemm"), 40);
  EXPECT_THAT(before(graph, "gemm"), IsEmpty());
  EXPECT_THAT(before(graph, "add_kernel"), ElementsAre("gemm"));
  EXPECT_THAT(before(graph, "copy"), IsEmpty());
  // It seems to begin before the last one ends, and is no part of it.
  EXPECT_THAT(before(graph, "late"), ElementsAre("add_kernel"));
}

// What a stream runs after cudaStreamWaitEvent waits for what the other had when the event was
// recorded.
TEST(KinetoStreams, WaitForEventsOfOthers) {
  const auto graph_with = [](const std::string& wait) {
    return read_events(
        {op_event("aten::mm", 1, 0, 5), op_event("aten::add", 2, 10, 5),
         op_event("aten::mul", 3, 20, 5), op_event("aten::sub", 4, 40, 5), launch_event(1, 1),
         launch_event(2, 11), launch_event(3, 21), launch_event(4, 41),
         kernel_event("mm", 1, 7, 50, 100), kernel_event("add", 2, 7, 150, 10),
         kernel_event("mul", 3, 9, 140, 5), kernel_event("sub", 4, 9, 155, 5),
         event("cuda_runtime", "cudaEventRecord", 1, 11, 7, 1, R"("correlation": 5)"),
         event("cuda_runtime", "cudaStreamWaitEvent", 1, 11, 30, 1, R"("correlation": 6)"), wait});
  };
  const OpGraph without = graph_with(launch_event(99, 60));
  EXPECT_THAT(before(without, "aten::sub"), ElementsAre("aten::mul"));
  const OpGraph graph =
      graph_with(event("cuda_sync", "Stream Wait Event", 0, 9, 30, 1,
                       R"("cuda_sync_kind": "Stream Wait Event", "stream": 9, "correlation": 6,
               "wait_on_stream": 7, "wait_on_cuda_event_record_corr_id": 5)"));
  EXPECT_THAT(before(graph, "aten::mul"), IsEmpty());  // was launched before
  EXPECT_THAT(before(graph, "aten::sub"), UnorderedElementsAre("aten::mul", "aten::mm"));
}

// The thread goes on when the stream, or all of them, are done.
TEST(KinetoStreams, AreWaitedForByThreads) {
  for (const std::string name : {"Stream Sync", "Context Sync"}) {
    const int stream = name == "Stream Sync" ? 7 : -1;
    const OpGraph graph = read_events(
        {op_event("aten::mm", 1, 0, 5), op_event("aten::item", 2, 10, 150),
         op_event("aten::mul", 3, 165, 5), launch_event(1, 1), launch_event(3, 166),
         kernel_event("mm", 1, 7, 50, 100), kernel_event("mul", 3, 9, 170, 5),
         event("cuda_runtime", "cudaStreamSynchronize", 1, 11, 20, 131, R"("correlation": 6)"),
         event("cuda_sync", name, 0, stream, 20, 131,
               fmt::format(R"("cuda_sync_kind": "{}", "stream": {}, "correlation": 6)", name,
                           stream))});
    EXPECT_THAT(before(graph, "aten::mul"), ElementsAre("aten::mm")) << name;
  }
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
  EXPECT_EQ(graph[0].flops, 2LL * 8 * 128 * 28 * 28 * 64 * 3 * 3);
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
