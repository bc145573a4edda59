// Functions, branches, loops and sequences of ONNX: what is known before the step is replaced by
// the nodes that run.

#ifdef EMPLACE_HAS_LIBONNX

#include <gmock/gmock.h>
#include <graphs/onnx_model.hpp>
#include <support/graphs.hpp>

#include <string>
#include <vector>

namespace emplace::onnx_expansion_test {
namespace {

using test::count_kinds;
using test::error_of;
using test::find;
using test::import;
using test::last_op;
using test::model;
using test::Weight;
using testing::ElementsAre;
using testing::HasSubstr;

Weight integer(std::string name, std::int64_t value) {
  return {std::move(name), {}, onnx::TensorProto::INT64, {value}};
}

// A model whose node `index` is a Loop with a body.
onnx::ModelProto with_loop(const std::string& graph, const std::string& body,
                           const std::vector<Weight>& weights, int index = 0) {
  onnx::ModelProto proto = test::parse_model(graph, weights);
  onnx::NodeProto& node = *proto.mutable_graph()->mutable_node(index);
  node.set_op_type("Loop");
  node.set_name("rows");
  for (std::string& input : *node.mutable_input()) {
    input = input == "none" ? "" : input;  // the parser knows no first input that is left out
  }
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name("body");
  attribute.set_type(onnx::AttributeProto::GRAPH);
  *attribute.mutable_g() = test::parse_model(body).graph();
  return proto;
}

constexpr const char* kBody = R"(b (int64 i, bool c, float[4, 8] h)
    => (bool c2, float[4, 8] h2, float[8] row) {
    c2 = Identity (c)
    h2 = MatMul (h, w)
    row = Gather (h2, i)
  })";

// Three products, and of each the row of its step: 3 x 8 stacked.
TEST(OnnxExpansion, UnrollsALoopWhoseStepsAreKnown) {
  const std::string graph =
      "g (float[4, 8] x) => (float[N] y, float[N] rows) { y, rows = Relu (steps, , x) }";
  const OpGraph loop =
      import(with_loop(graph, kBody, {integer("steps", 3), {"w", {8, 8}}}).SerializeAsString());
  auto kinds = count_kinds(loop);
  EXPECT_EQ(kinds["matmul"], 3);
  EXPECT_EQ(test::flops_of(loop, {"matmul"}), 3 * 2 * 4 * 8 * 8);
  EXPECT_EQ(totals(loop).parameters, 64) << "one variable for all steps";
  EXPECT_EQ(find(loop, "rows/2/").kind, "matmul");
  EXPECT_EQ(kinds["concat"], 1);
  EXPECT_THAT(find(loop, "rows").outputs[0].shape, ElementsAre(3, 8));
  // Its gradient is that of the steps.
  const OpGraph training =
      import(with_loop(graph, kBody, {integer("steps", 3), {"w", {8, 8}}}).SerializeAsString(),
             ":training=true");
  EXPECT_EQ(count_kinds(training)["optimizer_update"], 1);
}

TEST(OnnxExpansion, RefusesLoopsThatDataEnds) {
  const std::vector<Weight> weights{{"w", {8, 8}}};
  EXPECT_THAT(error_of(with_loop("g (float[4, 8] x, int64 n) => (float[N] y, float[N] r) "
                                 "{ y, r = Relu (n, , x) }",
                                 kBody, weights)
                           .SerializeAsString()),
              HasSubstr("node 'rows' (Loop): how many steps it takes depends on the data"));
  EXPECT_THAT(error_of(with_loop("g (float[4, 8] x, bool c) => (float[N] y, float[N] r) "
                                 "{ y, r = Relu (none, c, x) }",
                                 kBody, weights)
                           .SerializeAsString()),
              HasSubstr("whether another step follows depends on the data"));
  EXPECT_THAT(error_of(with_loop("g (float[4, 8] x) => (float[N] y, float[N] r) "
                                 "{ y, r = Relu (none, , x) }",
                                 kBody, weights)
                           .SerializeAsString()),
              HasSubstr("it takes more than 10000 steps"));
  EXPECT_THAT(error_of(with_loop("g (float[4, 8] x) => (float[N] y, float[N] r) "
                                 "{ y, r = Relu (n, , x) }",
                                 kBody, {{"w", {8, 8}}, integer("n", 0)})
                           .SerializeAsString()),
              HasSubstr("it takes no step, so the shape of 'r' is not known"));
  EXPECT_THAT(error_of(with_loop("g (float[4, 8] x) => (float[N] y) { y = Relu (n, , x) }", kBody,
                                 {integer("n", 2)})
                           .SerializeAsString()),
              HasSubstr("its body has a different number of inputs or results"));
}

// A condition that the body computes from the number of the step.
TEST(OnnxExpansion, StopsWhereTheConditionSaysSo) {
  const OpGraph loop = import(with_loop(R"(g (float[4, 8] x) => (float[N] y, float[N] r) {
      y, r = Relu (none, , x)
    })",
                                        R"(b (int64 i, bool c, float[4, 8] h)
    => (bool c2, float[4, 8] h2, float[8] row) {
    c2 = Less (i, last)
    h2 = MatMul (h, w)
    row = Gather (h2, i)
  })",
                                        {{"w", {8, 8}}, integer("last", 1)})
                                  .SerializeAsString());
  EXPECT_EQ(count_kinds(loop)["matmul"], 2);
}

TEST(OnnxExpansion, TakesSequencesApart) {
  const OpGraph graph = import(model(R"(g (float[6, 4] x) => (float[N] y) {
      parts = SplitToSequence <axis = 0> (x, two)
      middle = SequenceAt (parts, one)
      rest = SequenceErase (parts, one)
      r = Relu (middle)
      more = SequenceInsert (rest, r)
      y = ConcatFromSequence <axis = 1> (more)
    })",
                                     {integer("two", 2), integer("one", 1)}));
  EXPECT_EQ(count_kinds(graph)["split_view"], 1);
  EXPECT_EQ(find(graph, "relu").flops, 8);
  EXPECT_THAT(last_op(graph).outputs[0].shape, ElementsAre(2, 12));
  const OpGraph rows = import(model(R"(g (float[6, 4] x) => (float[N] y) {
      parts = SplitToSequence <axis = 0, keepdims = 0> (x)
      n = SequenceLength (parts)
      first = SequenceAt (parts, minus)
      empty = SequenceEmpty ()
      some = SequenceInsert (empty, first)
      both = SequenceInsert (some, first, zero)
      y = ConcatFromSequence <axis = 0, new_axis = 1> (both)
    })",
                                    {integer("minus", -6), integer("zero", 0)}));
  EXPECT_THAT(last_op(rows).outputs[0].shape, ElementsAre(2, 4));
}

TEST(OnnxExpansion, SaysWhatIsWrongWithASequence) {
  const auto error = [](const std::string& nodes) {
    return error_of(model("g (float[6, 4] x, int64 i) => (float[N] y) { " + nodes + " }",
                          {integer("nine", 9)}));
  };
  EXPECT_THAT(error("p = SequenceConstruct (x, x) y = SequenceAt (p, i)"),
              HasSubstr("the place in the sequence depends on the data"));
  EXPECT_THAT(error("p = SequenceConstruct (x, x) y = SequenceAt (p, nine)"),
              HasSubstr("expected a place in a sequence of 2, found 9"));
  EXPECT_THAT(error("p = SequenceConstruct (x, x) y = Relu (p)"),
              HasSubstr("reads 'p', a sequence of tensors"));
  EXPECT_THAT(error("y = SequenceAt (x, nine)"), HasSubstr("expected a sequence as input 1"));
  EXPECT_THAT(
      error("p = SequenceConstruct (x) q = SequenceInsert (p, , nine) y = SequenceAt (q, i)"),
      HasSubstr("(SequenceInsert): expected an input 2, which is left out"));
  EXPECT_THAT(error("p = SequenceConstruct (x) q = SequenceInsert (p) y = SequenceAt (q, i)"),
              HasSubstr("(SequenceInsert): expected at least 2 inputs, found 1"));
  EXPECT_THAT(error("none = Constant <value = int64[0] {}> () p = SplitToSequence (x, none) "
                    "y = ConcatFromSequence <axis = 0> (p)"),
              HasSubstr("(ConcatFromSequence): the sequence is empty"));
  EXPECT_THAT(error("p = SequenceEmpty () y = ConcatFromSequence <axis = 0> (p)"),
              HasSubstr("the sequence is empty"));
}

// What is not wanted has no name, and so has an input that is left out.
TEST(OnnxExpansion, LoopsMayLeaveOutResultsAndInputs) {
  onnx::ModelProto proto =
      with_loop("g (float[4, 8] x) => (float[N] y) { y = Relu (steps, , x) }",
                R"(b (int64 i, bool c, float[4, 8] h) => (bool c2, float[4, 8] h2) {
    c2 = Identity (c)
    a, a_mask = Dropout (h)
    b, b_mask = Dropout (a)
    h2 = Clip (b, , top)
  })",
                {integer("steps", 3), {.name = "top", .shape = {}, .reals = {6}}});
  onnx::GraphProto& body =
      *proto.mutable_graph()->mutable_node(0)->mutable_attribute(0)->mutable_g();
  for (const int dropout : {1, 2}) {
    body.mutable_node(dropout)->set_output(1, "");
  }
  const OpGraph graph = import(proto.SerializeAsString());
  EXPECT_THAT(last_op(graph).outputs[0].shape, ElementsAre(4, 8));
  EXPECT_EQ(find(graph, "rows/2/").kind, find(graph, "rows/0/").kind);
}

// Each insertion makes a sequence of its own.
TEST(OnnxExpansion, RefusesSequencesThatGrowTooLong) {
  const auto with_steps = [](std::int64_t steps) {
    return with_loop(R"(g (float[4, 8] x) => (float[N] y) {
      none_yet = SequenceEmpty ()
      all = Relu (steps, , none_yet)
      y = ConcatFromSequence <axis = 0> (all)
    })",
                     R"(b (int64 i, bool c, float[4, 8] s) => (bool c2, float[4, 8] s2) {
      c2 = Identity (c)
      s2 = SequenceInsert (s, x)
    })",
                     {integer("steps", steps)}, 1)
        .SerializeAsString();
  };
  EXPECT_THAT(last_op(import(with_steps(20))).outputs[0].shape, ElementsAre(80, 8));
  EXPECT_THAT(error_of(with_steps(3000)), HasSubstr("sequences contain more than 4000000 tensors"));
}

// 100 values and a condition through 10,000 steps of a body that computes nothing.
TEST(OnnxExpansion, RefusesStepsThatHandOnTooMuch) {
  std::string results;
  std::string inputs;
  std::string arguments;
  for (int i = 0; i < 100; ++i) {
    results += fmt::format("{}y{}", i == 0 ? "" : ", ", i);
    inputs += ", x";
    arguments += fmt::format(", float[4] h{}", i);
  }
  const std::string graph =
      "g (float[4] x) => (float[N] y0) { " + results + " = Relu (steps, " + inputs + ") }";
  const std::string body =
      "b (int64 i, bool c" + arguments + ") => (bool c2" + arguments + ") { c2 = Identity (c) }";
  const auto with_steps = [&](std::int64_t steps) {
    return with_loop(graph, body, {integer("steps", steps)}).SerializeAsString();
  };
  EXPECT_EQ(num_ops(import(with_steps(10))), 1) << "the input";
  EXPECT_THAT(error_of(with_steps(10'000)),
              HasSubstr("node 'rows' (Loop): the steps of loops hand on more than 1000000 values"));
}

// A graph with one node.
onnx::GraphProto branch_of(const std::string& op_type, const std::string& input) {
  onnx::GraphProto branch;
  onnx::NodeProto& node = *branch.add_node();
  node.set_op_type(op_type);
  node.add_input(input);
  node.add_output("chosen");
  branch.add_output()->set_name("chosen");
  return branch;
}

// 300 calls of a function with 4 MiB of numbers in a branch that never runs.
TEST(OnnxExpansion, RefusesCallsThatCopyTooMuch) {
  onnx::ModelProto proto = test::parse_model("g (float[4] x) => (float[N] y) { y = Relu (x) }",
                                             {{"no", {}, onnx::TensorProto::BOOL, {}}});
  onnx::GraphProto& graph = *proto.mutable_graph();
  graph.mutable_initializer(0)->clear_data_location();
  graph.mutable_initializer(0)->add_int32_data(0);
  onnx::FunctionProto& function = *proto.add_functions();
  function.set_name("Choose");
  function.set_domain("local");
  function.add_input("in");
  function.add_input("condition");
  function.add_output("out");
  onnx::NodeProto& choice = *function.add_node();
  choice.set_op_type("If");
  choice.add_input("condition");
  choice.add_output("out");
  for (const auto& [name, branch] : {std::pair{"then_branch", branch_of("Relu", "table")},
                                     std::pair{"else_branch", branch_of("Identity", "in")}}) {
    onnx::AttributeProto& attribute = *choice.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::GRAPH);
    *attribute.mutable_g() = branch;
  }
  onnx::TensorProto& table = *choice.mutable_attribute(0)->mutable_g()->add_initializer();
  table.set_name("table");
  table.set_data_type(onnx::TensorProto::FLOAT);
  table.add_dims(1 << 20);
  table.set_raw_data(std::string(4 << 20, '\0'));
  graph.clear_node();
  for (int i = 0; i < 300; ++i) {
    onnx::NodeProto& call = *graph.add_node();
    call.set_op_type("Choose");
    call.set_domain("local");
    call.set_name(fmt::format("call{}", i));
    call.add_input("x");
    call.add_input("no");
    call.add_output(i == 0 ? "y" : fmt::format("y{}", i));
  }
  EXPECT_THAT(error_of(proto.SerializeAsString()),
              HasSubstr("functions, branches and loops expand to nodes of more than 1073741824 "
                        "bytes"));
}

// A branch sees the tensors around it, and nobody sees those within.
TEST(OnnxExpansion, BranchesMayUseTheSameNames) {
  onnx::ModelProto proto = test::parse_model(R"(g (float[4, 8] x) => (float[N] y) {
      first = Relu (yes, x)
      y = Relu (yes, first)
    })",
                                             {{"yes", {}, onnx::TensorProto::BOOL, {}}});
  proto.mutable_graph()->mutable_initializer(0)->clear_data_location();
  proto.mutable_graph()->mutable_initializer(0)->add_int32_data(1);
  for (onnx::NodeProto& node : *proto.mutable_graph()->mutable_node()) {
    const std::string read = node.input(1);
    node.set_op_type("If");
    node.mutable_input()->RemoveLast();
    for (const char* name : {"then_branch", "else_branch"}) {
      onnx::AttributeProto& branch = *node.add_attribute();
      branch.set_name(name);
      branch.set_type(onnx::AttributeProto::GRAPH);
      onnx::NodeProto& inner = *branch.mutable_g()->add_node();
      inner.set_op_type("Sigmoid");
      inner.add_input(read);
      inner.add_output("inner");
      branch.mutable_g()->add_output()->set_name("inner");
    }
  }
  EXPECT_EQ(count_kinds(import(proto.SerializeAsString()))["sigmoid"], 2);
}

// A body's branch, and its names, belong to one step each.
TEST(OnnxExpansion, BranchesWithinLoopsHaveNamesOfTheirOwn) {
  onnx::ModelProto proto =
      with_loop("g (float[4, 8] x) => (float[N] y, float[N] r) { y, r = Relu (steps, , x) }",
                R"(b (int64 i, bool c, float[4, 8] h) => (bool c2, float[4, 8] h2, float[8] row) {
    c2 = Identity (c)
    is_first = Equal (i, zero)
    h2 = Relu (is_first)
    row = Gather (h2, i)
  })",
                {integer("steps", 3), integer("zero", 0)});
  onnx::GraphProto& body =
      *proto.mutable_graph()->mutable_node(0)->mutable_attribute(0)->mutable_g();
  onnx::NodeProto& choice = *body.mutable_node(2);
  choice.set_op_type("If");
  for (const auto& [name, kind] :
       {std::pair{"then_branch", "Sigmoid"}, std::pair{"else_branch", "Tanh"}}) {
    onnx::AttributeProto& branch = *choice.add_attribute();
    branch.set_name(name);
    branch.set_type(onnx::AttributeProto::GRAPH);
    onnx::NodeProto& inner = *branch.mutable_g()->add_node();
    inner.set_op_type(kind);
    inner.add_input("h");
    inner.add_output("inner");
    branch.mutable_g()->add_output()->set_name("inner");
  }
  auto kinds = count_kinds(import(proto.SerializeAsString()));
  EXPECT_EQ(kinds["sigmoid"], 1);
  EXPECT_EQ(kinds["tanh"], 2);
}

}  // namespace
}  // namespace emplace::onnx_expansion_test

#endif
