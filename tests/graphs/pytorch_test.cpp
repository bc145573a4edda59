#include "tests/support/source_path.hpp"

#include <emplace/graphs/graph_format.hpp>
#include <emplace/graphs/text_file.hpp>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <graphs/read_format.hpp>
#include <gtest/gtest.h>
#include <support/temporary_folder.hpp>

#include <algorithm>

namespace emplace {
namespace {

using testing::HasSubstr;

OpId find_op(const OpGraph& graph, std::string_view name) {
  OpId op = 0;
  while (graph[static_cast<std::size_t>(op)].name != name) {
    ++op;
  }
  return op;
}

const Op& op_named(const OpGraph& graph, std::string_view name) {
  return graph[static_cast<std::size_t>(find_op(graph, name))];
}

// The names of the ops that an op reads, in the order of its inputs.
std::vector<std::string> producers(const OpGraph& graph, std::string_view name) {
  std::vector<std::string> names;
  const auto [begin, end] = boost::in_edges(static_cast<std::size_t>(find_op(graph, name)), graph);
  for (auto edge = begin; edge != end; ++edge) {
    names.push_back(graph[boost::source(*edge, graph)].name);
  }
  return names;
}

// A training step on images of 4 x 3 x 8 x 8: convolution to 8 x 6 x 6, relu, flatten, linear
// to 10.
class TrainingStep : public testing::Test {
 protected:
  OpGraph graph_ = read_format(
      "pytorch", read_text_file(test::source_path("tests/graphs/data/pytorch_et.json")));
};

TEST_F(TrainingStep, HasTheWorkOfItsLayers) {
  constexpr std::int64_t kConv = 2 * (4 * 8 * 6 * 6) * (3 * 3 * 3);
  EXPECT_EQ(op_named(graph_, "aten::conv2d").kind, "conv2d");
  EXPECT_EQ(op_named(graph_, "aten::conv2d").flops, kConv);
  EXPECT_EQ(op_named(graph_, "aten::conv2d").bytes_read, 4 * (4 * 3 * 8 * 8 + 8 * 27 + 8));
  // The image needs no gradient, so only that of the filters is computed.
  EXPECT_EQ(op_named(graph_, "aten::convolution_backward").flops, kConv);
  constexpr std::int64_t kLinear = 2 * 4 * 288 * 10;
  for (const std::string name : {"aten::linear", "aten::mm", "aten::mm_2"}) {
    EXPECT_EQ(op_named(graph_, name).kind, "matmul");
    EXPECT_EQ(op_named(graph_, name).flops, kLinear) << name;
  }
  EXPECT_EQ(op_named(graph_, "aten::linear").shape, (std::vector<std::int64_t>{4, 10, 288}));
  EXPECT_EQ(op_named(graph_, "aten::relu").flops, 4 * 8 * 6 * 6);
}

TEST_F(TrainingStep, FollowsTensorsThroughTheBackwardPass) {
  EXPECT_EQ(producers(graph_, "aten::relu"), (std::vector<std::string>{"aten::conv2d"}));
  EXPECT_EQ(producers(graph_, "aten::flatten"), (std::vector<std::string>{"aten::relu"}));
  // What the backward pass unpacks is a new tensor object, whose number was another's before.
  EXPECT_EQ(producers(graph_, "aten::threshold_backward"),
            (std::vector<std::string>{"aten::reshape", "aten::flatten"}));
  EXPECT_EQ(producers(graph_, "aten::convolution_backward"),
            (std::vector<std::string>{"aten::threshold_backward", "tensor_3", "tensor_5"}));
  // The logarithms of the probabilities were made within cross_entropy_loss: one output, 40
  // numbers.
  EXPECT_EQ(producers(graph_, "aten::_log_softmax_backward_data"),
            (std::vector<std::string>{"aten::nll_loss_backward", "aten::cross_entropy_loss"}));
  EXPECT_EQ(
      std::ranges::count(op_named(graph_, "aten::cross_entropy_loss").outputs, 160, &Output::bytes),
      1);
}

TEST_F(TrainingStep, TellsThePassesApart) {
  EXPECT_EQ(op_named(graph_, "aten::conv2d").phase, Phase::kForward);
  EXPECT_EQ(op_named(graph_, "aten::convolution_backward").phase, Phase::kBackward);
  EXPECT_EQ(op_named(graph_, "aten::add_").phase, Phase::kUpdate);
}

TEST(PyTorch, CanSplitOperatorsIntoThoseThatTheyCall) {
  const std::string trace = read_text_file(test::source_path("tests/graphs/data/pytorch_et.json"));
  const OpGraph graph = read_format("pytorch:level=innermost", trace);
  EXPECT_EQ(op_named(graph, "aten::clamp_min").phase, Phase::kForward);
  for (OpId op = 0; op < num_ops(graph); ++op) {
    EXPECT_NE(graph[static_cast<std::size_t>(op)].name, "aten::linear");
  }
}

// Schema 1.1: an addmm on the GPU that calls a copy; then a relu in place.
const std::string kTrace = R"({"schema": "1.1.1-chakra.0.0.4", "pid": 7, "nodes": [
  {"id": 1, "name": "[pytorch|profiler|execution_trace|process]", "ctrl_deps": 1,
   "inputs": {"values": [], "shapes": [], "types": []},
   "outputs": {"values": [], "shapes": [], "types": []}, "attrs": []},
  {"id": 3, "name": "aten::addmm", "ctrl_deps": 1,
   "inputs": {"values": [[10, 50, 0, 6, 4, "cuda:0"], [11, 51, 0, 8, 4, "cuda:0"],
                         [12, 52, 0, 12, 4, "cuda:0"], 1.0],
              "shapes": [[6], [2, 4], [4, 6], []], "types": []},
   "outputs": {"values": [[13, 53, 0, 12, 4, "cuda:0"]], "shapes": [[2, 6]], "types": []},
   "attrs": [{"name": "seq_id", "type": "int64", "value": -1},
             {"name": "rf_id", "type": "uint64", "value": 21}]},
  {"id": 4, "name": "aten::copy_", "ctrl_deps": 3,
   "inputs": {"values": [[13, 53, 0, 12, 4, "cuda:0"]], "shapes": [[2, 6]], "types": []},
   "outputs": {"values": [[13, 53, 0, 12, 4, "cuda:0"]], "shapes": [[2, 6]], "types": []},
   "attrs": [{"name": "rf_id", "type": "uint64", "value": 22}]},
  {"id": 5, "name": "aten::relu_", "ctrl_deps": 1,
   "inputs": {"values": [[13, 53, 0, 12, 4, "cuda:0"]], "shapes": [[2, 6]], "types": []},
   "outputs": {"values": [[13, 53, 0, 12, 4, "cuda:0"]], "shapes": [[2, 6]], "types": []},
   "attrs": [{"name": "rf_id", "type": "uint64", "value": 23}]}]})";

// Reads kTrace with a Kineto trace of `events`.
OpGraph with_kineto(const std::string& events) {
  const TemporaryFolder folder;
  const std::string path = folder.path("kineto.json");
  write_text_file(path, fmt::format(R"({{"schemaVersion": 1, "traceEvents": [{}]}})", events));
  return read_format("pytorch:device-class=gpu,kineto=" + path, kTrace);
}

std::string cpu_op(int rf_id, int external, double us) {
  return fmt::format(
      R"({{"ph": "X", "cat": "cpu_op", "name": "op", "pid": 1, "tid": 1, "ts": 0.5, "dur": {},
          "args": {{"External id": {}, "Record function id": {}, "Ev Idx": 3}}}})",
      us, external, rf_id);
}

std::string kernel(int external, double us) {
  return fmt::format(
      R"({{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 9, "dur": {},
          "args": {{"External id": {}, "correlation": 1, "stream": 7}}}})",
      us, external);
}

TEST(PyTorch, ReadsTheLaterSchemaToo) {
  const OpGraph graph = read_format("pytorch", kTrace);
  EXPECT_EQ(op_named(graph, "aten::addmm").flops, 2 * 2 * 6 * 4);
  EXPECT_EQ(producers(graph, "aten::relu_"), (std::vector<std::string>{"aten::addmm"}));
  EXPECT_EQ(op_named(graph, "aten::relu_").kind, "relu");
  EXPECT_TRUE(op_named(graph, "aten::relu_").measured.empty());
}

TEST(PyTorch, TakesTimesOfOperatorsWhereNothingRanOnAGpu) {
  const OpGraph graph = with_kineto(cpu_op(21, 1, 30) + "," + cpu_op(22, 2, 10) + "," +
                                    cpu_op(23, 3, 4.125) + R"(, {"ph": "M", "name": "x"})");
  EXPECT_EQ(op_named(graph, "aten::addmm").measured[0].cost_us, 30);
  EXPECT_EQ(op_named(graph, "aten::addmm").measured[0].device_class, "gpu");
  EXPECT_EQ(op_named(graph, "aten::relu_").measured[0].cost_us, 4.125);
}

TEST(PyTorch, AddsUpTheKernelsOfAnOperatorAndOfWhatItCalls) {
  const OpGraph graph =
      with_kineto(cpu_op(21, 1, 30) + "," + cpu_op(22, 2, 10) + "," + cpu_op(23, 3, 4) + "," +
                  kernel(1, 5.5) + "," + kernel(1, 1) + "," + kernel(2, 0.25));
  EXPECT_EQ(op_named(graph, "aten::addmm").measured[0].cost_us, 6.75);
  EXPECT_EQ(op_named(graph, "aten::relu_").measured[0].cost_us, 0);  // launched nothing
}

TEST(PyTorch, RefusesATraceOfTimesThatCannotBeJoined) {
  try {
    with_kineto(R"({"ph": "X", "cat": "cpu_op", "name": "a", "dur": 1, "args": {}})");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("no cpu_op has a 'Record function id'"));
  }
}

TEST(PyTorch, RefusesWhatIsNoTrace) {
  const auto nodes = [](const std::string& list) {
    return R"({"schema": "1.0.1", "nodes": [)" + list + "]}";
  };
  const auto node = [](int id, int parent, const std::string& input) {
    return fmt::format(
        R"({{"id": {}, "parent": {}, "rf_id": 0, "name": "aten::relu", "inputs": [{}],
            "input_shapes": [[1]], "outputs": []}})",
        id, parent, input);
  };
  const std::string tensor = R"([7, 8, 0, 1, 4, "cpu"])";
  const struct {
    std::string text;
    std::string message;
  } cases[] = {
      {nodes(""), "no node is an operator"},
      {nodes(node(2, 1, tensor) + "," + node(2, 1, tensor)), "/nodes: the id 2 comes twice"},
      {nodes(node(2, 5, tensor)), "node 2: expected a parent that began before it, found 5"},
      {nodes(node(-1, 1, tensor)), "/nodes/0/id: expected a whole number from 0"},
      {nodes(node(2, 1, R"([7, 8, 0, -1, 4, "cpu"])")), "/nodes/0/inputs/0/3: expected"},
      {nodes(node(2, 1, R"([7, 8, 0, 9223372036854775807, 4, "cpu"])")),
       "/nodes/0/inputs/0: the size of the tensor does not fit 64 bits"},
      {R"({"schema": "1.0.1", "nodes": [{"id": 2}]})",
       "/nodes/0: the member 'ctrl_deps' is missing"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_THAT(error_of_reading("pytorch", text).value_or("no error"), HasSubstr(message));
  }
}

}  // namespace
}  // namespace emplace
