#include "tests/support/source_path.hpp"

#include <emplace/graphs/graph_format.hpp>
#include <emplace/graphs/id_vector.hpp>
#include <emplace/graphs/text_file.hpp>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <graphs/read_format.hpp>
#include <gtest/gtest.h>
#include <support/graphs.hpp>

#include <map>
#include <string>
#include <vector>

namespace emplace {
namespace {

using test::count_kinds;
using test::find;
using testing::ElementsAre;
using testing::HasSubstr;

std::string text_of(const std::string& name) {
  return read_text_file(test::source_path("tests/graphs/data/torch_" + name + ".json"));
}

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
  EXPECT_EQ(kinds["split"], 1);
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

TEST(TorchExport, AnUnknownOperatorIsAnOpOfItsName) {
  const OpGraph graph =
      read_format("torch-export", program(call("my_own.default", "x", "a"), {"a"}, "a"));
  EXPECT_EQ(find(graph, "my_own").flops, 0);
  EXPECT_EQ(find(graph, "my_own").bytes_read, 24);
}

TEST(TorchExport, SaysWhatIsWrong) {
  const auto error = [](const std::string& text, const std::string& params = "") {
    return error_of_reading("torch-export" + params, text).value_or("none");
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

// A little-endian number.
std::string le(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) {
    text += static_cast<char>(value >> (8 * i));
  }
  return text;
}

// A zip archive of entries that are stored as they are; numbers of the directory are 64 bits long
// if `is_64`, as PyTorch writes them.
std::string archive(const std::vector<std::pair<std::string, std::string>>& entries, bool is_64,
                    int method = 0) {
  std::string bytes;
  std::string directory;
  for (const auto& [name, content] : entries) {
    const auto at = bytes.size();
    bytes += "PK\x03\x04" + le(20, 2) + le(0, 2) + le(static_cast<std::uint64_t>(method), 2) +
             le(0, 8) + le(content.size(), 4) + le(content.size(), 4) + le(name.size(), 2) +
             le(4, 2);
    bytes += name;
    bytes += "pad!";
    bytes += content;
    const std::string extra =
        is_64 ? le(1, 2) + le(24, 2) + le(content.size(), 8) + le(content.size(), 8) + le(at, 8)
              : "";
    directory += "PK\x01\x02" + le(20, 2) + le(20, 2) + le(0, 2) +
                 le(static_cast<std::uint64_t>(method), 2) + le(0, 8) +
                 le(is_64 ? 0xffffffff : content.size(), 4) +
                 le(is_64 ? 0xffffffff : content.size(), 4) + le(name.size(), 2) +
                 le(extra.size(), 2) + le(0, 2) + le(0, 8) + le(is_64 ? 0xffffffff : at, 4);
    directory += name;
    directory += extra;
  }
  const auto start = bytes.size();
  bytes += directory;
  if (is_64) {
    const auto end = bytes.size();
    bytes += "PK\x06\x06" + le(44, 8) + le(45, 2) + le(45, 2) + le(0, 8) + le(entries.size(), 8) +
             le(entries.size(), 8) + le(directory.size(), 8) + le(start, 8);
    bytes += "PK\x06\x07" + le(0, 4) + le(end, 8) + le(1, 4);
  }
  return bytes + "PK\x05\x06" + le(0, 4) + le(is_64 ? 0xffff : entries.size(), 2) +
         le(is_64 ? 0xffff : entries.size(), 2) + le(directory.size(), 4) +
         le(is_64 ? 0xffffffff : start, 4) + le(0, 2);
}

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

TEST(TorchExport, SaysWhatIsWrongWithAnArchive) {
  const auto error = [](const std::string& bytes) {
    return error_of_reading("torch-export", bytes).value_or("none");
  };
  const std::string text = text_of("convolutions");
  EXPECT_THAT(error(archive({{"data.pkl", "x"}}, false)), HasSubstr("holds no program"));
  EXPECT_THAT(error(archive({{"models/a.json", text}, {"models/b.json", text}}, true)),
              HasSubstr("several programs"));
  EXPECT_THAT(error(archive({{"models/a.json", text}}, false, 8)), HasSubstr("is compressed"));
  const std::string whole = archive({{"models/a.json", text}}, true);
  EXPECT_THAT(error(whole.substr(0, whole.size() - 30)), HasSubstr("no directory"));
  EXPECT_THAT(error(whole.substr(0, 4)), HasSubstr("zip archive"));
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
}  // namespace emplace
