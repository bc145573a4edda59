#include "support/graphs.hpp"

#include <emplace/base/text_file.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/graph_format.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <graphs/read_format.hpp>
#include <graphs/wire_format.hpp>
#include <gtest/gtest.h>
#include <support/temporary_folder.hpp>

#include <algorithm>
#include <sstream>
#include <utility>

namespace emplace::tensorflow_test {
namespace {

using test::find;
using test::flops_of;
using testing::HasSubstr;

#ifndef EMPLACE_WITH_PROTOBUF

TEST(TensorFlow, SaysHowToGetItWhereItIsNotBuiltIn) {
  EXPECT_THAT(error_of_reading("tensorflow", ""), HasSubstr("EMPLACE_WITH_PROTOBUF=ON"));
}

#else

using wire::number;
using wire::text;

std::string network() { return data_file("tensorflow.pbtxt"); }

// Edges as "producer:output consumer"; a control edge has output -1.
std::vector<std::string> edges_of(const OpGraph& graph) {
  std::vector<std::string> edges;
  const auto [begin, end] = boost::edges(graph);
  for (auto edge = begin; edge != end; ++edge) {
    edges.push_back(fmt::format("{}:{} {}", graph[boost::source(*edge, graph)].name,
                                graph[*edge].output, graph[boost::target(*edge, graph)].name));
  }
  return edges;
}

// Reads `graph` with the RunMetadata `run`.
OpGraph with_run(const std::string& graph, const std::string& run) {
  const TemporaryFolder folder;
  const std::string path = folder.path("run_metadata");
  write_text_file(path, run);
  return read_format("tensorflow:device-class=gpu,step-stats=" + path, graph);
}

TEST(TensorFlow, ReadsOpsShapesAndWork) {
  const OpGraph graph = read_format("tensorflow:unknown-dimension=32", network());
  ASSERT_EQ(num_ops(graph), 9);
  const Op& product = find(graph, "dense/MatMul");
  EXPECT_EQ(product.kind, "matmul");
  EXPECT_EQ(product.scope, "dense");
  EXPECT_EQ(product.shape, (std::vector<std::int64_t>{32, 6, 4}));
  EXPECT_EQ(product.flops, 2 * 32 * 6 * 4);
  EXPECT_EQ(product.bytes_read, 4 * (32 * 4 + 4 * 6));
  EXPECT_EQ(product.bytes_written, 4 * 32 * 6);
  EXPECT_EQ(find(graph, "dense/Relu").flops, 32 * 6);
  EXPECT_EQ(find(graph, "train/Apply").kind, "optimizer_update");
  EXPECT_EQ(find(graph, "train/Apply").flops, 2 * 24);
  EXPECT_EQ(find(graph, "train/rate").kind, "constant");
  const Op& variable = find(graph, "dense/w");
  EXPECT_EQ(variable.kind, "variable");
  EXPECT_EQ(variable.parameters, 24);
  EXPECT_EQ(variable.persistent_bytes, 96);
  EXPECT_EQ(find(graph, "x").outputs[0].shape, (std::vector<std::int64_t>{32, 4}));
}

TEST(TensorFlow, ReadsEdgesOrderColocationAndPhases) {
  const OpGraph graph = read_format("tensorflow", network());
  const std::string gradient = "train/gradients/dense/Relu_grad/ReluGrad";
  EXPECT_EQ(edges_of(graph),
            (std::vector<std::string>{"dense/w:0 dense/w/read", "x:0 dense/MatMul",
                                      "dense/w/read:0 dense/MatMul", "dense/MatMul:0 dense/Relu",
                                      "init:-1 dense/Relu", "dense/Relu:0 " + gradient,
                                      "dense/Relu:0 " + gradient, "dense/w:0 train/Apply",
                                      "train/rate:0 train/Apply", gradient + ":0 train/Apply"}));
  EXPECT_EQ(find(graph, "dense/w").colocation, "dense/w");
  EXPECT_EQ(find(graph, "dense/w/read").colocation, "dense/w");
  EXPECT_EQ(find(graph, "train/Apply").colocation, "dense/w");
  EXPECT_EQ(find(graph, "dense/MatMul").colocation, "");
  EXPECT_EQ(find(graph, gradient).phase, Phase::kBackward);
  EXPECT_EQ(find(graph, "train/Apply").phase, Phase::kUpdate);
  EXPECT_EQ(find(graph, "dense/MatMul").phase, Phase::kForward);
}

TEST(TensorFlow, ReadsBinaryGraphsByTheNumbersOfFields) {
  const std::string shape = text(2, number(1, 3)) + text(2, number(1, 5));
  const auto attribute = [](const std::string& key, const std::string& value) {
    return text(5, text(1, key) + text(2, value));
  };
  const std::string graph_def =
      text(1, text(1, "a") + text(2, "Placeholder") + text(4, "/device:GPU:0") +
                  attribute("dtype", number(6, 19)) + attribute("shape", text(7, shape))) +
      text(1, text(1, "b") + text(2, "Relu") + text(3, "a") + text(3, "^a") +
                  attribute("T", number(6, 19)) +
                  attribute("_output_shapes", text(1, text(7, shape)))) +
      text(4, number(1, 1087));
  const OpGraph graph = read_format("tensorflow", graph_def);
  ASSERT_EQ(num_ops(graph), 2);
  EXPECT_EQ(graph[0].outputs[0].type, DataType::kFloat16);
  EXPECT_EQ(graph[0].outputs[0].bytes, 30);
  EXPECT_EQ(graph[1].kind, "relu");
  EXPECT_EQ(graph[1].flops, 15);
  EXPECT_EQ(edges_of(graph), (std::vector<std::string>{"a:0 b", "a:-1 b"}));
}

TEST(TensorFlow, JoinsAllThatAnOpIsColocatedWith) {
  const auto node = [](const std::string& name, const std::string& with) {
    return fmt::format(
        R"(node {{ name: "{}" op: "NoOp" attr {{ key: "_class" value {{ list {{ {} }} }} }} }})",
        name, with);
  };
  const OpGraph graph =
      read_format("tensorflow", node("a", "") + node("b", "") + node("c", "") +
                                    node("d", R"(s: "loc:@b" s: "loc:@c" s: "loc:@gone")"));
  EXPECT_EQ(graph[0].colocation, "");
  EXPECT_EQ(graph[1].colocation, "b");
  EXPECT_EQ(graph[2].colocation, "b");
  EXPECT_EQ(graph[3].colocation, "b");
}

// Launching the product took 9 us on the host, its kernel 4 us; relu ran on the CPU.
TEST(TensorFlow, TakesTimesAndSizesOfARun) {
  const auto record = [](const std::string& name, std::uint64_t begin, std::uint64_t end,
                         const std::string& more = "") {
    return text(2, text(1, name) + number(2, 1'700'000'000'000'000) + number(3, begin) +
                       number(4, end) + more);
  };
  const std::string output =
      text(7, number(1, 0) +
                  text(3, number(1, 1) + text(2, text(2, number(1, 7)) + text(2, number(1, 6))) +
                              text(4, number(1, 256))));
  const std::string run = text(
      1,
      text(1, text(1, "/job:a/device:GPU:0") + record("dense/MatMul", 1, 10, output)) +
          text(1, text(1, "/device:GPU:0/stream:all") + record("dense/MatMul:MatMul", 0, 4)) +
          text(1, text(1, "/device:GPU:0/stream:13") + record("dense/MatMul:MatMul", 0, 4)) +
          text(1, text(1, "/job:a/device:CPU:0") +
                      record("dense/Relu", 2, 5, text(12, number(1, 64))) + record("_SINK", 0, 1)));
  const OpGraph graph = with_run(network(), run);
  const Op& product = find(graph, "dense/MatMul");
  ASSERT_EQ(product.measured.size(), 1U);
  EXPECT_EQ(product.measured[0].device_class, "gpu");
  EXPECT_EQ(product.measured[0].cost_us, 4);
  EXPECT_EQ(product.outputs[0].bytes, 256);
  EXPECT_EQ(product.outputs[0].shape, (std::vector<std::int64_t>{7, 6}));
  const Op& relu = find(graph, "dense/Relu");
  ASSERT_EQ(relu.measured.size(), 1U);
  EXPECT_EQ(relu.measured[0].device_class, "cpu");
  EXPECT_EQ(relu.measured[0].cost_us, 3);
  EXPECT_EQ(relu.workspace_bytes, 64);
  EXPECT_TRUE(find(graph, "x").measured.empty());
}

TEST(TensorFlow, TakesTimesOfACostGraphWhereNoStepWasTraced) {
  const OpGraph graph =
      with_run(network(), R"(cost_graph { node { name: "dense/MatMul" id: 3 compute_cost: 12 } })");
  EXPECT_EQ(find(graph, "dense/MatMul").measured[0].cost_us, 12);
}

TEST(TensorFlow, RefusesWhatItCannotRead) {
  const auto node = [](const std::string& members) { return "node { " + members + " }"; };
  const std::string a = node(R"(name: "a" op: "Add")");
  const auto with_shape = [&](const std::string& dimension) {
    return node(R"(name: "a" op: "Placeholder" attr { key: "shape" value { shape { dim { size: )" +
                dimension + R"( } dim { size: 9223372036854775807 } } } })");
  };
  const Mistakes mistakes = {
      {"", "expected at least one node; a GraphDef, a MetaGraphDef and a SavedModel are read"},
      {"strange { width: 5 } # node {\nsize: 7 size: 8 name: 'node {'",
       "expected at least one node, found a text whose fields are strange, size, name; a GraphDef"},
      {"item { id: 1 name: 'cat' }", "a label map names the classes of a model, but is no graph"},
      {"node { calculator: 'Gate' input_stream: 'a' }\ninput_stream: 'a'",
       "expected each node to have a name and an op, found a text whose fields are node, "
       "input_stream"},
      {"node {\n name: 7\n}", "expected a message of type GraphDef; line 2, column 8"},
      {"\x0a\xff", "expected a message of type GraphDef"},
      {a + a, "node 'a': the name appears twice"},
      {node(R"(name: "a" op: "Add" input: "b")"),
       "node 'a': its input 'b' is not a node of the file"},
      {a + node(R"(name: "b" op: "Add" input: "a:x")"),
       "expected an input 'name:number', found 'a:x'"},
      {a + node(R"(name: "b" op: "Add" input: "a:-1")"),
       "expected an input 'name:number', found 'a:-1'"},
      {a + node(R"(name: "b" op: "Add" input: "a:99999999")"), "expected an input 'name:number'"},
      {node(R"(name: "a" op: "Add" input: "b")") + node(R"(name: "b" op: "Add" input: "a")"),
       "a cycle of ops"},
      {node(R"(name: "a" op: "NextIteration")"), "node 'a' (NextIteration): loops and branches"},
      {with_shape("-2"), "node 'a': expected a dimension of at least -1, found -2"},
      {with_shape("2"), "node 'a': the size of a result does not fit 64 bits"},
      {"\x89HDF\r\n\x1a\n", "model.export(folder) in Keras 3"},
      {std::string("\x1c\0\0\0TFL3\0", 9), "TensorFlow Lite files are not read"},
      {node(R"(name: "a" op: "While")"), "node 'a' (While): loops and branches"},
      {node(R"(name: "a" op: "CudnnRNN")"), "node 'a' (CudnnRNN): "},
  };
  expect_errors("tensorflow", mistakes);
}

// One node of a text graph; inputs are parted by blanks, `attributes` are in the text format.
std::string node(const std::string& name, const std::string& op, const std::string& inputs = "",
                 const std::string& attributes = "") {
  std::string text = fmt::format("node {{ name: '{}' op: '{}' ", name, op);
  std::istringstream words(inputs);
  for (std::string input; words >> input;) {
    text += fmt::format("input: '{}' ", input);
  }
  return text + attributes + " }\n";
}

std::string attribute(const std::string& key, const std::string& value) {
  return fmt::format("attr {{ key: '{}' value {{ {} }} }} ", key, value);
}

std::string list(const std::string& key, std::initializer_list<int> numbers) {
  return attribute(key, fmt::format("list {{ i: {} }}", fmt::join(numbers, " i: ")));
}

std::string dims(std::initializer_list<int> sizes) {
  return sizes.size() == 0 ? ""
                           : fmt::format("dim {{ size: {} }}", fmt::join(sizes, " } dim { size: "));
}

std::string placeholder(const std::string& name, std::initializer_list<int> sizes) {
  return node(
      name, "Placeholder", "",
      attribute("dtype", "type: DT_FLOAT") + attribute("shape", "shape { " + dims(sizes) + " }"));
}

std::string weights(const std::string& name, std::initializer_list<int> sizes) {
  return node(
      name, "Const", "",
      attribute("dtype", "type: DT_FLOAT") +
          attribute("value", "tensor { dtype: DT_FLOAT tensor_shape { " + dims(sizes) + " } }"));
}

std::string integers(const std::string& name, std::initializer_list<int> sizes,
                     std::initializer_list<int> numbers) {
  return node(name, "Const", "",
              attribute("dtype", "type: DT_INT32") +
                  attribute("value", fmt::format("tensor {{ dtype: DT_INT32 tensor_shape {{ {} }} "
                                                 "int_val: {} }}",
                                                 dims(sizes), fmt::join(numbers, " int_val: "))));
}

// Returns the shape of the first result of the last node, called "y".
std::vector<std::int64_t> shape_of(const std::string& text) {
  return find(read_format("tensorflow", text), "y").outputs.at(0).shape;
}

using Sizes = std::vector<std::int64_t>;

// Returns `node` with a shape that the file says of its result.
std::string declared(const std::string& node, std::initializer_list<int> sizes) {
  return node.substr(0, node.rfind('}')) +
         attribute("_output_shapes", "list { shape { " + dims(sizes) + " } }") + "}\n";
}

TEST(TensorFlow, ReadsNoNumbersThatADeclaredShapeOnlyPromises) {
  const std::string sizes = integers("sizes", {4}, {1, 2, 3, 4});
  const std::string slice = integers("begin", {1}, {500'000'000}) + integers("size", {1}, {1}) +
                            node("y", "Slice", "sizes begin size");
  EXPECT_EQ(shape_of(declared(sizes, {1'000'000'000}) + slice), Sizes({1}));
  const OpGraph graph = read_format("tensorflow:shapes=sizes:1000000000", sizes + slice);
  EXPECT_EQ(find(graph, "y").outputs.at(0).shape, Sizes({1}));
}

TEST(TensorFlow, AGatherThatIsDeclaredAScalarIsNoEmbedding) {
  const std::string text =
      weights("table", {10, 4}) + placeholder("ids", {3}) + integers("axis", {}, {0}) +
      declared(node("y", "GatherV2", "table ids axis", attribute("Tparams", "type: DT_FLOAT")), {});
  EXPECT_NE(find(read_format("tensorflow", text), "y").kind, "embedding");
}

// Shapes that a file states for an iterator are used; those of a known operator follow from its
// inputs, which must fit it.
TEST(TensorFlow, AStatedShapeOverrulesNoRule) {
  const auto stated = [](std::initializer_list<int> sizes) {
    return attribute("output_shapes", "list { shape { " + dims(sizes) + " } }");
  };
  EXPECT_EQ(
      shape_of(node("data", "IteratorGetNext", "", stated({4, 3})) + node("y", "Relu", "data")),
      Sizes({4, 3}));
  EXPECT_THAT(
      error_of_reading(
          "tensorflow",
          placeholder("x", {}) + node("y", "SoftmaxCrossEntropyWithLogits", "x x", stated({2}))),
      HasSubstr("node 'y' (SoftmaxCrossEntropyWithLogits): expected 2 dimensions at input 0, "
                "found []"));
}

// 31 nodes of 65,536 results: one that is read, and all before it.
TEST(TensorFlow, RefusesMoreResultsThanAGraphHas) {
  std::string text = node("n0", "Foo");
  for (int i = 1; i < 40; ++i) {
    text += node(fmt::format("n{}", i), "Foo", fmt::format("n{}:65535", i - 1));
  }
  EXPECT_THAT(error_of_reading("tensorflow", text),
              HasSubstr("node 'n30': with its result 65535, all nodes have more than 2000000 "
                        "results"));
}

TEST(TensorFlow, KnowsTheBytesOfTypes) {
  const auto read = [](const std::string& type) {
    return read_format("tensorflow", node("y", "Placeholder", "",
                                          attribute("dtype", "type: " + type) +
                                              attribute("shape", "shape { " + dims({10}) + " }")));
  };
  const std::pair<const char*, std::int64_t> bytes_of[] = {{"DT_HALF", 2},
                                                           {"DT_FLOAT8_E4M3FN", 1},
                                                           {"25", 1},
                                                           {"DT_INT4", 1},
                                                           {"29", 1},
                                                           {"DT_COMPLEX64", 8},
                                                           {"DT_COMPLEX128", 16},
                                                           {"DT_COMPLEX128_REF", 16},
                                                           {"DT_STRING", 8}};
  for (const auto& [type, bytes] : bytes_of) {
    const OpGraph graph = read(type);
    EXPECT_EQ(find(graph, "y").outputs.at(0).bytes, 10 * bytes) << type;
    EXPECT_EQ(graph[boost::graph_bundle].source, "TensorFlow GraphDef") << type;
  }
  EXPECT_EQ(read("99")[boost::graph_bundle].source,
            "TensorFlow GraphDef; elements of unknown types count as 8 bytes: 99");
}

// Howard et al. 2017 state 569 million multiply-adds and 4.2 million parameters; Keras counts
// 4,231,976 trained ones. make_tensorflow.py wrote the graph, without any shape but the weights'.
TEST(TensorFlow, CountsMobileNetAsPublished) {
  const OpGraph graph = read_format("tensorflow", data_file("tensorflow_mobilenet_v1.pb"));
  EXPECT_EQ(totals(graph).parameters, 4'231'976);
  EXPECT_EQ(flops_of(graph, {"conv2d", "depthwise_conv2d"}), 2 * 568'740'352LL);
  EXPECT_EQ(find(graph, "Softmax").outputs[0].shape, (Sizes{1, 1000}));
  EXPECT_THAT(graph[boost::graph_bundle].source, testing::Not(HasSubstr("unknown")));
}

// 4,089,184,256 multiply-adds, 25,557,032 parameters: torchvision's ResNet-50, and our own.
TEST(TensorFlow, CountsResNetLikeTheBuiltInModelInBothLayouts) {
  const OpGraph own = load_graph("resnet-50:training=false,batch=4");
  const auto kinds = {std::string_view("conv2d"), std::string_view("matmul")};
  for (const char* layout : {"nhwc", "nchw"}) {
    const OpGraph graph = read_format("tensorflow:unknown-dimension=4",
                                      data_file(fmt::format("tensorflow_resnet50_{}.pb", layout)));
    EXPECT_EQ(totals(graph).parameters, 25'557'032) << layout;
    EXPECT_EQ(flops_of(graph, kinds), 4 * 2 * 4'089'184'256LL) << layout;
    EXPECT_EQ(flops_of(graph, kinds), flops_of(own, kinds)) << layout;
    // By moving statistics, a number takes 2 FLOPs; our own model computes them, which takes 5.
    EXPECT_EQ(5 * flops_of(graph, {"batch_norm_inference"}), 2 * flops_of(own, {"batch_norm"}))
        << layout;
    EXPECT_EQ(find(graph, "fc/BiasAdd").outputs[0].shape, (Sizes{4, 1000})) << layout;
  }
}

TEST(TensorFlow, InfersTheShapesOfWindows) {
  const auto conv = [](const std::string& more) {
    return placeholder("x", {2, 15, 12, 3}) + weights("w", {3, 3, 3, 8}) +
           node("y", "Conv2D", "x w", more);
  };
  EXPECT_EQ(shape_of(conv(attribute("padding", "s: 'SAME'") + list("strides", {1, 2, 2, 1}))),
            (Sizes{2, 8, 6, 8}));
  EXPECT_EQ(shape_of(conv(attribute("padding", "s: 'VALID'") + list("dilations", {1, 2, 2, 1}))),
            (Sizes{2, 11, 8, 8}));
  EXPECT_EQ(shape_of(conv(attribute("padding", "s: 'EXPLICIT'") +
                          list("explicit_paddings", {0, 0, 1, 0, 2, 2, 0, 0}))),
            (Sizes{2, 14, 14, 8}));
  EXPECT_EQ(
      shape_of(placeholder("x", {2, 3, 9, 9}) +
               node("y", "MaxPool", "x",
                    attribute("padding", "s: 'VALID'") + list("ksize", {1, 1, 2, 2}) +
                        list("strides", {1, 1, 2, 2}) + attribute("data_format", "s: 'NCHW'"))),
      (Sizes{2, 3, 4, 4}));
}

TEST(TensorFlow, InfersShapesFromConstants) {
  const std::string x = placeholder("x", {2, 6, 4});
  const auto with = [&](std::initializer_list<int> sizes, std::initializer_list<int> numbers,
                        const std::string& op, const std::string& attributes = "") {
    return shape_of(x + integers("c", sizes, numbers) + node("y", op, "x c", attributes));
  };
  EXPECT_EQ(with({2}, {-1, 8}, "Reshape"), (Sizes{6, 8}));
  EXPECT_EQ(with({}, {-1}, "ExpandDims"), (Sizes{2, 6, 4, 1}));
  EXPECT_EQ(with({3}, {2, 0, 1}, "Transpose"), (Sizes{4, 2, 6}));
  EXPECT_EQ(with({2}, {0, -1}, "Mean"), (Sizes{6}));
  EXPECT_EQ(with({1}, {1}, "Max", attribute("keep_dims", "b: true")), (Sizes{2, 1, 4}));
  EXPECT_EQ(with({3, 2}, {0, 0, 1, 2, 3, 0}, "Pad"), (Sizes{2, 9, 7}));
  EXPECT_EQ(with({3}, {1, 2, 3}, "Tile"), (Sizes{2, 12, 12}));
  EXPECT_EQ(with({}, {1}, "ArgMax"), (Sizes{2, 4}));
  EXPECT_EQ(shape_of(x + integers("a", {}, {1}) +
                     node("y", "Split", "a x", attribute("num_split", "i: 3"))),
            (Sizes{2, 2, 4}));
  EXPECT_EQ(shape_of(x + integers("a", {}, {-1}) + node("y", "ConcatV2", "x x a")),
            (Sizes{2, 6, 8}));
  EXPECT_EQ(shape_of(weights("t", {50, 7}) + integers("i", {3}, {1, 2, 3}) +
                     integers("a", {}, {0}) + node("y", "GatherV2", "t i a")),
            (Sizes{3, 7}));
  EXPECT_EQ(shape_of(placeholder("m", {2, 5, 6, 3}) + integers("s", {2}, {10, 12}) +
                     node("y", "ResizeBilinear", "m s")),
            (Sizes{2, 10, 12, 3}));
}

// Returns the last node, called "y".
Op read_y(const std::string& text) { return find(read_format("tensorflow", text), "y"); }

struct Case {
  const char* op;
  const char* inputs;
  const char* kind;
  std::int64_t flops;
  Sizes key;
};

// x is [2, 6, 4], v [4], m [2, 5, 5, 3], s a number. What a kind counts is the library's.
TEST(TensorFlow, OperatorsAreThoseOfTheLibrary) {
  const std::string inputs = placeholder("x", {2, 6, 4}) + placeholder("v", {4}) +
                             placeholder("m", {2, 5, 5, 3}) + placeholder("s", {}) +
                             integers("axis", {}, {-1}) + integers("size", {2}, {10, 10});
  const Case cases[] = {
      {"Neg", "x", "neg", 48, {48}},
      {"Cast", "x", "cast", 48, {48}},
      {"Relu6", "x", "clip", 96, {48}},
      {"Relu6Grad", "x x", "clip_backward", 144, {48}},
      {"TanhGrad", "x x", "tanh_backward", 144, {48}},
      {"RsqrtGrad", "x x", "pow_backward", 144, {48}},
      {"Rsqrt", "x", "pow", 48, {48}},
      {"Maximum", "x x", "max", 48, {48}},
      {"Maximum", "x s", "clip", 96, {48}},
      {"Sub", "x s", "add", 48, {48}},
      {"Sub", "s x", "subtract", 48, {48}},
      {"RealDiv", "x s", "scale", 48, {48}},
      {"RealDiv", "s x", "reciprocal", 48, {48}},
      {"FloorMod", "x v", "broadcast_mod", 48, {48}},
      {"Mul", "v x", "broadcast_multiply", 48, {48}},
      {"AddV2", "v x", "bias_add", 48, {12, 4}},
      {"SquaredDifference", "v x", "squared_difference", 96, {48}},
      {"GreaterEqual", "v x", "greater_or_equal", 48, {48}},
      {"LogicalAnd", "x x", "and", 48, {48}},
      {"SelectV2", "v x s", "where", 0, {48}},
      {"AddN", "x x x", "add_n", 96, {3, 48}},
      {"Pack", "x x", "concat", 0, {2, 96}},
      {"ConcatV2", "x x axis", "concat", 0, {2, 96}},
      {"Unpack", "x", "split", 0, {1, 48}},
      {"LogSoftmax", "x", "log_softmax", 240, {12, 4}},
      {"L2Loss", "x", "reduce_sum_square", 96, {48, 1}},
      {"Cumsum", "x axis", "cum_sum", 48, {48}},
      {"LRN", "m", "lrn", 150 * (11 + 4), {150}},
      {"ResizeBilinear", "m size", "resize", 7 * 600, {600, 150}},
      {"ResizeNearestNeighbor", "m size", "resize", 0, {600, 150}},
      {"FakeQuantWithMinMaxVars", "x s s", "fake_quantize", 192, {48}},
  };
  for (const Case& c : cases) {
    const Op op = read_y(inputs + node("y", c.op, c.inputs));
    EXPECT_EQ(op.kind, c.kind) << c.op;
    EXPECT_EQ(op.flops, c.flops) << c.op;
    EXPECT_EQ(op.shape, c.key) << c.op;
  }
}

TEST(TensorFlow, ReductionsKnowTheirAxes) {
  const auto reduced = [](const std::string& op, std::initializer_list<int> x,
                          std::initializer_list<int> axes, const std::string& attributes = "") {
    return read_y(placeholder("x", x) + integers("axes", {static_cast<int>(axes.size())}, axes) +
                  node("y", op, "x axes", attributes));
  };
  const Op sum = reduced("Sum", {2, 6, 4}, {-1});
  EXPECT_EQ(sum.kind, "reduce_sum");
  EXPECT_EQ(sum.flops, 48);
  EXPECT_EQ(sum.shape, (Sizes{48, 12}));
  EXPECT_EQ(std::get<ReduceAttributes>(sum.attributes).axes, (Sizes{2}));
  EXPECT_EQ(reduced("ArgMax", {2, 6, 4}, {1}).kind, "arg_max");
  EXPECT_EQ(reduced("Any", {2, 6, 4}, {1}).outputs[0].type, DataType::kBool);
  // A mean over the whole of each map is a pool, however it is laid out.
  for (const char* keep : {"b: true", "b: false"}) {
    const Op last = reduced("Mean", {2, 7, 5, 3}, {1, 2}, attribute("keep_dims", keep));
    const Op first = reduced("Mean", {2, 3, 7, 5}, {2, 3}, attribute("keep_dims", keep));
    EXPECT_EQ(last.kind, "avg_pool");
    EXPECT_EQ(last.flops, 2 * 3 * 7 * 5);
    EXPECT_EQ(last.shape, (Sizes{2, 3, 7, 5, 7, 5, 1, 1, 1}));
    EXPECT_EQ(first.shape, last.shape);
    EXPECT_EQ(first.attributes, last.attributes);
  }
  // No axes are none, not all.
  const Op none = read_y(placeholder("x", {2, 6}) +
                         node("axes", "Const", "",
                              attribute("dtype", "type: DT_INT32") +
                                  attribute("value",
                                            "tensor { dtype: DT_INT32 tensor_shape { dim { size: 0 "
                                            "} } }")) +
                         node("y", "Sum", "x axes"));
  EXPECT_EQ(none.outputs[0].shape, (Sizes{2, 6}));
  EXPECT_EQ(none.flops, 0);
}

TEST(TensorFlow, NormalizesByStatisticsOfTheBatchInTrainingOnly) {
  const auto norm = [](const std::string& attributes) {
    return read_y(placeholder("x", {2, 8, 6, 4}) + weights("w", {4}) +
                  node("y", "FusedBatchNormV3", "x w w w w", attributes));
  };
  const Op training = norm("");
  EXPECT_EQ(training.kind, "batch_norm");
  EXPECT_EQ(training.shape, (Sizes{2, 4, 48}));
  EXPECT_EQ(training.flops, 5 * 384);
  EXPECT_EQ(training.bytes_read, 4 * (2 * 384 + 4 * 4)) << "the maps twice";
  const Op inference = norm(attribute("is_training", "b: false"));
  EXPECT_EQ(inference.kind, "batch_norm_inference");
  EXPECT_EQ(inference.flops, 2 * 384);
  EXPECT_EQ(inference.bytes_read, 4 * (384 + 4 * 4));
  const Op gradient = read_y(
      placeholder("dy", {2, 4, 8, 6}) + placeholder("x", {2, 4, 8, 6}) + weights("w", {4}) +
      node("y", "FusedBatchNormGradV3", "dy x w w w w", attribute("data_format", "s: 'NCHW'")));
  EXPECT_EQ(gradient.kind, "batch_norm_backward");
  EXPECT_EQ(gradient.shape, (Sizes{2, 4, 48}));
  EXPECT_EQ(gradient.flops, 9 * 384);
}

TEST(TensorFlow, BiasesLieAlongTheChannels) {
  const auto bias = [](std::initializer_list<int> x, const std::string& attributes) {
    return read_y(placeholder("x", x) + weights("b", {3}) + node("y", "BiasAdd", "x b", attributes))
        .shape;
  };
  EXPECT_EQ(bias({2, 5, 4, 3}, ""), (Sizes{40, 3}));
  EXPECT_EQ(bias({2, 3, 5, 4}, attribute("data_format", "s: 'NCHW'")), (Sizes{2, 3, 20}));
}

// Slots are variables of their own: inputs, which the op reads and writes, but does not keep.
TEST(TensorFlow, OptimizersDoNotKeepTheirSlots) {
  const auto variable = [](const std::string& name, const std::string& op) {
    return node(name, op, "",
                attribute("dtype", "type: DT_FLOAT") +
                    attribute("shape", "shape { " + dims({10, 4}) + " }"));
  };
  for (const auto& [op, holder] :
       {std::pair{"ApplyAdam", "VariableV2"}, std::pair{"ResourceApplyAdam", "VarHandleOp"}}) {
    const OpGraph graph = read_format(
        "tensorflow", variable("w", holder) + variable("m", holder) + variable("v", holder) +
                          placeholder("s", {}) + placeholder("g", {10, 4}) +
                          node("y", op, "w m v s s s s s s g"));
    const Op& update = find(graph, "y");
    EXPECT_EQ(update.kind, "optimizer_update") << op;
    EXPECT_EQ(update.phase, Phase::kUpdate) << op;
    EXPECT_EQ(update.flops, 12 * 40) << op;
    EXPECT_EQ(update.shape, (Sizes{40, 2})) << op;
    EXPECT_EQ(update.bytes_read, 4 * (4 * 40 + 6)) << op;
    EXPECT_EQ(update.bytes_written, 4 * 3 * 40) << op;
    EXPECT_EQ(totals(graph).persistent_bytes, 4 * 3 * 40) << op;
    EXPECT_EQ(std::get<UpdateAttributes>(update.attributes).optimizer, "adam") << op;
  }
}

TEST(TensorFlow, ReadsAnyEquationOfEinstein) {
  const auto einsum = [](const std::string& inputs, const std::string& equation) {
    return read_y(placeholder("a", {2, 5, 3}) + placeholder("b", {2, 3, 4}) +
                  placeholder("c", {4, 6}) +
                  node("y", "Einsum", inputs, attribute("equation", "s: '" + equation + "'")));
  };
  const Op product = einsum("a b", "...ij,...jk->...ik");
  EXPECT_EQ(product.kind, "batch_matmul");
  EXPECT_EQ(product.shape, (Sizes{2, 5, 4, 3}));
  EXPECT_EQ(product.outputs[0].shape, (Sizes{2, 5, 4}));
  EXPECT_EQ(product.flops, 2 * 2 * 5 * 4 * 3);
  const Op chain = einsum("a b c", "bij,bjk,kl->bil");
  EXPECT_EQ(chain.outputs[0].shape, (Sizes{2, 5, 6}));
  EXPECT_EQ(chain.flops, 2 * 2 * 5 * (3 * 4 + 4 * 6)) << "two factors at a time";
}

TEST(TensorFlow, TransposesKnowTheOrderOfTheirAxes) {
  const auto transposed = [](const std::string& perm) {
    return read_y(placeholder("x", {2, 2, 3}) + perm +
                  declared(node("y", "Transpose", "x perm"), {2, 3, 2}));
  };
  EXPECT_EQ(transposed(integers("perm", {3}, {1, 2, 0})).shape, (Sizes{2, 2, 3, 1, 2, 0}));
  // Where data tell, the extents do.
  EXPECT_EQ(transposed(placeholder("perm", {3})).shape, (Sizes{2, 2, 3, 0, 2, 1}));
}

// x[..., 1:5:2, None, -1] of [2, 6, 4] is [2, 2, 1].
TEST(TensorFlow, InfersTheShapeOfAStridedSlice) {
  EXPECT_EQ(shape_of(placeholder("x", {2, 6, 4}) + integers("b", {4}, {0, 1, 0, -1}) +
                     integers("e", {4}, {0, 5, 0, 0}) + integers("s", {4}, {1, 2, 1, 1}) +
                     node("y", "StridedSlice", "x b e s",
                          attribute("ellipsis_mask", "i: 1") + attribute("new_axis_mask", "i: 4") +
                              attribute("shrink_axis_mask", "i: 8"))),
            (Sizes{2, 2, 1}));
  EXPECT_EQ(shape_of(placeholder("x", {9, 4}) + integers("b", {1}, {-2}) + integers("e", {1}, {0}) +
                     integers("s", {1}, {-3}) +
                     node("y", "StridedSlice", "x b e s", attribute("end_mask", "i: 1"))),
            (Sizes{3, 4}));
}

// Keras' Flatten: what is computed from shapes is no work, and moves no activations.
TEST(TensorFlow, ComputesShapesBeforeTheStep) {
  const OpGraph graph = read_format(
      "tensorflow:unknown-dimension=8",
      placeholder("x", {-1, 5, 7}) + node("shape", "Shape", "x") + integers("0", {1}, {0}) +
          integers("1", {1}, {1}) +
          node("batch", "StridedSlice", "shape 0 1 1", attribute("shrink_axis_mask", "i: 1")) +
          integers("rest", {}, {-1}) + node("sizes", "Pack", "batch rest") +
          node("flat", "Reshape", "x sizes") + weights("w", {35, 2}) +
          node("y", "MatMul", "flat w"));
  EXPECT_EQ(find(graph, "y").flops, 2 * 8 * 35 * 2);
  EXPECT_EQ(find(graph, "sizes").kind, "no_op");
  EXPECT_THAT(edges_of(graph), testing::Contains("x:-1 shape"));
  EXPECT_THAT(edges_of(graph), testing::Contains("x:0 flat"));
}

// The weights of a frozen graph are its constants; moving averages are kept, but not trained.
TEST(TensorFlow, TakesConstantsOfAFrozenGraphForWeights) {
  const OpGraph graph = read_format(
      "tensorflow", placeholder("x", {2, 8, 8, 4}) + weights("bn/gamma", {4}) +
                        weights("bn/beta", {4}) + weights("bn/a", {4}) + weights("bn/b", {4}) +
                        node("bn/a/read", "Identity", "bn/a") +
                        node("bn", "FusedBatchNormV3", "x bn/gamma bn/beta bn/a/read bn/b",
                             attribute("is_training", "b: false")) +
                        weights("half", {}) + node("y", "Mul", "bn half"));
  EXPECT_EQ(totals(graph).parameters, 8);
  EXPECT_EQ(totals(graph).persistent_bytes, 4 * (4 * 4 + 1));
  EXPECT_EQ(find(graph, "bn/gamma").kind, "variable");
  EXPECT_EQ(find(graph, "bn/a").kind, "constant");
  EXPECT_EQ(find(graph, "half").kind, "constant");
  EXPECT_EQ(find(graph, "bn/a").colocation, find(graph, "bn").colocation);
  EXPECT_EQ(find(graph, "bn").kind, "batch_norm_inference");
  EXPECT_EQ(find(graph, "bn").flops, 2 * 2 * 8 * 8 * 4);
  EXPECT_EQ(find(graph, "bn").shape, (Sizes{2, 4, 64}));
  EXPECT_EQ(find(graph, "y").kind, "scale");
}

TEST(TensorFlow, RefusesWorkThatItCannotCount) {
  const std::string open = placeholder("image", {-1, -1, -1, 3}) + weights("w", {3, 3, 3, 8}) +
                           node("crop", "Relu", "image") +
                           node("y", "Conv2D", "crop w", attribute("padding", "s: 'SAME'"));
  EXPECT_THAT(error_of_reading("tensorflow", open),
              testing::AllOf(HasSubstr("node 'y' (Conv2D)"), HasSubstr("'image' (Placeholder)"),
                             HasSubstr("shapes=image:")));
  const OpGraph graph = read_format("tensorflow:shapes=image:2x10x20x3", open);
  EXPECT_EQ(find(graph, "y").flops, 2LL * 2 * 10 * 20 * 8 * 27);
  EXPECT_THAT(error_of_reading("tensorflow:shapes=imag:1x2", open),
              HasSubstr("did you mean 'image'"));
  const std::string unknown = placeholder("x", {2, 4}) + node("z", "Strange", "x") +
                              weights("w", {4, 5}) + node("y", "MatMul", "z w");
  EXPECT_THAT(error_of_reading("tensorflow", unknown),
              HasSubstr("emplace has no shape rule for this operator"));
  EXPECT_EQ(find(read_format("tensorflow:shapes=z:2x4", unknown), "y").flops, 2 * 2 * 4 * 5);
  const OpGraph light = read_format(
      "tensorflow", placeholder("x", {2, 4}) + node("z", "Strange", "x") + node("y", "Relu", "z"));
  EXPECT_THAT(light[boost::graph_bundle].source, HasSubstr("unknown size"));
  EXPECT_THAT(error_of_reading("tensorflow", placeholder("x", {2, 4}) + weights("w", {5, 6}) +
                                                 node("y", "MatMul", "x w")),
              HasSubstr("node 'y' (MatMul): cannot multiply 4 columns by 5 rows"));
}

std::string function(const std::string& name, const std::string& arguments,
                     const std::string& results, const std::string& body) {
  std::string text = fmt::format("function {{ signature {{ name: '{}' ", name);
  std::istringstream words(arguments);
  for (std::string argument; words >> argument;) {
    text += fmt::format("input_arg {{ name: '{}' type: DT_FLOAT }} ", argument);
  }
  return text + "output_arg { name: 'y' type: DT_FLOAT } } " + body +
         fmt::format("ret {{ key: 'y' value: '{}' }} }}\n", results);
}

// What the file says of a shape is no more than of its rank in the first graphs of TensorFlow.
TEST(TensorFlow, TakesAnEmptyShapeOfAnOldPlaceholderForAnOpenOne) {
  const std::string graph =
      placeholder("x", {}) + weights("w", {4, 5}) + node("y", "MatMul", "x w");
  EXPECT_THAT(error_of_reading("tensorflow", graph + "versions { producer: 21 }"),
              testing::AllOf(HasSubstr("the shape of 'x' (Placeholder) is not known"),
                             HasSubstr("shapes=x:")));
  EXPECT_THAT(error_of_reading("tensorflow", graph + "versions { producer: 22 }"),
              HasSubstr("expected [..., K] and [K, N], found [] and [4, 5]"));
}

TEST(TensorFlow, ReadsAMetaGraphAsText) {
  const OpGraph graph =
      read_format("tensorflow", "meta_info_def { tags: 'train' }\ngraph_def {\n" +
                                    placeholder("x", {2, 4}) + node("y", "Relu", "x") + "}");
  EXPECT_EQ(find(graph, "y").flops, 8);
}

TEST(TensorFlow, SizesMayBe0) {
  const OpGraph graph =
      read_format("tensorflow:shapes=x:0x4",
                  placeholder("x", {-1, 4}) + weights("w", {4, 5}) + node("y", "MatMul", "x w"));
  EXPECT_EQ(find(graph, "y").outputs[0].shape, Sizes({0, 5}));
}

// 2^32 + 3 has the lowest 32 bits of 3.
TEST(TensorFlow, CastsToFewerBitsAsTensorFlowDoes) {
  const std::string large =
      node("large", "Const", "",
           attribute("dtype", "type: DT_INT64") +
               attribute("value",
                         "tensor { dtype: DT_INT64 tensor_shape { dim { size: 1 } } "
                         "int64_val: 4294967299 }"));
  EXPECT_EQ(shape_of(large + node("small", "Cast", "large", attribute("DstT", "type: DT_INT32")) +
                     placeholder("x", {}) + node("y", "Fill", "small x")),
            Sizes({3}));
}

std::string in_function(std::string text) {
  for (std::size_t at = 0; (at = text.find("node {", at)) != std::string::npos; at += 8) {
    text.replace(at, 4, "node_def");
  }
  return text;
}

std::string calls(const std::string& called) {
  return attribute("f", fmt::format("func {{ name: '{}' }}", called));
}

// A dense layer within two functions, as Keras exports it, and a saver that nothing serves.
std::string saved_model(const std::string& inner_body = "") {
  const auto variable = [](const std::string& name, std::initializer_list<int> sizes) {
    return node(name, "VarHandleOp", "",
                attribute("dtype", "type: DT_FLOAT") +
                    attribute("shape", "shape { " + dims(sizes) + " }") +
                    attribute("_output_shapes", "list { shape { } }"));
  };
  const std::string body =
      node("read", "ReadVariableOp", "w", attribute("dtype", "type: DT_FLOAT")) +
      node("MatMul", "MatMul", "x read:value:0") +
      node("more", "ReadVariableOp", "b", attribute("dtype", "type: DT_FLOAT")) +
      node("BiasAdd", "BiasAdd", "MatMul:product:0 more:value:0") + inner_body;
  return "saved_model_schema_version: 1\nmeta_graphs { meta_info_def { tags: 'serve' } graph_def "
         "{\n" +
         placeholder("serving_default_x", {-1, 4}) + variable("w", {4, 6}) + variable("b", {6}) +
         node("Call", "StatefulPartitionedCall", "serving_default_x w b", calls("outer")) +
         node("Saver", "While", "w") + "library {\n" +
         function("outer", "x w b", "dense:output:0",
                  in_function(node("dense", "PartitionedCall", "x w b", calls("inner")))) +
         function("inner", "x w b", "BiasAdd:output:0", in_function(body)) +
         "} }\nsignature_def { key: 'serving_default' value { "
         "inputs { key: 'x' value { name: 'serving_default_x:0' } } "
         "outputs { key: 'y' value { name: 'Call:0' } } } } }";
}

TEST(TensorFlow, InlinesTheFunctionsOfASavedModel) {
  const OpGraph graph = read_format("tensorflow:unknown-dimension=3", saved_model());
  EXPECT_EQ(edges_of(graph),
            (std::vector<std::string>{
                "w:0 Call/dense/read", "serving_default_x:0 Call/dense/MatMul",
                "Call/dense/read:0 Call/dense/MatMul", "b:0 Call/dense/more",
                "Call/dense/MatMul:0 Call/dense/BiasAdd", "Call/dense/more:0 Call/dense/BiasAdd"}));
  EXPECT_EQ(find(graph, "Call/dense/MatMul").flops, 2 * 3 * 4 * 6);
  EXPECT_EQ(find(graph, "Call/dense/BiasAdd").scope, "Call/dense");
  EXPECT_EQ(totals(graph).parameters, 4 * 6 + 6);
  EXPECT_EQ(graph[boost::graph_bundle].source, "TensorFlow SavedModel, signature serving_default");
  const OpGraph wide = read_format("tensorflow:shapes=x:5x4", saved_model());
  EXPECT_EQ(find(wide, "Call/dense/MatMul").flops, 2 * 5 * 4 * 6);
}

// Outside of functions results have numbers only: what reads "norm" reads its result 0.
TEST(TensorFlow, CountsResultsOutsideOfFunctions) {
  const std::string library = "library { " + function("f", "x", "x", "") + "}";
  const std::string nodes = placeholder("x", {2, 6, 6, 3}) + weights("v", {3}) +
                            node("norm", "FusedBatchNormV3", "x v v v v") +
                            node("relu", "Relu", "norm") + node("mean", "Relu", "norm:1");
  const std::string model = "saved_model_schema_version: 1\nmeta_graphs { graph_def {\n" + nodes +
                            "}\nsignature_def { key: 'f' value { outputs { key: 'y' value { name: "
                            "'relu:0' } } outputs { key: 'z' value { name: 'mean' } } } } }";
  for (const std::string& text : {model, nodes + library, nodes}) {
    const OpGraph graph = read_format("tensorflow", text);
    EXPECT_EQ(find(graph, "relu").outputs[0].shape, Sizes({2, 6, 6, 3}));
    EXPECT_EQ(find(graph, "relu").flops, 2 * 6 * 6 * 3);
    EXPECT_EQ(find(graph, "mean").outputs[0].shape, Sizes({3}));
    EXPECT_EQ(find(graph, "norm").outputs.size(), 2U);
    EXPECT_THAT(edges_of(graph), testing::Contains("norm:0 relu"));
    EXPECT_THAT(edges_of(graph), testing::Contains("norm:1 mean"));
  }
  const OpGraph loss =
      read_format("tensorflow", placeholder("x", {2, 6}) + placeholder("t", {2, 6}) +
                                    node("loss", "SoftmaxCrossEntropyWithLogits", "x t") +
                                    node("y", "Relu", "loss:1") + library);
  EXPECT_EQ(find(loss, "y").outputs[0].shape, Sizes({2, 6}));
}

// The function's own names of its results, and the operators' names of theirs.
TEST(TensorFlow, FindsResultsByTheirNames) {
  const auto graph = [](const std::string& result) {
    const std::string body =
        placeholder("v", {3}) +
        node("norm", "FusedBatchNormV3",
             "x v:output:0 v:output:0 " + std::string("v:output:0 ") + "v:output:0") +
        node("relu", "Relu", "norm:" + result + ":0");
    return "node { name: 'call' op: 'f' input: 'x' }" + placeholder("x", {2, 6, 6, 3}) +
           node("y", "Relu", "call") + "library { " +
           function("f", "x", "relu:activations:0", in_function(body)) + "}";
  };
  EXPECT_EQ(shape_of(graph("y")), Sizes({2, 6, 6, 3}));
  EXPECT_EQ(shape_of(graph("batch_variance")), Sizes({3}));
  EXPECT_THAT(error_of_reading("tensorflow", graph("variance")),
              HasSubstr("node 'call/norm': what reads it expects a result 'variance', which "
                        "FusedBatchNormV3 does not have"));
}

TEST(TensorFlow, ReadsTheFolderOfASavedModel) {
  const TemporaryFolder folder;
  write_text_file(folder.path("saved_model.pbtxt"), saved_model());
  const OpGraph graph = load_graph(folder.path(""));
  EXPECT_EQ(totals(graph).parameters, 30);
}

TEST(TensorFlow, RefusesSavedModelsThatItCannotRead) {
  const auto error = [](const std::string& format, const std::string& text) {
    return error_of_reading(format, text);
  };
  EXPECT_THAT(error("tensorflow:signature=serving", saved_model()),
              HasSubstr("unknown signature 'serving'; did you mean 'serving_default'"));
  EXPECT_THAT(error("tensorflow:signature=a", node("a", "NoOp")), HasSubstr("this is a GraphDef"));
  const auto replaced = [](const std::string& part, const std::string& by) {
    std::string text = saved_model();
    return text.replace(text.find(part), part.size(), by);
  };
  EXPECT_THAT(
      error("tensorflow", replaced("func { name: 'inner' }", "func { name: 'gone' }")),
      HasSubstr("node 'Call/dense': it calls the function 'gone', which is missing in the file"));
  EXPECT_THAT(error("tensorflow", replaced("func { name: 'inner' }", "func { name: 'outer' }")),
              HasSubstr("recursion is not supported"));
  EXPECT_THAT(error("tensorflow", replaced("'BiasAdd:output:0'", "'Sum:output:0'")),
              HasSubstr("node 'Call/dense/Sum': what reads it expects a node of this name"));
  EXPECT_THAT(error("tensorflow", replaced("op: 'BiasAdd'", "op: 'StatelessIf'")),
              HasSubstr("node 'Call/dense/BiasAdd' (StatelessIf): loops and branches"));
  EXPECT_THAT(error("tensorflow", "saved_model_schema_version: 1"),
              HasSubstr("expected at least one graph in meta_graphs"));
  EXPECT_THAT(error("tensorflow", "meta_graphs { }"), HasSubstr("the model has no signature"));
}

#endif

}  // namespace
}  // namespace emplace::tensorflow_test
