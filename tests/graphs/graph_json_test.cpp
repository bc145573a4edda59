// That graphs come back with every field is tested of all lossless formats together.

#include "support/errors.hpp"
#include "support/graphs.hpp"
#include "tests/support/source_path.hpp"

#include <emplace/base/json_cursor.hpp>
#include <emplace/base/random.hpp>
#include <emplace/graphs/graph_json.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <set>

namespace emplace::graph_json_test {
namespace {

using test::expect_equal;
using test::full_op;
using testing::StartsWith;

Op op(std::string name, std::int32_t outputs = 1) {
  return {.name = std::move(name),
          .kind = "matmul",
          .outputs = std::vector<Output>(static_cast<std::size_t>(outputs), Output{.bytes = 4})};
}

TEST(GraphJson, KeepsTheOrderOfEdgesAtProducersAndConsumers) {
  // Ops in an order that is not topological, edges in random order.
  constexpr OpId kOps = 40;
  RandomStream random(11);
  std::vector<OpId> rank(kOps);
  for (OpId i = 0; i < kOps; ++i) {
    rank[static_cast<std::size_t>(i)] = i;
  }
  random.shuffle(std::span(rank));
  OpGraph graph;
  for (OpId i = 0; i < kOps; ++i) {
    boost::add_vertex(op("op_" + std::to_string(i), 3), graph);
  }
  for (int i = 0; i < 300; ++i) {
    auto a = static_cast<std::size_t>(random.below(kOps));
    auto b = static_cast<std::size_t>(random.below(kOps));
    if (a == b) {
      continue;
    }
    if (rank[a] > rank[b]) {
      std::swap(a, b);
    }
    add_dependency(graph, static_cast<OpId>(a), static_cast<std::int32_t>(random.below(4)) - 1,
                   static_cast<OpId>(b));
  }
  const std::string text = write_graph_json(graph);
  const OpGraph again = read_graph_json(text, "x.json");
  expect_equal(again, graph);
  EXPECT_EQ(write_graph_json(again), text);
}

TEST(GraphJson, LeavesOutWhatHasItsDefault) {
  OpGraph graph;
  graph[boost::graph_bundle].name = "one";
  boost::add_vertex(Op{.name = "a", .kind = "relu"}, graph);
  EXPECT_EQ(write_graph_json(graph),
            "{\"schema\": \"emplace-graph\", \"version\": 2, \"name\": \"one\", \"source\": \"\",\n"
            " \"ops\": [\n"
            "{\"name\": \"a\", \"kind\": \"relu\"}\n"
            "],\n"
            " \"edges\": [\n"
            "]}\n");
}

// The members, without those that only earlier files have.
std::set<std::string> keys(const JsonCursor& object) {
  std::set<std::string> names;
  for (const auto& [name, member] : object.members()) {
    if (!member.is_object() || !member.find("deprecated")) {
      names.insert(name);
    }
  }
  return names;
}

TEST(GraphJson, WritesTheMembersThatTheSchemaHas) {
  OpGraph graph;
  const Window window{.strides = {2}, .dilations = {1}, .pads = {1, 1}};
  Op conv = full_op();
  conv.attributes = ConvAttributes{.window = window, .group = 2, .layout = "nhwc"};
  boost::add_vertex(conv, graph);
  const std::vector<std::pair<std::string, Attributes>> others = {
      {"max_pool", PoolAttributes{.kernel_shape = {2}, .window = window, .ceil_mode = true}},
      {"matmul", GemmAttributes{.trans_a = true, .trans_b = true}},
      {"einsum", EinsumAttributes{.equation = "ij,jk->ik"}},
      {"softmax", AxisAttributes{.axis = 1}},
      {"group_norm", GroupNormAttributes{.num_groups = 2}},
      {"lrn", LrnAttributes{.size = 5}},
      {"reduce_sum", ReduceAttributes{.axes = {0}, .keepdims = true}},
      {"transpose", TransposeAttributes{.perm = {1, 0}}},
      {"resize", ResizeAttributes{.mode = "linear"}},
      {"embedding_bag", BagAttributes{.mode = "mean"}},
      {"attention", AttentionAttributes{.is_causal = true}},
      {"optimizer_update", UpdateAttributes{.optimizer = "adam"}},
  };
  for (const auto& [kind, attributes] : others) {
    boost::add_vertex(Op{.name = kind, .kind = kind, .attributes = attributes}, graph);
  }
  const JsonDocument written = JsonDocument::parse(write_graph_json(graph), "written");
  const JsonDocument schema =
      JsonDocument::read(test::source_path("graphs/schema/graph.schema.json"));
  const JsonCursor defs = schema.root().at("$defs");
  const JsonCursor written_op = written.root().at("ops").elements().at(0);
  EXPECT_EQ(keys(written.root()), keys(schema.root().at("properties")));
  EXPECT_EQ(keys(written_op), keys(defs.at("op").at("properties")));
  std::set<std::string> attributes;
  for (const JsonCursor& op : written.root().at("ops").elements()) {
    attributes.merge(keys(op.at("attributes")));
  }
  EXPECT_EQ(attributes, keys(defs.at("op").at("properties").at("attributes").at("properties")));
  EXPECT_EQ(keys(written_op.at("measured").elements().at(0)),
            keys(defs.at("measured").at("properties")));
  const OpGraph read = read_graph_json(write_graph_json(graph), "written");
  for (OpId op = 0; op < num_ops(graph); ++op) {
    EXPECT_EQ(read[op].attributes, graph[op].attributes) << graph[op].name;
  }
  std::set<std::string> output_keys = keys(written_op.at("outputs").elements().at(0));
  output_keys.merge(keys(written_op.at("outputs").elements().at(1)));
  EXPECT_EQ(output_keys, keys(defs.at("output").at("properties")));
}

TEST(GraphJson, ReadsAHundredThousandOps) {
  constexpr OpId kOps = 100'000;
  OpGraph graph;
  for (OpId i = 0; i < kOps; ++i) {
    boost::add_vertex(op("op_" + std::to_string(i)), graph);
    if (i > 0) {
      add_dependency(graph, i - 1, 0, i);
    }
  }
  const OpGraph again = read_graph_json(write_graph_json(graph), "x.json");
  EXPECT_EQ(num_ops(again), kOps);
  EXPECT_EQ(boost::num_edges(again), static_cast<std::size_t>(kOps) - 1);
}

// What a reader may be handed instead of a graph, and how the message must begin.
struct HostileInput {
  const char* name;
  std::string text;
  std::string message;
};

void PrintTo(const HostileInput& input, std::ostream* out) { *out << input.name; }

std::string graph_with(const std::string& ops, const std::string& edges) {
  return R"({"schema": "emplace-graph", "version": 1, "ops": [)" + ops + R"(], "edges": [)" +
         edges + "]}";
}

std::string graph_with_member(const std::string& member) {
  return graph_with(R"({"name": "a", "kind": "relu", )" + member + "}", "");
}

const std::string kTwoOps = R"({"name": "a", "kind": "relu", "outputs": [{"bytes": 4}]}, )"
                            R"({"name": "b", "kind": "relu", "outputs": [{"bytes": 4}]})";

std::vector<HostileInput> hostile_inputs() {
  return {
      {"Empty", "", "x.json: not valid JSON: the text is empty"},
      {"NotJson", "digraph { a -> b }", "x.json: not valid JSON: line 1, column 1"},
      {"Truncated", graph_with(kTwoOps, "[0, 0, 1]").substr(0, 100), "x.json: /ops/0/"},
      {"NotUtf8", graph_with("{\"name\": \"\xFF\", \"kind\": \"relu\"}", ""),
       "x.json: /ops/0/name: not valid JSON: "},
      {"ByteOrderMark", "\xEF\xBB\xBF" + graph_with(kTwoOps, ""), "x.json: not valid JSON: "},
      {"AnArray", "[]", "x.json: expected an object, found an array of 0"},
      {"AnotherSchema", R"({"schema": "emplace-cluster", "version": 1})", "x.json: /schema: "},
      {"TheNextVersion", R"({"schema": "emplace-graph", "version": 3})", "x.json: /version: "},
      {"NoOps", graph_with("", ""), "x.json: /ops: expected at least one op"},
      {"OpsMissing", R"({"schema": "emplace-graph", "version": 1, "edges": []})",
       "x.json: the member 'ops' is missing"},
      {"EdgesMissing",
       R"({"schema": "emplace-graph", "version": 1, "ops": [{"name": "a", "kind": "b"}]})",
       "x.json: the member 'edges' is missing"},
      {"UnknownMember", graph_with_member(R"("flop": 1)"),
       "x.json: /ops/0/flop: the member is not known; did you mean 'flops'?"},
      {"UnknownMemberAtTheTop",
       R"({"schema": "emplace-graph", "version": 1, "ops": [], "edges": [], "devices": 2})",
       "x.json: /devices: "},
      {"DuplicateMember", graph_with_member(R"("name": "b")"),
       "x.json: /ops/0/name: the member appears twice"},
      {"DuplicateName", graph_with(kTwoOps + R"(, {"name": "a", "kind": "relu"})", ""),
       "x.json: /ops/2/name: /ops/0 already has this name"},
      {"NameMissing", graph_with(R"({"kind": "relu"})", ""),
       "x.json: /ops/0: the member 'name' is missing"},
      {"EmptyName", graph_with(R"({"name": "", "kind": "relu"})", ""), "x.json: /ops/0/name: "},
      {"NameIsANumber", graph_with(R"({"name": 7, "kind": "relu"})", ""),
       "x.json: /ops/0/name: expected a text that is not empty, found the number 7"},
      {"UnknownPhase", graph_with_member(R"("phase": "sideways")"),
       "x.json: /ops/0/phase: expected 'forward' or 'backward' or 'update'"},
      {"NegativeFlops", graph_with_member(R"("flops": -1)"), "x.json: /ops/0/flops: "},
      {"FractionalFlops", graph_with_member(R"("flops": 1.5)"), "x.json: /ops/0/flops: "},
      {"GiganticFlops", graph_with_member(R"("flops": 9223372036854775808)"),
       "x.json: /ops/0/flops: "},
      {"NotANumber", graph_with_member(R"("flops": NaN)"),
       "x.json: /ops/0/flops: not valid JSON: "},
      {"BeyondDouble",
       graph_with_member(R"("measured": [{"device_class": "gpu", "cost_us": 1e999}])"),
       "x.json: /ops/0/measured/0/cost_us: not valid JSON: "},
      {"NegativeCost", graph_with_member(R"("measured": [{"device_class": "gpu", "cost_us": -1}])"),
       "x.json: /ops/0/measured/0/cost_us: "},
      {"NegativeDeviation",
       graph_with_member(
           R"("measured": [{"device_class": "gpu", "cost_us": 1, "relative_deviation": -0.1}])"),
       "x.json: /ops/0/measured/0/relative_deviation: expected a number from 0 to 1"},
      {"DeviationInPercent",
       graph_with_member(
           R"("measured": [{"device_class": "gpu", "cost_us": 1, "relative_deviation": 3}])"),
       "x.json: /ops/0/measured/0/relative_deviation: expected a number from 0 to 1"},
      {"DeviationIsNotANumber",
       graph_with_member(
           R"("measured": [{"device_class": "gpu", "cost_us": 1, "relative_deviation": NaN}])"),
       "x.json: /ops/0/measured/0/relative_deviation: not valid JSON: "},
      {"ClassTwice", graph_with_member(R"("measured": [{"device_class": "gpu", "cost_us": 1},
                                          {"device_class": "gpu", "cost_us": 2}])"),
       "x.json: /ops/0/measured/1/device_class: the class appears twice"},
      {"NegativeDimension", graph_with_member(R"("shape": [1, -1])"), "x.json: /ops/0/shape/1: "},
      {"ShapeIsAText", graph_with_member(R"("shape": "1x1")"),
       "x.json: /ops/0/shape: expected an array, found the text '1x1'"},
      {"OutputsIsAnObject", graph_with_member(R"("outputs": {})"), "x.json: /ops/0/outputs: "},
      {"UnknownType", graph_with_member(R"("outputs": [{"type": "fp32"}])"),
       "x.json: /ops/0/outputs/0/type: "},
      {"NegativeBytes", graph_with_member(R"("outputs": [{}, {"bytes": -4}])"),
       "x.json: /ops/0/outputs/1/bytes: "},
      {"PersistentIsANumber", graph_with_member(R"("outputs": [{"persistent": 1}])"),
       "x.json: /ops/0/outputs/0/persistent: expected true or false, found the number 1"},
      {"EdgeFromNowhere", graph_with(kTwoOps, "[2, 0, 1]"),
       "x.json: /edges/0/0: expected a whole number from 0 to 1, found the number 2"},
      {"EdgeToNowhere", graph_with(kTwoOps, "[0, 0, 1], [0, 0, -1]"), "x.json: /edges/1/2: "},
      {"EdgeOfNoOutput", graph_with(kTwoOps, "[0, 1, 1]"),
       "x.json: /edges/0/1: expected a whole number from -1 to 0, found the number 1"},
      {"EdgeWithTwoEnds", graph_with(kTwoOps, "[0, 1]"),
       "x.json: /edges/0: expected [producer, output, consumer], found 2 values"},
      {"EdgeByName", graph_with(kTwoOps, R"(["a", 0, "b"])"), "x.json: /edges/0/0: "},
      {"Loop", graph_with(kTwoOps, "[0, 0, 0]"), "x.json: a cycle of ops: 'a' -> 'a'"},
      {"Cycle", graph_with(kTwoOps, "[0, 0, 1], [1, 0, 0]"), "x.json: a cycle of ops: "},
      {"EndlessNesting", std::string(1'000'000, '['), "x.json: /0/0/"},
      {"SumBeyond64Bits",
       graph_with(R"({"name": "a", "kind": "relu", "flops": 9223372036854775807},
                     {"name": "b", "kind": "relu", "flops": 9223372036854775807})",
                  ""),
       "x.json: the sum of FLOPs over all ops"},
  };
}

class HostileGraph : public testing::TestWithParam<HostileInput> {};

TEST_P(HostileGraph, GivesOneClearError) {
  const std::string error =
      test::error_of(ErrorCode::kFormat, [&] { read_graph_json(GetParam().text, "x.json"); });
  EXPECT_THAT(error, StartsWith(GetParam().message));
  EXPECT_LT(error.size(), 400U);
  EXPECT_EQ(error.find('\n'), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(GraphJson, HostileGraph, testing::ValuesIn(hostile_inputs()),
                         [](const auto& input) { return input.param.name; });

TEST(GraphJson, SurvivesBeingCutAnywhere) {
  const std::string text = graph_with(kTwoOps, "[0, 0, 1]");
  for (std::size_t length = 0; length < text.size(); ++length) {
    EXPECT_THROW(read_graph_json(text.substr(0, length), "x.json"), Error) << length;
  }
}

}  // namespace
}  // namespace emplace::graph_json_test
