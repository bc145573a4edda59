#include "support/errors.hpp"
#include "support/graphs.hpp"

#include <emplace/base/text_file.hpp>
#include <emplace/graphs/graph_format.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <graphs/read_format.hpp>
#include <gtest/gtest.h>
#include <support/temporary_folder.hpp>

#include <algorithm>

namespace emplace::pytorch_test {
namespace {

using test::find;
using test::producers_of;
using testing::HasSubstr;

// A training step on images of 4 x 3 x 8 x 8: convolution to 8 x 6 x 6, relu, flatten, linear
// to 10.
class TrainingStep : public testing::Test {
 protected:
  OpGraph graph_ = read_format("pytorch", data_file("pytorch_et.json"));
};

TEST_F(TrainingStep, HasTheWorkOfItsLayers) {
  constexpr std::int64_t kConv = 2 * (4 * 8 * 6 * 6) * (3 * 3 * 3);
  EXPECT_EQ(find(graph_, "aten::conv2d").kind, "conv2d");
  EXPECT_EQ(find(graph_, "aten::conv2d").flops, kConv);
  EXPECT_EQ(find(graph_, "aten::conv2d").bytes_read, 4 * (4 * 3 * 8 * 8 + 8 * 27 + 8));
  // The image needs no gradient, so only that of the filters is computed.
  EXPECT_EQ(find(graph_, "aten::convolution_backward").flops, kConv);
  constexpr std::int64_t kLinear = 2 * 4 * 288 * 10;
  for (const std::string name : {"aten::linear", "aten::mm", "aten::mm_2"}) {
    EXPECT_EQ(find(graph_, name).kind, "matmul");
    EXPECT_EQ(find(graph_, name).flops, kLinear) << name;
  }
  EXPECT_EQ(find(graph_, "aten::linear").shape, (std::vector<std::int64_t>{4, 10, 288}));
  EXPECT_EQ(find(graph_, "aten::relu").flops, 4 * 8 * 6 * 6);
}

TEST_F(TrainingStep, HasTheParametersThatTheOptimizerUpdates) {
  const GraphTotals sum = totals(graph_);
  EXPECT_EQ(sum.parameters, 8 * 27 + 8 + 10 * 288 + 10);  // as PyTorch counts them
  EXPECT_EQ(sum.persistent_bytes, 4 * sum.parameters);
  EXPECT_EQ(sum.parameter_bytes, 4 * sum.parameters);
  EXPECT_EQ(find(graph_, "tensor_5").kind, "variable");  // the filters
  EXPECT_EQ(find(graph_, "tensor_3").kind, "input");     // the images
  EXPECT_EQ(find(graph_, "tensor_5").colocation, find(graph_, "aten::conv2d").colocation);
}

TEST_F(TrainingStep, FollowsTensorsThroughTheBackwardPass) {
  EXPECT_EQ(producers_of(graph_, "aten::relu"), (std::vector<std::string>{"aten::conv2d"}));
  EXPECT_EQ(producers_of(graph_, "aten::flatten"), (std::vector<std::string>{"aten::relu"}));
  // What the backward pass unpacks is a new tensor object, whose number was another's before.
  EXPECT_EQ(producers_of(graph_, "aten::threshold_backward"),
            (std::vector<std::string>{"aten::reshape", "aten::flatten"}));
  EXPECT_EQ(producers_of(graph_, "aten::convolution_backward"),
            (std::vector<std::string>{"aten::threshold_backward", "tensor_3", "tensor_5"}));
  // The logarithms of the probabilities were made within cross_entropy_loss: one output, 40
  // numbers.
  EXPECT_EQ(producers_of(graph_, "aten::_log_softmax_backward_data"),
            (std::vector<std::string>{"aten::nll_loss_backward", "aten::cross_entropy_loss"}));
  EXPECT_EQ(
      std::ranges::count(find(graph_, "aten::cross_entropy_loss").outputs, 160, &Output::bytes), 1);
}

TEST_F(TrainingStep, TellsThePassesApart) {
  EXPECT_EQ(find(graph_, "aten::conv2d").phase, Phase::kForward);
  EXPECT_EQ(find(graph_, "aten::convolution_backward").phase, Phase::kBackward);
  EXPECT_EQ(find(graph_, "aten::add_").phase, Phase::kUpdate);
}

TEST(PyTorch, CanSplitOperatorsIntoThoseThatTheyCall) {
  const std::string trace = data_file("pytorch_et.json");
  const OpGraph graph = read_format("pytorch:level=innermost", trace);
  EXPECT_EQ(find(graph, "aten::clamp_min").phase, Phase::kForward);
  for (OpId op = 0; op < num_ops(graph); ++op) {
    EXPECT_NE(graph[static_cast<std::size_t>(op)].name, "aten::linear");
  }
}

TEST(PyTorch, LosesNoWorkAtTheInnermostLevel) {
  const std::string trace = data_file("pytorch_et.json");
  const OpGraph graph = read_format("pytorch:level=innermost", trace);
  // The operators that a loss calls pass over the data more often than the loss needs.
  const std::int64_t outermost = totals(read_format("pytorch", trace)).flops;
  EXPECT_GE(totals(graph).flops, outermost);
  EXPECT_LE(totals(graph).flops, outermost + 100);
  EXPECT_EQ(totals(graph).parameters, 3114);
  // It calls aten::empty and aten::as_strided_, and does the work itself.
  EXPECT_EQ(find(graph, "aten::mkldnn_convolution").flops, 2 * (4 * 8 * 6 * 6) * 27);
  EXPECT_EQ(find(graph, "aten::addmm").flops, 2 * 4 * 288 * 10);  // calls aten::copy_
}

// --- Traces made by hand, as PyTorch writes them ------------------------------------------------

std::string tensor(int id, const std::vector<std::int64_t>& shape, int offset = 0,
                   int storage = 0) {
  std::int64_t elements = 1;
  for (const auto extent : shape) {
    elements *= extent;
  }
  return fmt::format(R"([{}, {}, {}, {}, 4, "cuda:0"])", id, storage != 0 ? storage : 1000 + id,
                     offset, elements);
}

// One operator; values and shapes are lists in JSON without their brackets.
std::string call(int id, int parent, const std::string& name, const std::string& values,
                 const std::string& shapes, const std::string& results = "",
                 const std::string& result_shapes = "") {
  return fmt::format(
      R"({{"id": {}, "parent": {}, "rf_id": {}, "name": "{}", "inputs": [{}], "input_shapes": [{}],
          "outputs": [{}], "output_shapes": [{}]}})",
      id, parent, id, name, values, shapes, results, result_shapes);
}

OpGraph read_calls(const std::vector<std::string>& calls) {
  return read_format(
      "pytorch", fmt::format(R"({{"schema": "1.0.1", "nodes": [{}]}})", fmt::join(calls, ", ")));
}

TEST(PyTorch, CountsTheProductsOfRecurrentNetworks) {
  // 5 sequences of 9 steps, 12 numbers in, 20 in the state: two matrices of 80 rows.
  constexpr std::int64_t kLstm = 2 * (5 * 9) * (80 * 12 + 80 * 20);
  const std::string weights = tensor(6, {80, 12}) + "," + tensor(7, {80, 20}) + "," +
                              tensor(8, {80}) + "," + tensor(9, {80});
  const OpGraph lstm = read_calls(
      {call(2, 1, "aten::lstm",
            fmt::format("{}, [{}, {}], [{}], true, 1", tensor(3, {5, 9, 12}), tensor(4, {1, 5, 20}),
                        tensor(5, {1, 5, 20}), weights),
            "[5, 9, 12], [[1, 5, 20], [1, 5, 20]], [[80, 12], [80, 20], [80], [80]], [], []",
            tensor(10, {5, 9, 20}), "[5, 9, 20]")});
  EXPECT_EQ(find(lstm, "aten::lstm").flops, kLstm);
  EXPECT_EQ(totals(lstm).parameters, 80 * 12 + 80 * 20 + 80 + 80);  // where weights stand
  const std::string values =
      fmt::format("{}, [{}], 4, {}", tensor(3, {9, 5, 12}), weights, tensor(4, {1, 5, 20}));
  const std::string shapes = "[9, 5, 12], [[80, 12], [80, 20], [80], [80]], [], [1, 5, 20]";
  const OpGraph cudnn = read_calls(
      {call(2, 1, "aten::_cudnn_rnn", values, shapes, tensor(10, {9, 5, 20}), "[9, 5, 20]"),
       call(20, 1, "aten::_cudnn_rnn_backward", values, shapes, tensor(11, {9, 5, 12}),
            "[9, 5, 12]")});
  EXPECT_EQ(find(cudnn, "aten::_cudnn_rnn").flops, kLstm);
  EXPECT_EQ(find(cudnn, "aten::_cudnn_rnn_backward").flops, 2 * kLstm);
}

TEST(PyTorch, CountsTheProductsOfAttention) {
  // 2 sequences, 3 heads, 10 queries of 8 numbers, 7 keys of 8, values of 6.
  constexpr std::int64_t kScores = 2 * 3 * 10 * 7;
  const std::string inputs = fmt::format("{}, {}, {}", tensor(3, {2, 3, 10, 8}),
                                         tensor(4, {2, 3, 7, 8}), tensor(5, {2, 3, 7, 6}));
  const std::string shapes = "[2, 3, 10, 8], [2, 3, 7, 8], [2, 3, 7, 6]";
  const std::string result = tensor(9, {2, 3, 10, 6});
  for (const std::string name :
       {"aten::scaled_dot_product_attention", "aten::_scaled_dot_product_flash_attention",
        "aten::_scaled_dot_product_efficient_attention",
        "aten::_scaled_dot_product_cudnn_attention",
        "aten::_scaled_dot_product_flash_attention_for_cpu"}) {
    const OpGraph graph =
        read_calls({call(2, 1, name, inputs, shapes, result, "[2, 3, 10, 6]"),
                    call(10, 1, name + "_backward", result + ", " + inputs,
                         "[2, 3, 10, 6], " + shapes, tensor(11, {2, 3, 10, 8}), "[2, 3, 10, 8]")});
    EXPECT_EQ(find(graph, name).flops, kScores * (2 * (8 + 6) + 5)) << name;
    EXPECT_EQ(find(graph, name + "_backward").flops, kScores * (2 * (3 * 8 + 2 * 6) + 4)) << name;
  }
  // The kernel within has heads behind lengths.
  const OpGraph kernel =
      read_calls({call(2, 1, "aten::_flash_attention_forward", inputs,
                       "[2, 10, 3, 8], [2, 7, 3, 8], [2, 7, 3, 6]", result, "[2, 10, 3, 6]")});
  EXPECT_EQ(find(kernel, "aten::_flash_attention_forward").flops, kScores * (2 * (8 + 6) + 5));
}

TEST(PyTorch, CountsAnOperatorWithoutARuleByThoseThatItCalls) {
  const std::string x = tensor(3, {5, 9, 16});
  const OpGraph graph =
      read_calls({call(2, 1, "aten::einsum", fmt::format(R"("bte,bse->bts", [{}, {}])", x, x),
                       "[], [[5, 9, 16], [5, 9, 16]]", tensor(4, {5, 9, 9}), "[5, 9, 9]"),
                  call(6, 2, "aten::bmm", x + ", " + x, "[5, 9, 16], [5, 16, 9]",
                       tensor(4, {5, 9, 9}), "[5, 9, 9]")});
  EXPECT_EQ(find(graph, "aten::einsum").flops, 2 * 5 * 9 * 9 * 16);
}

TEST(PyTorch, CountsTransposedAndDepthwiseConvolutions) {
  const std::string x = tensor(3, {2, 6, 5, 5});
  const std::string y = tensor(5, {2, 4, 11, 11});
  const std::string filters = tensor(4, {6, 4, 3, 3});
  const OpGraph transposed = read_calls(
      {call(2, 1, "aten::convolution",
            fmt::format("{}, {}, null, [2, 2], [0, 0], [1, 1], true, [0, 0], 1", x, filters),
            "[2, 6, 5, 5], [6, 4, 3, 3]", y, "[2, 4, 11, 11]"),
       call(9, 1, "aten::convolution_backward",
            fmt::format("{}, {}, {}, [0], [2, 2], [0, 0], [1, 1], true, [0, 0], 1, [true, true]", y,
                        x, filters),
            "[2, 4, 11, 11], [2, 6, 5, 5], [6, 4, 3, 3]", x + ", " + tensor(7, {6, 4, 3, 3}),
            "[2, 6, 5, 5], [6, 4, 3, 3]")});
  constexpr std::int64_t kFlops = 2 * (2 * 6 * 5 * 5) * (4 * 3 * 3);
  EXPECT_EQ(find(transposed, "aten::convolution").kind, "conv2d_transpose");
  EXPECT_EQ(find(transposed, "aten::convolution").flops, kFlops);
  EXPECT_EQ(find(transposed, "aten::convolution_backward").flops, 2 * kFlops);
  const OpGraph depthwise = read_calls(
      {call(2, 1, "aten::conv2d",
            fmt::format("{}, {}, null, [1, 1], [1, 1], [1, 1], 6", x, tensor(4, {6, 1, 3, 3})),
            "[2, 6, 5, 5], [6, 1, 3, 3]", tensor(6, {2, 6, 5, 5}), "[2, 6, 5, 5]")});
  EXPECT_EQ(find(depthwise, "aten::conv2d").kind, "depthwise_conv2d");
  EXPECT_EQ(find(depthwise, "aten::conv2d").flops, 2 * (2 * 6 * 5 * 5) * (3 * 3));
  EXPECT_EQ(find(depthwise, "aten::conv2d").shape,
            (std::vector<std::int64_t>{2, 6, 5, 5, 3, 3, 1, 1, 5, 5}));
}

// 8 maps of 64 x 56 x 56, 128 filters of 3 x 3, stride 2. The first switch of these is `benchmark`.
TEST(PyTorch, TakesNoOtherSwitchForTransposed) {
  for (const std::string name : {"aten::cudnn_convolution", "aten::miopen_convolution"}) {
    for (const char* benchmark : {"true", "false"}) {
      const OpGraph graph = read_calls({call(
          2, 1, name,
          fmt::format("{}, {}, [1, 1], [2, 2], [1, 1], 1, {}, false, true",
                      tensor(3, {8, 64, 56, 56}), tensor(4, {128, 64, 3, 3}), benchmark),
          "[8, 64, 56, 56], [128, 64, 3, 3]", tensor(5, {8, 128, 28, 28}), "[8, 128, 28, 28]")});
      const Op& op = find(graph, name);
      EXPECT_EQ(op.kind, "conv2d") << name << ' ' << benchmark;
      EXPECT_EQ(op.flops, 2LL * (8 * 128 * 28 * 28) * (64 * 3 * 3)) << name << ' ' << benchmark;
      EXPECT_EQ(op.shape, (std::vector<std::int64_t>{8, 64, 56, 56, 128, 3, 3, 2, 2, 1, 28, 28}));
    }
  }
}

// Two weights in one storage, as cuDNN's LSTM keeps them; a fused optimizer writes lists and tells
// no results.
TEST(PyTorch, TellsParametersMomentsAndStatisticsApart) {
  constexpr int kShared = 500;
  const std::string first = tensor(3, {4, 8}, 0, kShared);
  const std::string second = tensor(4, {4, 2}, 32, kShared);
  const std::string x = tensor(5, {3, 8});
  const std::string hidden = tensor(6, {3, 4});
  const std::string result = tensor(8, {3, 2});
  const std::string lists = fmt::format("[{}, {}], [{}, {}], [{}, {}], [{}, {}]", first, second,
                                        tensor(11, {4, 8}), tensor(12, {4, 2}), tensor(13, {4, 8}),
                                        tensor(14, {4, 2}), tensor(15, {4, 8}), tensor(16, {4, 2}));
  const OpGraph graph = read_calls(
      {call(2, 1, "aten::linear", x + ", " + first, "[3, 8], [4, 8]", hidden, "[3, 4]"),
       call(7, 1, "aten::mm", hidden + ", " + second, "[3, 4], [4, 2]", result, "[3, 2]"),
       call(9, 1, "aten::batch_norm",
            fmt::format("{}, null, null, {}, {}", result, tensor(20, {2}), tensor(21, {2})),
            "[3, 2], [], [], [2], [2]", tensor(22, {3, 2}), "[3, 2]"),
       call(29, 1, "autograd::engine::evaluate_function: MmBackward0", "", ""),
       call(30, 29, "aten::mm", result + ", " + x, "[4, 3], [3, 8]", tensor(11, {4, 8}), "[4, 8]"),
       call(31, 29, "aten::mm", hidden + ", " + result, "[4, 3], [3, 2]", tensor(12, {4, 2}),
            "[4, 2]"),
       call(40, 1, "Optimizer.step#Adam.step", "", ""),
       call(41, 40, "aten::_fused_adam_", lists,
            "[[4, 8], [4, 2]], [[4, 8], [4, 2]], [[4, 8], [4, 2]], [[4, 8], [4, 2]]"),
       call(50, 1, "aten::linear", x + ", " + first, "[3, 8], [4, 8]", tensor(51, {3, 4}),
            "[3, 4]")});
  const GraphTotals sum = totals(graph);
  EXPECT_EQ(sum.parameters, 32 + 8);
  EXPECT_EQ(sum.persistent_bytes, 4 * (3 * (32 + 8) + 2 * 2));  // two moments, two statistics
  EXPECT_EQ(find(graph, "tensor_20").kind, "constant");
  EXPECT_TRUE(find(graph, "aten::_fused_adam_").outputs.empty());  // where they were
  // The second step reads the same memory, after the update.
  EXPECT_EQ(producers_of(graph, "aten::linear_2"),
            (std::vector<std::string>{"tensor_5", "tensor_3", "aten::_fused_adam_"}));
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
  EXPECT_EQ(find(graph, "aten::addmm").flops, 2 * 2 * 6 * 4);
  EXPECT_EQ(producers_of(graph, "aten::relu_"), (std::vector<std::string>{"aten::addmm"}));
  EXPECT_EQ(find(graph, "aten::relu_").kind, "relu");
  EXPECT_TRUE(find(graph, "aten::relu_").measured.empty());
}

TEST(PyTorch, TakesTimesOfOperatorsWhereNothingRanOnAGpu) {
  const OpGraph graph = with_kineto(cpu_op(21, 1, 30) + "," + cpu_op(22, 2, 10) + "," +
                                    cpu_op(23, 3, 4.125) + R"(, {"ph": "M", "name": "x"})");
  EXPECT_EQ(find(graph, "aten::addmm").measured[0].cost_us, 30);
  EXPECT_EQ(find(graph, "aten::addmm").measured[0].device_class, "gpu");
  EXPECT_EQ(find(graph, "aten::relu_").measured[0].cost_us, 4.125);
}

TEST(PyTorch, AddsUpTheKernelsOfAnOperatorAndOfWhatItCalls) {
  const OpGraph graph =
      with_kineto(cpu_op(21, 1, 30) + "," + cpu_op(22, 2, 10) + "," + cpu_op(23, 3, 4) + "," +
                  kernel(1, 5.5) + "," + kernel(1, 1) + "," + kernel(2, 0.25));
  EXPECT_EQ(find(graph, "aten::addmm").measured[0].cost_us, 6.75);
  EXPECT_EQ(find(graph, "aten::relu_").measured[0].cost_us, 0);  // launched nothing
}

std::string plain_op(const std::string& name, int at) {
  return fmt::format(
      R"({{"ph": "X", "cat": "cpu_op", "name": "{}", "pid": 1, "tid": 1, "ts": {}, "dur": {},
          "args": {{"External id": {}, "Record function id": 0}}}})",
      name, at, at * 0.0078125, at);
}

// PyTorch 1.13 has no "Record function id"; later ones write 0 where nobody asked for ids.
TEST(PyTorch, JoinsTimesByExternalIdsThatNameTheSameOperators) {
  const OpGraph graph =
      with_kineto(fmt::format("{}, {}, {}", plain_op("aten::addmm", 21),
                              plain_op("aten::copy_", 22), plain_op("aten::relu_", 23)));
  EXPECT_EQ(find(graph, "aten::relu_").measured[0].cost_us, 23 * 0.0078125);
}

TEST(PyTorch, JoinsTimesByTheSequenceOfOperators) {
  const OpGraph graph = with_kineto(fmt::format(
      "{}, {}, {}, {}, {}", plain_op("aten::addmm", 21), plain_op("aten::relu_", 22),
      plain_op("aten::addmm", 23), plain_op("aten::copy_", 24), plain_op("aten::relu_", 25)));
  EXPECT_EQ(find(graph, "aten::addmm").measured[0].cost_us, 23 * 0.0078125);
  EXPECT_EQ(find(graph, "aten::relu_").measured[0].cost_us, 25 * 0.0078125);
}

TEST(PyTorch, FindsTheOperatorOfAKernelByItsLaunch) {
  const OpGraph graph = with_kineto(
      cpu_op(21, 1, 30) + "," + cpu_op(23, 3, 4) +
      R"(, {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1,
            "ts": 2, "dur": 1, "args": {"External id": 3, "correlation": 77}},
           {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 9, "dur": 2.5,
            "args": {"External id": 33, "correlation": 77, "stream": 7}})");
  EXPECT_EQ(find(graph, "aten::relu_").measured[0].cost_us, 2.5);
  EXPECT_EQ(find(graph, "aten::addmm").measured[0].cost_us, 0);
}

// Reads an execution trace of operators in a row with a Kineto trace of `events`.
OpGraph row_with_kineto(const std::vector<std::string>& names,
                        const std::vector<std::string>& events,
                        const std::string& parameters = "") {
  std::vector<std::string> calls;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const int id = static_cast<int>(i) + 10;
    calls.push_back(
        call(id, 1, names[i], tensor(id, {2, 2}), "[2, 2]", tensor(id + 1, {2, 2}), "[2, 2]"));
  }
  const TemporaryFolder folder;
  const std::string path = folder.path("kineto.json");
  write_text_file(path, fmt::format(R"({{"traceEvents": [{}]}})", fmt::join(events, ", ")));
  return read_format(
      "pytorch:kineto=" + path + parameters,
      fmt::format(R"({{"schema": "1.0.1", "nodes": [{}]}})", fmt::join(calls, ", ")));
}

std::string timed(const std::string& name, int external, int at, int us) {
  return fmt::format(
      R"({{"ph": "X", "cat": "cpu_op", "name": "{}", "pid": 1, "tid": 11, "ts": {}, "dur": {},
          "args": {{"External id": {}}}}})",
      name, at, us, external);
}

std::string launch(int correlation, int at) {
  return fmt::format(
      R"({{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 11,
          "ts": {}, "dur": 1, "args": {{"correlation": {}}}}})",
      at, correlation);
}

std::string launched(int correlation, int at, int us) {
  return fmt::format(
      R"({{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": {}, "dur": {},
          "args": {{"correlation": {}, "stream": 7}}}})",
      at, us, correlation);
}

// Times in whole microseconds: the first of two operators that begin at once took less than one.
TEST(PyTorch, JoinsOperatorsThatBeginAtOnceInTheOrderOfTheirIds) {
  const std::vector<std::string> events = {
      timed("aten::mul", 4, 30, 10), timed("aten::relu", 2, 5, 0), timed("aten::neg", 3, 5, 3)};
  const OpGraph graph = row_with_kineto({"aten::relu", "aten::neg", "aten::mul"}, events);
  EXPECT_EQ(find(graph, "aten::relu").measured.at(0).cost_us, 0);
  EXPECT_EQ(find(graph, "aten::neg").measured.at(0).cost_us, 3);
  EXPECT_EQ(find(graph, "aten::mul").measured.at(0).cost_us, 10);
}

TEST(PyTorch, JoinsTimesOfOperatorsThatAreNotOfAten) {
  const OpGraph graph = row_with_kineto(
      {"c10d::allreduce_", "aten::relu", "fbgemm::lookup", "aten::mul", "mine::op"},
      {timed("c10d::allreduce_", 1, 1, 2), timed("aten::relu", 2, 5, 5),
       timed("fbgemm::lookup", 3, 15, 5), timed("aten::mul", 4, 30, 10),
       timed("mine::op", 5, 45, 5), launch(900, 2), launch(901, 6), launch(902, 16),
       launch(903, 31), launch(904, 46), launched(900, 10, 7), launched(901, 20, 10),
       launched(902, 40, 500), launched(903, 600, 20), launched(904, 700, 30)});
  EXPECT_EQ(find(graph, "c10d::allreduce_").measured.at(0).cost_us, 7);
  EXPECT_EQ(find(graph, "aten::relu").measured.at(0).cost_us, 10);
  EXPECT_EQ(find(graph, "fbgemm::lookup").measured.at(0).cost_us, 500);
  EXPECT_EQ(find(graph, "aten::mul").measured.at(0).cost_us, 20);
  EXPECT_EQ(find(graph, "mine::op").measured.at(0).cost_us, 30);
}

// The trace of times lacks one operator, and the kernel of another.
TEST(PyTorch, HasNoCostWhereTheTimeIsNotKnown) {
  const OpGraph graph = row_with_kineto(
      {"aten::relu", "fbgemm::lookup", "aten::mul", "aten::neg"},
      {timed("aten::relu", 2, 5, 5), timed("aten::mul", 4, 30, 10), timed("aten::neg", 5, 45, 5),
       launch(901, 6), launch(903, 31), launched(901, 20, 10)});
  EXPECT_EQ(find(graph, "aten::relu").measured.at(0).cost_us, 10);
  EXPECT_TRUE(find(graph, "fbgemm::lookup").measured.empty());
  EXPECT_TRUE(find(graph, "aten::mul").measured.empty());
  EXPECT_EQ(find(graph, "aten::neg").measured.at(0).cost_us, 0);  // launched nothing
}

// The execution trace lacks what the second operator calls.
TEST(PyTorch, CountsKernelsOfCallsThatOnlyTheKinetoTraceHas) {
  const OpGraph graph = row_with_kineto(
      {"aten::relu", "fbgemm::lookup"},
      {timed("aten::relu", 2, 5, 5), timed("fbgemm::lookup", 3, 15, 9), timed("inner", 4, 16, 5),
       launch(901, 6), launch(902, 17), launched(901, 20, 10), launched(902, 40, 500)});
  EXPECT_EQ(find(graph, "fbgemm::lookup").measured.at(0).cost_us, 500);
}

// Numbers of two runs are alike, and their operators are not.
TEST(PyTorch, JoinsNoOperatorsOfOtherNames) {
  const auto numbered = [](const std::string& name, int rf_id, int at, int us) {
    return fmt::format(
        R"({{"ph": "X", "cat": "cpu_op", "name": "{}", "pid": 1, "tid": 11, "ts": {}, "dur": {},
            "args": {{"Record function id": {}}}}})",
        name, at, us, rf_id);
  };
  const OpGraph graph =
      row_with_kineto({"aten::relu", "aten::mul"},
                      {numbered("aten::add", 10, 0, 1), numbered("aten::relu", 11, 5, 2),
                       numbered("aten::mul", 12, 10, 3)});
  EXPECT_EQ(find(graph, "aten::relu").measured.at(0).cost_us, 2);
  EXPECT_EQ(find(graph, "aten::mul").measured.at(0).cost_us, 3);
}

TEST(PyTorch, RefusesATraceOfTimesThatCannotBeJoined) {
  EXPECT_THAT(
      test::error_of([&] {
        with_kineto(R"({"ph": "X", "cat": "cpu_op", "name": "a", "ts": 1, "dur": 1, "args": {}})");
      }),
      HasSubstr("no cpu_op has a 'Record function id'"));
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
  const Mistakes mistakes = {
      {nodes(""), "no node is an operator"},
      {nodes(node(2, 1, tensor) + "," + node(2, 1, tensor)), "/nodes: the id 2 appears twice"},
      {nodes(node(2, 5, tensor)), "node 2: expected a parent that began before it, found 5"},
      {nodes(node(-1, 1, tensor)), "/nodes/0/id: expected a whole number of at least 0"},
      {nodes(node(2, 1, R"([7, 8, 0, -1, 4, "cpu"])")), "/nodes/0/inputs/0/3: expected"},
      {nodes(node(2, 1, R"([7, 8, 0, 9223372036854775807, 4, "cpu"])")),
       "/nodes/0/inputs/0: the size of the tensor does not fit 64 bits"},
      {R"({"schema": "1.0.1", "nodes": [{"id": 2}]})",
       "/nodes/0: the member 'ctrl_deps' is missing"},
  };
  expect_errors("pytorch", mistakes);
}

}  // namespace
}  // namespace emplace::pytorch_test
