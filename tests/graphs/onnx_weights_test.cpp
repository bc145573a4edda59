// Which numbers of a model are trained, and which weights hold others in another order.

#ifdef EMPLACE_HAS_LIBONNX

#include <gmock/gmock.h>
#include <graphs/onnx_model.hpp>
#include <support/graphs.hpp>

#include <string>
#include <vector>

namespace emplace::onnx_weights_test {
namespace {

using test::count_kinds;
using test::find;
using test::import;
using test::model;
using test::Weight;
using testing::ElementsAre;
using testing::HasSubstr;

const Weight kOne{"one", {1}, onnx::TensorProto::INT64, {1}};

// Exporters put the gates of recurrent layers in another order, and their two biases behind each
// other. Without the nodes that do so, a step has these alone.
TEST(OnnxWeights, AreReorderedBeforeTheStep) {
  const OpGraph graph = import(
      model(R"(g (float[5, 2, 8] x) => (float[5, 2, 4] y)
    <int64[1] i0 = {0}, int64[1] i8 = {8}, int64[1] i32 = {32}, int64[1] axis = {0}> {
      w1 = Slice (w, i0, i8, axis)
      w2 = Slice (w, i8, i32, axis)
      w3 = Concat <axis = 0> (w2, w1)
      w4 = Unsqueeze (w3, axis)
      r1 = Unsqueeze (r, axis)
      b1 = Concat <axis = 0> (bi, bh)
      b2 = Unsqueeze (b1, axis)
      h = LSTM <hidden_size = 8> (x, w4, r1, b2)
      a = Squeeze (h, one)
      v = Transpose (u)
      y = MatMul (a, v)
    })",
            {{"w", {32, 8}}, {"r", {32, 8}}, {"bi", {32}}, {"bh", {32}}, {"u", {4, 8}}, kOne}),
      ":training=true");
  auto counts = count_kinds(graph);
  EXPECT_EQ(totals(graph).parameters, 2 * 256 + 64 + 32);
  EXPECT_EQ(counts["variable"], 4);
  EXPECT_EQ(counts["optimizer_update"], 4);
  EXPECT_EQ(counts["concat"] + counts["slice_view"] + counts["slice_backward"], 0);
  EXPECT_EQ(find(graph, "bi+bh").parameters, 64);
  EXPECT_EQ(find(graph, "lstm").flops,
            2 * 5 * 2 * 32 * (8 + 8) + 13 * 5 * 2 * 8);  // by the sizes that the operator sees
  EXPECT_THAT(find(graph, "mat_mul").shape, ElementsAre(10, 4, 8));
}

// A part of a weight is no weight, and two layers may read one.
TEST(OnnxWeights, PartsStayWhatTheyAre) {
  const OpGraph graph = import(model(R"(g (float[2, 8] x) => (float[N] y)
    <int64[1] i0 = {0}, int64[1] i2 = {2}, int64[1] axis = {0}> {
      positions = Slice (p, i0, i2, axis)
      a = Add (x, positions)
      t = Transpose (u)
      b = MatMul (a, t)
      y = MatMul (b, u)
    })",
                                     {{"p", {50, 8}}, {"u", {8, 8}}}));
  EXPECT_EQ(count_kinds(graph)["slice_view"], 1);
  EXPECT_EQ(totals(graph).parameters, 50 * 8 + 64);
  EXPECT_EQ(count_kinds(graph)["variable"], 2);
}

// PyTorch's exporter notes which initializers are parameters, and from which it computed others.
TEST(OnnxWeights, TheNotesOfTheExporterSayWhatIsTrained) {
  onnx::ModelProto proto = test::parse_model(R"(g (float[2, 8] x) => (float[N] y) {
      a = MatMul (x, folded)
      b = Mul (a, table)
      c = Add (b, bias)
      y = MatMul (c, tied)
    })",
                                             {{"layer.weight", {8, 20}},
                                              {"folded", {8, 20}},
                                              {"table", {1, 20}},
                                              {"bias", {20}},
                                              {"tied", {20, 8}}});
  // Fields that the library of these tests may be too old to know.
  const auto note = [](auto& message, int field, const std::string& key, const std::string& value) {
    onnx::StringStringEntryProto property;
    property.set_key(key);
    property.set_value(value);
    message.GetReflection()->MutableUnknownFields(&message)->AddLengthDelimited(
        field, property.SerializeAsString());
  };
  onnx::GraphProto& graph = *proto.mutable_graph();
  note(graph, 16, "pkg.torch.export.ExportedProgram.graph_signature",
       "\n# inputs\np_w: PARAMETER target='layer.weight'\np_v: PARAMETER target='gone'\n"
       "p_b: PARAMETER target='bias'\nb_f: BUFFER target='frequencies' persistent=False\n");
  for (const auto& [name, sources] :
       {std::pair("folded", "['gone', 'val_3']"), std::pair("table", "['cos', 'frequencies']"),
        std::pair("tied", "['layer.weight']")}) {
    onnx::ValueInfoProto& value = *graph.add_value_info();
    value.set_name(name);
    note(value, 4, "pkg.onnxscript.optimizer.folded_from", sources);
  }
  const OpGraph trained = import(proto.SerializeAsString(), ":training=true");
  EXPECT_EQ(find(trained, "folded").kind, "variable");
  EXPECT_EQ(find(trained, "layer.weight").kind, "variable");
  EXPECT_EQ(totals(trained).parameters, 2 * 160 + 20);
  EXPECT_EQ(count_kinds(trained)["optimizer_update"], 3);
  EXPECT_EQ(count_kinds(trained)["scale"], 2);  // by the table, which is not trained
}

// The older exporter computes a transposed copy of a tied weight, and says nothing of it.
TEST(OnnxWeights, ATransposedCopyIsTheWeight) {
  const auto parameters = [](const std::vector<float>& numbers) {
    onnx::ModelProto proto = test::parse_model(R"(g (int64[2] ids) => (float[N] y) {
      a = Gather (words, ids)
      y = MatMul (a, copy)
    })",
                                               {{"words", {2, 3}}, {"copy", {3, 2}}});
    const std::vector<float> words{1, 2, 3, 4, 5, 6};
    for (onnx::TensorProto& tensor : *proto.mutable_graph()->mutable_initializer()) {
      const std::vector<float>& all = tensor.name() == "words" ? words : numbers;
      tensor.clear_data_location();
      tensor.set_raw_data(all.data(), all.size() * sizeof(float));
    }
    proto.mutable_graph()->mutable_initializer(1)->set_name("onnx::MatMul_9");
    proto.mutable_graph()->mutable_node(1)->set_input(1, "onnx::MatMul_9");
    return totals(import(proto.SerializeAsString())).parameters;
  };
  EXPECT_EQ(parameters({1, 4, 2, 5, 3, 6}), 6);
  EXPECT_EQ(parameters({1, 4, 2, 5, 3, 7}), 12);
}

}  // namespace
}  // namespace emplace::onnx_weights_test

#endif
