
#include <emplace/base/id_vector.hpp>
#include <emplace/graphs/graph_format.hpp>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <graphs/read_format.hpp>
#include <graphs/zip_archive.hpp>
#include <gtest/gtest.h>
#include <support/graphs.hpp>

#include <string>
#include <vector>

namespace emplace::torch_export_test {
namespace {

using test::archive;
using test::count_kinds;
using test::find;
using test::le;
using testing::ElementsAre;
using testing::HasSubstr;

std::string text_of(const std::string& name) { return data_file("torch_" + name + ".json"); }

OpGraph fixture(const std::string& name, const std::string& params = "") {
  return read_format("torch-export" + params, text_of(name));
}

std::int64_t flops_of(const OpGraph& graph, std::string_view name) {
  return find(graph, name).flops;
}

// The scope of each op of a kind, in the order of the ops.
std::vector<std::string> names_of(const OpGraph& graph, std::string_view kind) {
  std::vector<std::string> names;
  for (OpId op = 0; op < num_ops(graph); ++op) {
    if (graph[index_of(op)].kind == kind) {
      names.push_back(graph[index_of(op)].name);
    }
  }
  return names;
}

// A program that calls operators on an input [2, 3] and a parameter [3]; every tensor that `nodes`
// makes is a float32 of [2, 3].
std::string program(const std::string& nodes, const std::vector<std::string>& results,
                    const std::string& output) {
  std::string tensors = R"("x":{"dtype":7,"sizes":[{"as_int":2},{"as_int":3}]},
      "w":{"dtype":7,"sizes":[{"as_int":3}],"requires_grad":true})";
  for (const std::string& result : results) {
    tensors +=
        fmt::format(R"(,"{}":{{"dtype":7,"sizes":[{{"as_int":2}},{{"as_int":3}}]}})", result);
  }
  return fmt::format(R"({{"graph_module":{{"graph":{{"tensor_values":{{{}}},"nodes":[{}]}},
      "signature":{{"input_specs":[
        {{"parameter":{{"arg":{{"name":"w"}},"parameter_name":"layer.w"}}}},
        {{"user_input":{{"arg":{{"as_tensor":{{"name":"x"}}}}}}}}],
      "output_specs":[{{"user_output":{{"arg":{{"as_tensor":{{"name":"{}"}}}}}}}}]}}}},
      "schema_version":{{"major":8,"minor":2}},"torch_version":"2.9.0"}})",
                     tensors, nodes, output);
}

std::string call(const std::string& op, const std::string& inputs, const std::string& result,
                 const std::string& module = "") {
  std::string listed;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const char* name = i == 0 ? "self" : "other";
    listed += fmt::format(R"({}{{"name":"{}","arg":{{"as_tensor":{{"name":"{}"}}}}}})",
                          i == 0 ? "" : ",", name, inputs[i]);
  }
  return fmt::format(
      R"({{"target":"torch.ops.aten.{}","inputs":[{}],"outputs":[{{"as_tensor":{{"name":"{}"}}}}],
          "metadata":{{"nn_module_stack":"{}"}}}})",
      op, listed, result, module);
}

// The layers of make_torch.py's Convolutions, counted by hand: 4 images of 3 x 16 x 16.
TEST(TorchExport, CountsConvolutions) {
  const OpGraph graph = fixture("convolutions");
  EXPECT_EQ(flops_of(graph, "stem/0/conv2d"), 2LL * 4 * 8 * 8 * 8 * 3 * 3 * 3);
  EXPECT_EQ(flops_of(graph, "depthwise/depthwise_conv2d"), 2LL * 4 * 8 * 8 * 8 * 3 * 3);
  EXPECT_EQ(flops_of(graph, "stem/1/batch_norm"), 5LL * 4 * 8 * 8 * 8);
  EXPECT_EQ(flops_of(graph, "head/matmul"), 2LL * 4 * 8 * 10);
  EXPECT_THAT(find(graph, "stem/0/conv2d").shape,
              ElementsAre(4, 3, 16, 16, 8, 3, 3, 2, 2, 1, 8, 8));
  // Statistics are kept by the op that normalizes; scale and offset are one variable.
  EXPECT_EQ(find(graph, "stem/1/batch_norm").persistent_bytes, 2 * 8 * 4);
  EXPECT_EQ(find(graph, "stem/1/weight+bias").parameters, 16);
  EXPECT_EQ(find(graph, "stem/1/batch_norm").scope, "stem/1");
  EXPECT_EQ(graph[boost::graph_bundle].name, "Convolutions");
}

// What is written through a view is in the tensor, and in its other views, when they are read.
TEST(TorchExport, WritesInPlaceReachWhatSharesTheMemory) {
  // y = exp(x), its views a and b, a.mul_(x), then sin(y) + cos(b); c is written again by its
  // result.
  const std::string nodes = call("exp.default", "x", "y") + "," + call("view.default", "y", "a") +
                            "," + call("view.default", "y", "b") + "," +
                            call("mul_.Tensor", "ax", "c") + "," + call("relu_.default", "c", "d") +
                            "," + call("sin.default", "y", "e") + "," +
                            call("cos.default", "b", "f") + "," + call("add.Tensor", "ef", "g");
  const OpGraph graph =
      read_format("torch-export", program(nodes, {"y", "a", "b", "c", "d", "e", "f", "g"}, "g"));
  auto kinds = count_kinds(graph);
  EXPECT_EQ(kinds["multiply"], 1);
  EXPECT_EQ(kinds["relu"], 1);
  EXPECT_EQ(kinds["sin"], 1);
  EXPECT_EQ(kinds["cos"], 1);
  // A tensor that no view shares is read by the result, or by its own name.
  for (const char* read : {"y", "a"}) {
    const std::string plain = call("exp.default", "x", "y") + "," +
                              call("relu_.default", "y", "a") + "," +
                              call("sin.default", read, "b");
    EXPECT_EQ(
        count_kinds(read_format("torch-export", program(plain, {"y", "a", "b"}, "b")))["relu"], 1)
        << read;
  }
}

TEST(TorchExport, ParametersAreThoseOfTheModel) {
  // Convolution 216, normalization 16, depthwise 80, square 72, frozen 64, head 90, never called 6.
  EXPECT_EQ(totals(fixture("convolutions")).parameters, 216 + 16 + 80 + 72 + 64 + 90 + 6);
  // What wants no gradient is not trained.
  EXPECT_EQ(totals(fixture("convolutions", ":training=true")).parameters, 480);
  const OpGraph training = fixture("convolutions", ":training=true");
  EXPECT_EQ(find(training, "frozen/weight").kind, "constant");
  EXPECT_TRUE(find(training, "frozen/weight").outputs[0].persistent);
  // Words 50 x 16 that are also the head, normalization 2 x 16, products 48 x 17; a mask is none.
  EXPECT_EQ(totals(fixture("attention")).parameters, 800 + 32 + 48 * 17);
  // LSTM 4 x 7 x (5 + 7 + 2), GRU from both ends 2 x 3 x 4 x (7 + 4 + 2).
  EXPECT_EQ(totals(fixture("recurrent")).parameters, 28 * 14 + 2 * 12 * 13);
}

TEST(TorchExport, TrainingFollowsFromTheGradientRules) {
  const OpGraph graph = fixture("convolutions", ":training=true,optimizer=sgd");
  auto kinds = count_kinds(graph);
  EXPECT_EQ(kinds["softmax_cross_entropy"], 1);
  EXPECT_EQ(kinds["dropout"], 1);
  EXPECT_EQ(kinds["dropout_backward"], 1);
  EXPECT_EQ(kinds["conv2d_backward_filter"], 1);
  EXPECT_EQ(kinds["conv2d_backward_data"], 0) << "nothing wants the image's gradient";
  // Stem 2, depthwise 2, square 2, head 2; neither what is frozen nor what is never called.
  EXPECT_EQ(kinds["optimizer_update"], 8);
  // A layer that is called twice is one variable, whose gradients are summed.
  EXPECT_EQ(find(graph, "square/weight/grad_sum").kind, "add_n");
  EXPECT_EQ(find(graph, "square/weight/update").flops, 2 * 64);
}

TEST(TorchExport, AttentionIsTheOpsThatItCalls) {
  const OpGraph graph = fixture("attention");
  auto kinds = count_kinds(graph);
  EXPECT_EQ(kinds["batch_matmul"], 2);
  EXPECT_EQ(kinds["causal_mask"], 1) << "the mask is known before the step";
  EXPECT_EQ(kinds["constant"], 0);
  EXPECT_EQ(kinds["split_view"], 1);
  EXPECT_THAT(find(graph, "batch_matmul").shape, ElementsAre(2, 6, 6, 16));
  EXPECT_THAT(find(graph, "batch_matmul_2").shape, ElementsAre(2, 6, 16, 6));
  EXPECT_EQ(flops_of(graph, "qkv/matmul"), 2LL * 12 * 16 * 48);
  EXPECT_EQ(flops_of(graph, "matmul"), 2LL * 12 * 16 * 50);
  EXPECT_EQ(find(graph, "words/embedding").outputs[0].bytes, 12 * 16 * 4);
  EXPECT_THAT(names_of(graph, "variable"),
              ElementsAre("words/weight", "norm/weight+bias", "qkv/weight", "qkv/bias"));
}

TEST(TorchExport, RecurrentLayersAreOneOpForAllSteps) {
  const OpGraph graph = fixture("recurrent");
  EXPECT_THAT(find(graph, "first/lstm").shape, ElementsAre(9, 2, 5, 7, 1));
  EXPECT_EQ(flops_of(graph, "first/lstm"), 18LL * (2 * 28 * (5 + 7) + 13 * 7));
  EXPECT_THAT(find(graph, "second/gru").shape, ElementsAre(9, 2, 7, 4, 2));
  EXPECT_EQ(flops_of(graph, "second/gru"), 18LL * 2 * (2 * 12 * (7 + 4) + 12 * 4));
  EXPECT_THAT(find(graph, "second/gru").outputs[0].shape, ElementsAre(2, 9, 8));
}

TEST(TorchExport, ModulesAreScopes) {
  const std::string text =
      program(call("relu.default", "x", "a", "L__self__,,M;L__self___b,layer.0.act,torch.nn.ReLU") +
                  "," + call("tanh.default", "a", "b", "k,getattr(L['self'].layer, '1').act,T"),
              {"a", "b"}, "b");
  const OpGraph graph = read_format("torch-export", text);
  EXPECT_EQ(find(graph, "layer/0/act/relu").scope, "layer/0/act");
  EXPECT_EQ(find(graph, "layer/1/act/tanh").scope, "layer/1/act");
  EXPECT_EQ(find(graph, "layer/w").scope, "layer");
  EXPECT_EQ(graph[boost::graph_bundle].source, "PyTorch 2.9.0");
}

TEST(TorchExport, WritesAndDeadCodeAreNoOps) {
  const std::string text =
      program(call("relu_.default", "x", "a") + "," + call("sigmoid.default", "a", "b") + "," +
                  call("mul.Tensor", "aw", "c"),
              {"a", "b", "c"}, "c");
  const OpGraph graph = read_format("torch-export", text);
  auto kinds = count_kinds(graph);
  EXPECT_EQ(kinds["relu"], 1);
  EXPECT_EQ(kinds["sigmoid"], 0);
  EXPECT_EQ(kinds["broadcast_multiply"], 1);
}

// Two float16, float32 or float64 each, of a tensor [2, 3].
TEST(TorchExport, ComplexNumbersHaveTwoParts) {
  for (const auto& [type, bytes] : {std::pair(9, 24), std::pair(10, 48), std::pair(11, 96)}) {
    std::string text = program(call("relu.default", "x", "a"), {"a"}, "a");
    const std::size_t at = text.rfind(R"("dtype":7)");
    text.replace(at, 9, fmt::format(R"("dtype":{})", type));
    const OpGraph graph = read_format("torch-export", text);
    EXPECT_EQ(graph[1].outputs.front().bytes, bytes) << type;
  }
}

TEST(TorchExport, AnUnknownOperatorIsAnOpOfItsName) {
  const OpGraph graph =
      read_format("torch-export", program(call("my_own.default", "x", "a"), {"a"}, "a"));
  EXPECT_EQ(find(graph, "my_own").flops, 0);
  EXPECT_EQ(find(graph, "my_own").bytes_read, 24);
}

// A program with tensors of its own shapes; the first is the input, those called p... are
// parameters, and `result` is what it returns.
std::string program_of(const std::vector<std::pair<std::string, std::vector<int>>>& tensors,
                       const std::string& nodes, const std::string& result) {
  std::string values;
  std::string inputs;
  for (const auto& [name, shape] : tensors) {
    std::string sizes;
    for (const int size : shape) {
      sizes += fmt::format(R"({}{{"as_int":{}}})", sizes.empty() ? "" : ",", size);
    }
    const bool is_integer = name.starts_with("i");
    values += fmt::format(R"({}"{}":{{"dtype":{},"sizes":[{}],"requires_grad":{}}})",
                          values.empty() ? "" : ",", name, is_integer ? 5 : 7, sizes,
                          name.starts_with("p") ? "true" : "false");
    if (name.starts_with("p")) {
      inputs += fmt::format(R"({}{{"parameter":{{"arg":{{"name":"{}"}},"parameter_name":"{}"}}}})",
                            inputs.empty() ? "" : ",", name, name);
    } else if (name.starts_with("i") || name.starts_with("x")) {
      inputs += fmt::format(R"({}{{"user_input":{{"arg":{{"as_tensor":{{"name":"{}"}}}}}}}})",
                            inputs.empty() ? "" : ",", name);
    }
  }
  return fmt::format(R"({{"graph_module":{{"graph":{{"tensor_values":{{{}}},"nodes":[{}]}},
      "signature":{{"input_specs":[{}],
      "output_specs":[{{"user_output":{{"arg":{{"as_tensor":{{"name":"{}"}}}}}}}}]}}}},
      "schema_version":{{"major":8,"minor":2}},"torch_version":"2.9.0"}})",
                     values, nodes, inputs, result);
}

// A call with tensors, and integers, by the names of its arguments.
std::string named_call(const std::string& op,
                       const std::vector<std::pair<std::string, std::string>>& arguments,
                       const std::vector<std::string>& results) {
  std::string inputs;
  for (const auto& [name, value] : arguments) {
    inputs += fmt::format(
        R"({}{{"name":"{}","arg":{}}})", inputs.empty() ? "" : ",", name,
        value.starts_with('{') ? value : fmt::format(R"({{"as_tensor":{{"name":"{}"}}}})", value));
  }
  std::string outputs;
  for (const std::string& result : results) {
    outputs +=
        fmt::format(R"({}{{"as_tensor":{{"name":"{}"}}}})", outputs.empty() ? "" : ",", result);
  }
  return fmt::format(R"({{"target":"torch.ops.aten.{}.default","inputs":[{}],"outputs":[{}],
      "metadata":{{}}}})",
                     op, inputs, outputs);
}

// Heads [2, 6, 4, 8] that stand one after another in memory are joined there without a copy, and
// transposed first they are not.
TEST(TorchExport, ANewShapeIsCopiedWhereTheOrderInMemoryDiffers) {
  const auto kinds = [](const std::string& strides) {
    std::string text = program_of(
        {{"x", {2, 6, 4, 8}}, {"t", {2, 4, 6, 8}}, {"y", {2, 24, 8}}, {"r", {2, 24, 8}}},
        named_call("transpose",
                   {{"self", "x"}, {"dim0", R"({"as_int":1})"}, {"dim1", R"({"as_int":2})"}},
                   {"t"}) +
            "," + named_call("reshape", {{"self", "t"}}, {"y"}) + "," +
            named_call("relu", {{"self", "y"}}, {"r"}),
        "r");
    const std::string sizes = R"("sizes":[{"as_int":2},{"as_int":4},{"as_int":6},{"as_int":8}])";
    return count_kinds(
        read_format("torch-export", text.replace(text.find(sizes), sizes.size(), sizes + strides)));
  };
  auto copied = kinds(R"(,"strides":[{"as_int":192},{"as_int":8},{"as_int":32},{"as_int":1}])");
  EXPECT_EQ(copied["transpose"], 1);
  auto joined = kinds(R"(,"strides":[{"as_int":192},{"as_int":48},{"as_int":8},{"as_int":1}])");
  EXPECT_EQ(joined["transpose"] + joined["copy"], 0);
  auto repeated = kinds(R"(,"strides":[{"as_int":0},{"as_int":8},{"as_int":0},{"as_int":1}])");
  EXPECT_EQ(repeated["copy"], 1);
  auto absurd = kinds(
      R"(,"strides":[{"as_int":0},{"as_int":9223372036854775807},{"as_int":8},{"as_int":1}])");
  EXPECT_EQ(absurd["transpose"] + absurd["copy"], 1);
}

// Heads [2, 4, 6, 8] that stand side by side are copied for a product, by a reshape of PyTorch.
TEST(TorchExport, ProductsTakeABatchOfMatrices) {
  std::string text = program_of({{"x", {2, 4, 6, 8}}, {"xz", {2, 4, 8, 3}}, {"y", {2, 4, 6, 3}}},
                                named_call("matmul", {{"self", "x"}, {"other", "xz"}}, {"y"}), "y");
  EXPECT_EQ(count_kinds(read_format("torch-export", text))["transpose"], 0);
  const std::string sizes = R"("sizes":[{"as_int":2},{"as_int":4},{"as_int":6},{"as_int":8}])";
  text.replace(text.find(sizes), sizes.size(),
               sizes + R"(,"strides":[{"as_int":192},{"as_int":8},{"as_int":32},{"as_int":1}])");
  const OpGraph graph = read_format("torch-export", text);
  EXPECT_EQ(count_kinds(graph)["transpose"], 1);
  EXPECT_THAT(find(graph, "transpose").shape, ElementsAre(2, 6, 4, 8, 0, 2, 1, 3));
}

// x / sqrt(mean(x^2) + e), cast to the type that it has, and times a scale.
TEST(TorchExport, RootMeanSquareNormsByHandAreOneOp) {
  const std::string body =
      named_call("pow", {{"self", "x"}, {"exponent", R"({"as_int":2})"}}, {"q"}) + "," +
      named_call(
          "mean",
          {{"self", "q"}, {"dim", R"({"as_ints":[-1]})"}, {"keepdim", R"({"as_bool":true})"}},
          {"m"}) +
      "," + named_call("add", {{"self", "m"}, {"other", R"({"as_float":1e-6})"}}, {"s"}) + "," +
      named_call("rsqrt", {{"self", "s"}}, {"r"}) + "," +
      named_call("detach", {{"self", "r"}}, {"d"}) + "," +
      named_call("mul", {{"self", "x"}, {"other", "r"}}, {"n"}) + "," +
      named_call("to", {{"self", "n"}}, {"c"}) + "," +
      named_call("mul", {{"self", "p"}, {"other", "c"}}, {"y"});
  std::vector<std::pair<std::string, std::vector<int>>> tensors{
      {"x", {4, 6}}, {"p", {6}},    {"q", {4, 6}}, {"m", {4, 1}}, {"s", {4, 1}}, {"r", {4, 1}},
      {"d", {4, 1}}, {"n", {4, 6}}, {"c", {4, 6}}, {"y", {4, 6}}, {"z", {4, 1}}};
  const OpGraph graph = read_format("torch-export:training=true", program_of(tensors, body, "y"));
  auto counts = count_kinds(graph);
  EXPECT_EQ(find(graph, "rms_norm").flops, 4 * 24);
  EXPECT_EQ(counts["rms_norm_backward"], 1);
  EXPECT_EQ(counts["multiply"] + counts["broadcast_multiply"] + counts["reduce_mean"], 0);
  EXPECT_EQ(totals(graph).parameters, 6);
  // What others read must be there.
  const std::string more = body + "," + named_call("mul", {{"self", "r"}, {"other", "m"}}, {"z"});
  const OpGraph shared = read_format("torch-export", program_of(tensors, more, "z"));
  EXPECT_EQ(count_kinds(shared)["rms_norm"], 0);
}

// Logits of one class are yes or no.
TEST(TorchExport, OneClassHasASigmoid) {
  const OpGraph graph =
      read_format("torch-export:training=true",
                  program_of({{"x", {4, 6}}, {"p", {1, 6}}, {"y", {4, 1}}},
                             named_call("linear", {{"input", "x"}, {"weight", "p"}}, {"y"}), "y"));
  EXPECT_EQ(count_kinds(graph)["sigmoid_cross_entropy"], 1);
  EXPECT_EQ(count_kinds(graph)["softmax_cross_entropy"], 0);
}

// 3 bags of 4 lookups in a table [50, 8]: a sum of 4 rows takes 3 additions, a mean a division
// more.
TEST(TorchExport, BagsOfEmbeddings) {
  for (const int mode : {0, 1, 2}) {
    const std::string text =
        program_of({{"p", {50, 8}}, {"i", {12}}, {"io", {3}}, {"y", {3, 8}}, {"b", {0}}},
                   named_call("_embedding_bag",
                              {{"weight", "p"},
                               {"indices", "i"},
                               {"offsets", "io"},
                               {"mode", fmt::format(R"({{"as_int":{}}})", mode)}},
                              {"y", "b"}),
                   "y");
    const OpGraph graph = read_format("torch-export:training=true", text);
    EXPECT_EQ(find(graph, "embedding_bag").flops, (mode == 1 ? 4 : 3) * 3 * 8);
    EXPECT_THAT(find(graph, "embedding_bag").shape, ElementsAre(3, 4, 50, 8));
    EXPECT_EQ(find(graph, "embedding_bag").bytes_read, 12 * 8 * 4 + 12 * 8);
    EXPECT_EQ(count_kinds(graph)["embedding_bag_backward"], 1);
  }
}

TEST(TorchExport, WeightsOfAGivenLength) {
  const std::string text = program_of(
      {{"x", {2, 3}}, {"pv", {4, 3}}, {"pg", {4, 1}}, {"w", {4, 3}}, {"n", {4, 1}}, {"y", {2, 4}}},
      named_call("_weight_norm_interface", {{"v", "pv"}, {"g", "pg"}}, {"w", "n"}) + "," +
          named_call("linear", {{"input", "x"}, {"weight", "w"}}, {"y"}),
      "y");
  const OpGraph graph = read_format("torch-export:training=true", text);
  EXPECT_EQ(find(graph, "reduce_l2").flops, 2 * 12);
  EXPECT_EQ(find(graph, "div").flops, 4);
  EXPECT_EQ(find(graph, "broadcast_multiply").flops, 12);
  EXPECT_EQ(totals(graph).parameters, 16);
  EXPECT_EQ(count_kinds(graph)["optimizer_update"], 2);
}

// The programs of torch.export have it whole; decomposed ones have its products.
TEST(TorchExport, EquationsOfEinstein) {
  const std::string text =
      program_of({{"x", {2, 5, 3}}, {"p", {2, 4, 3}}, {"y", {2, 5, 4}}},
                 named_call("einsum",
                            {{"equation", R"({"as_string":"bij,bkj->bik"})"},
                             {"tensors", R"({"as_tensors":[{"name":"x"},{"name":"p"}]})"}},
                            {"y"}),
                 "y");
  const OpGraph graph = read_format("torch-export", text);
  EXPECT_THAT(find(graph, "batch_matmul").shape, ElementsAre(2, 5, 4, 3));
  EXPECT_EQ(flops_of(graph, "batch_matmul"), 2 * 2 * 5 * 4 * 3);
}

// x1 [2, 3] and weights [5, 3, 4] make [2, 5, 4], which is multiplied by x2 [2, 4].
TEST(TorchExport, BilinearLayers) {
  const std::string text = program_of(
      {{"x", {2, 3}}, {"p", {5, 3, 4}}, {"x2", {2, 4}}, {"pb", {5}}, {"y", {2, 5}}},
      named_call("bilinear", {{"input1", "x"}, {"input2", "x2"}, {"weight", "p"}, {"bias", "pb"}},
                 {"y"}),
      "y");
  const OpGraph graph = read_format("torch-export:training=true", text);
  EXPECT_EQ(find(graph, "einsum").flops, 2 * 2 * 5 * 4 * (3 + 1));
  EXPECT_EQ(find(graph, "bias_add").flops, 10);
}

// States of 7 numbers are projected to 4: 5 steps of 2 sequences of 3 numbers.
TEST(TorchExport, ProjectedStates) {
  std::string weights;
  for (const char* name : {"p1", "p2", "p3", "p4", "p5"}) {
    weights += fmt::format(R"({}{{"name":"{}"}})", weights.empty() ? "" : ",", name);
  }
  const std::string text =
      program_of({{"x", {5, 2, 3}},
                  {"p1", {28, 3}},
                  {"p2", {28, 4}},
                  {"p3", {28}},
                  {"p4", {28}},
                  {"p5", {4, 7}},
                  {"y", {5, 2, 4}},
                  {"h", {1, 2, 4}},
                  {"c", {1, 2, 7}}},
                 named_call("lstm",
                            {{"input", "x"},
                             {"params", fmt::format(R"({{"as_tensors":[{}]}})", weights)},
                             {"num_layers", R"({"as_int":1})"}},
                            {"y", "h", "c"}),
                 "y");
  const OpGraph graph = read_format("torch-export:training=true", text);
  constexpr std::int64_t kCells = 10;
  EXPECT_EQ(find(graph, "lstm").flops, kCells * (2 * 28 * (3 + 4) + 13 * 7 + 2 * 7 * 4));
  EXPECT_THAT(find(graph, "lstm").outputs[0].shape, ElementsAre(5, 2, 4));
  EXPECT_EQ(totals(graph).parameters, 28 * 3 + 28 * 4 + 56 + 28);
}

// n = 6 numbers: 2 n and 3 n. Windows of 4 x 4 or 4 numbers: one less for each of the results.
TEST(TorchExport, CountsAsTheOtherImportersDo) {
  const auto flops = [](const std::string& op, const std::vector<int>& x, const std::vector<int>& y,
                        std::string_view name) {
    const std::string text =
        program_of({{"x", x}, {"y", y}}, named_call(op, {{"self", "x"}}, {"y"}), "y");
    return flops_of(read_format("torch-export", text), name);
  };
  EXPECT_EQ(flops("hardswish", {2, 3}, {2, 3}, "hard_swish"), 2 * 6);
  EXPECT_EQ(flops("mish", {2, 3}, {2, 3}, "mish"), 3 * 6);
  EXPECT_EQ(flops("adaptive_max_pool2d", {1, 4, 8, 8}, {1, 4, 2, 2}, "max_pool"), 16 * (16 - 1));
  EXPECT_EQ(flops("adaptive_max_pool1d", {1, 4, 8}, {1, 4, 2}, "max_pool"), 8 * (4 - 1));
  EXPECT_EQ(flops("adaptive_avg_pool2d", {1, 4, 8, 8}, {1, 4, 2, 2}, "avg_pool"), 16 * 16);
}

// Each once read memory that was not there.
TEST(TorchExport, RefusesTensorsThatAreMissingOrTooFlat) {
  const std::vector<std::pair<std::string, std::vector<int>>> tensors = {
      {"x", {4, 2, 5}}, {"xh", {}},       {"xc", {1, 2, 7}}, {"x2", {2, 5}},  {"p1", {28, 5}},
      {"p2", {28, 7}},  {"y", {4, 2, 7}}, {"h", {1, 2, 7}},  {"c", {1, 2, 7}}};
  const auto error = [&](const std::string& nodes) {
    return error_of_reading("torch-export", program_of(tensors, nodes, "y"));
  };
  const auto lstm = [&](const std::string& states, const std::string& weights) {
    return error(named_call("lstm",
                            {{"input", "x"},
                             {"hx", states},
                             {"params", weights},
                             {"has_biases", R"({"as_bool":false})"}},
                            {"y", "h", "c"}));
  };
  const std::string missing = "expected a tensor in a list of its arguments, found none";
  EXPECT_THAT(
      lstm(R"({"as_tensors":[{"name":"xh"},{"name":"xc"}]})",
           R"({"as_tensors":[{"name":"p1"},{"name":"p2"}]})"),
      HasSubstr("operator lstm in module '': expected states of 2 or 3 dimensions, found 0"));
  EXPECT_THAT(lstm(R"({"as_tensors":[{"name":"xc"},{"name":"xc"}]})",
                   R"({"as_optional_tensors":[{"as_tensor":{"name":"p1"}},{"as_none":true}]})"),
              HasSubstr("operator lstm in module '': " + missing));
  EXPECT_THAT(error(named_call("lstm_cell",
                               {{"input", "x2"},
                                {"hx", R"({"as_optional_tensors":[{"as_none":true},
                                                          {"as_tensor":{"name":"xc"}}]})"},
                                {"w_ih", "p1"},
                                {"w_hh", "p2"}},
                               {"y", "h"})),
              HasSubstr("operator lstm_cell in module '': " + missing));
  const std::string flat = program_of(
      {{"x", {2, 3}}, {"y", {}}, {"n", {}}},
      named_call("topk", {{"self", "x"}, {"k", R"({"as_int":1})"}, {"dim", R"({"as_int":1})"}},
                 {"y", "n"}),
      "y");
  EXPECT_THAT(error_of_reading("torch-export", flat),
              HasSubstr("operator topk in module '': expected a result of 2 dimensions, found 0"));
}

TEST(TorchExport, AScalarMayBeTransposed) {
  const std::string text = program_of(
      {{"x", {}}, {"t", {}}, {"y", {}}},
      named_call("transpose",
                 {{"self", "x"}, {"dim0", R"({"as_int":0})"}, {"dim1", R"({"as_int":-1})"}},
                 {"t"}) +
          "," + named_call("relu", {{"self", "t"}}, {"y"}),
      "y");
  EXPECT_EQ(flops_of(read_format("torch-export", text), "relu"), 1);
}

TEST(TorchExport, SaysWhatIsWrong) {
  const auto error = [](const std::string& text, const std::string& params = "") {
    return error_of_reading("torch-export" + params, text);
  };
  const std::string relu = call("relu.default", "x", "a");
  EXPECT_THAT(error("{}"), HasSubstr("the member 'graph_module' is missing"));
  EXPECT_THAT(error(program(call("relu.default", "y", "a"), {"a"}, "a")),
              HasSubstr("no tensor is called 'y'"));
  EXPECT_THAT(error(program(call("relu.default", "b", "a"), {"a", "b"}, "a")),
              HasSubstr("reads 'b', which nothing before it makes"));
  EXPECT_THAT(error(program(relu + "," + relu, {"a"}, "a")), HasSubstr("'a' is made twice"));
  EXPECT_THAT(error(program(call("relu", "x", "a"), {"a"}, "a")),
              HasSubstr("expected torch.ops.NAMESPACE.OPERATOR.OVERLOAD"));
  EXPECT_THAT(error(program(call("batch_norm.default", "x", "a", "k,head,B"), {"a"}, "a")),
              HasSubstr("operator batch_norm in module 'head': expected a tensor as argument "
                        "'input'"));
  EXPECT_THAT(error(program("", {}, "x"), ":training=true"),
              HasSubstr("must have a result of floating-point numbers that it computes"));
  std::string symbol = program(relu, {"a"}, "a");
  symbol.replace(symbol.find(R"({"as_int":2})"), 12, R"({"as_expr":{"expr_str":"s0"}})");
  EXPECT_THAT(error(symbol), HasSubstr("the size 's0' is not known"));
  std::string newer = program(relu, {"a"}, "a");
  newer.replace(newer.find(R"("major":8)"), 9, R"("major":9)");
  EXPECT_THAT(error(newer), HasSubstr("/schema_version/major"));
  std::string complex = program(relu, {"a"}, "a");
  complex.replace(complex.find(R"("dtype":7)"), 9, R"("dtype":40)");
  EXPECT_THAT(error(complex), HasSubstr("tensors of type 40 are not supported"));
}

// --- Archives

TEST(TorchExport, ReadsArchives) {
  const std::string text = text_of("convolutions");
  const OpGraph plain = fixture("convolutions");
  for (const bool is_64 : {false, true}) {
    const OpGraph later = read_format(
        "torch-export",
        archive({{"m/archive_format", "pt2"}, {"m/models/m.json", text}, {"m/w", "123"}}, is_64));
    EXPECT_EQ(num_ops(later), num_ops(plain));
    const OpGraph earlier =
        read_format("torch-export", archive({{"serialized_exported_program.json", text}}, is_64));
    EXPECT_EQ(num_ops(earlier), num_ops(plain));
  }
}

// Two parameters that are stored in one file, as a table of words and the head of a language model.
TEST(TorchExport, TiedWeightsAreOneVariable) {
  std::string text =
      program(call("add.Tensor", "xw", "a") + "," + call("add.Tensor", "av", "b"), {"a", "b"}, "b");
  const std::string parameter = R"({"parameter":{"arg":{"name":"w"},"parameter_name":"layer.w"}})";
  text.replace(text.find(parameter), 0,
               R"({"parameter":{"arg":{"name":"v"},"parameter_name":"head.v"}},)");
  text.replace(text.find(R"("w":{"dtype")"), 0,
               R"("v":{"dtype":7,"sizes":[{"as_int":3}],"requires_grad":true},)");
  const auto weights = [](std::string_view file_of_head) {
    return fmt::format(
        R"({{"config":{{"layer.w":{{"path_name":"weight_0"}},"head.v":{{"path_name":"{}"}}}}}})",
        file_of_head);
  };
  const auto graph_of = [&](std::string_view file_of_head) {
    return read_format("torch-export",
                       archive({{"m/data/weights/m_weights_config.json", weights(file_of_head)},
                                {"m/models/m.json", text}},
                               true));
  };
  EXPECT_EQ(totals(graph_of("weight_1")).parameters, 6);
  const OpGraph tied = graph_of("weight_0");
  EXPECT_EQ(totals(tied).parameters, 3);
  EXPECT_EQ(names_of(tied, "bias_add").size(), 2U);
}

TEST(TorchExport, SaysWhatIsWrongWithAnArchive) {
  const auto error = [](const std::string& bytes) {
    return error_of_reading("torch-export", bytes);
  };
  const std::string text = text_of("convolutions");
  EXPECT_THAT(error(archive({{"data.pkl", "x"}}, false)), HasSubstr("contains no program"));
  EXPECT_THAT(error(archive({{"models/a.json", text}, {"models/b.json", text}}, true)),
              HasSubstr("several programs"));
  EXPECT_THAT(error(archive({{"models/a.json", text}}, false, 8)), HasSubstr("is compressed"));
  const std::string whole = archive({{"models/a.json", text}}, true);
  EXPECT_THAT(error(whole.substr(0, whole.size() - 30)), HasSubstr("no directory"));
  EXPECT_THAT(error(whole.substr(0, 4)), HasSubstr("zip archive"));
  std::string damaged = whole;
  damaged[whole.find("torch_version")] ^= 1;
  EXPECT_THAT(error(damaged), HasSubstr("'models/a.json': CRC error"));
  // A size that the file does not have asks for no memory.
  std::string large = archive({{"models/a.json", text}}, false);
  const std::size_t entry = large.find("PK\x01\x02");
  large.replace(entry + 20, 8, le(0xfffffff0, 4) + le(0xfffffff0, 4));
  EXPECT_THAT(error(large), HasSubstr("'models/a.json' ends too early"));
}

// Whatever is cut off or replaced, there is a graph or a message, and no crash.
TEST(TorchExport, BrokenFilesAreErrors) {
  const std::string text = text_of("recurrent");
  for (const std::string& whole : {text, archive({{"models/a.json", text}}, true)}) {
    for (std::size_t end = 1; end < whole.size(); end += 1 + whole.size() / 200) {
      static_cast<void>(error_of_reading("torch-export", whole.substr(0, end)));
      std::string changed = whole;
      changed[end] = static_cast<char>(changed[end] ^ 0x11);
      static_cast<void>(error_of_reading("torch-export", changed));
    }
  }
}

}  // namespace
}  // namespace emplace::torch_export_test
