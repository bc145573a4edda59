// The mistakes of each graph format that its reader must name with file, place and what was
// expected.

#include "support/errors.hpp"

#include <emplace/graphs/graph_format.hpp>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace emplace::format_mistakes_test {
namespace {

struct Mistake {
  const char* format;
  const char* name;
  std::string text;
  std::string message;  // with the place
};

void PrintTo(const Mistake& mistake, std::ostream* out) {
  *out << mistake.format << ' ' << mistake.name;
}

std::string node_link(std::string_view nodes, std::string_view links) {
  return fmt::format(R"({{"nodes": [{}], "links": [{}]}})", nodes, links);
}

std::string pipedream(std::string_view values, std::string_view more = "") {
  return fmt::format("a -- A -- {}\n{}", values, more);
}

std::string pipedream_pair(std::string_view edges) {
  constexpr std::string_view kValues =
      "forward_compute_time=1, backward_compute_time=1, activation_size=1, parameter_size=1";
  return fmt::format("a -- A -- {}\nb -- B -- {}\n{}", kValues, kValues, edges);
}

std::string wfcommons(std::string_view tasks, std::string_view files = "",
                      std::string_view execution = "") {
  return fmt::format(
      R"({{"name": "w", "workflow": {{"specification": {{"tasks": [{}], "files": [{}]}},
          "execution": {{"tasks": [{}]}}}}}})",
      tasks, files, execution);
}

std::string graphml(std::string_view inside) {
  return fmt::format(
      "<graphml>\n<key id=\"f\" for=\"node\" attr.name=\"flops\"/>\n"
      "<graph edgedefault=\"directed\">\n{}\n</graph></graphml>",
      inside);
}

// A set in DOT of one node more than may be joined with as many.
std::string thousand_and_one(std::string_view name) {
  std::string nodes = "{";
  for (int i = 0; i <= 1000; ++i) {
    nodes += fmt::format("{}{} ", name, i);
  }
  return nodes + "}";
}

std::vector<Mistake> mistakes() {
  const std::string two = R"({"id": "a"}, {"id": "b"})";
  const std::string two_tasks = R"({"name": "a"}, {"name": "b"})";
  return {
      {"node-link", "Undirected", R"({"directed": false, "nodes": [], "links": []})",
       "/directed: expected true"},
      {"node-link", "NodesMissing", R"({"links": []})", "the member 'nodes' is missing"},
      {"node-link", "LinksMissing", R"({"nodes": [{"id": 1}]})", "the member 'edges' is missing"},
      {"node-link", "NoNodes", node_link("", ""), "x.file: /nodes: expected at least one node"},
      {"node-link", "IdTwice", node_link(R"({"id": 1}, {"id": 1})", ""),
       "/nodes/1: the id '1' appears twice"},
      {"node-link", "IdIsAList", node_link(R"({"id": [1]})", ""),
       "/nodes/0/id: expected a text or a whole number"},
      {"node-link", "IdIsAFraction", node_link(R"({"id": 1.5})", ""), "/nodes/0/id: expected"},
      {"node-link", "IdIsEmpty", node_link(R"({"id": ""})", ""), "/nodes/0: expected an id"},
      {"node-link", "NameTwice", node_link(R"({"id": 1}, {"id": "1"})", ""),
       "two ops are called '1'"},
      {"node-link", "UnknownEnd", node_link(two, R"({"source": "a", "target": "c"})"),
       "/links/0: no node has the id '\"c\"'"},
      {"node-link", "NumberIsNoText", node_link(R"({"id": "1"})", R"({"source": 1, "target": 1})"),
       "/links/0: no node has the id '1'"},
      {"node-link", "SelfLoop", node_link(two, R"({"source": "a", "target": "a"})"),
       "/links/0: op 'a' would wait for itself"},
      {"node-link", "Cycle",
       node_link(two, R"({"source": "a", "target": "b"}, {"source": "b", "target": "a"})"),
       "a cycle of ops: 'a' -> 'b' -> 'a'"},
      {"node-link", "NegativeCost", node_link(R"({"id": 1, "cost_us": -1})", ""),
       "/nodes/0/cost_us: expected a number from 0"},
      {"node-link", "CostIsAText", node_link(R"({"id": 1, "cost_us": "1"})", ""),
       "/nodes/0/cost_us: expected a number"},
      {"node-link", "CostTwice",
       node_link(R"({"id": 1, "cost_us": 1, "measured": [{"device_class": "node-link",
                     "cost_us": 1}]})",
                 ""),
       "two measured costs for device class 'node-link'"},
      {"node-link", "NotANumber", node_link(R"({"id": 1, "flops": NaN})", ""),
       "/nodes/0/flops: not valid JSON"},
      {"node-link", "HugeFlops", node_link(R"({"id": 1, "flops": 1e300})", ""),
       "/nodes/0/flops: expected a whole number"},
      {"node-link", "HugeBytes", node_link(two, R"({"source": "a", "target": "b", "bytes": 1e19})"),
       "/links/0/bytes: expected a number from 0"},
      {"node-link", "SumOverflows",
       node_link(R"({"id": 1, "flops": 9e18}, {"id": 2, "flops": 9e18})", ""), "/nodes/0/flops"},
      {"node-link", "OutputMissing",
       node_link(two, R"({"source": "a", "target": "b", "output": 0})"),
       "/links/0/output: expected a whole number from -1 to -1"},
      {"node-link", "BytesDiffer",
       node_link(R"({"id": "a", "outputs": [{"bytes": 4}]}, {"id": "b"})",
                 R"({"source": "a", "target": "b", "output": 0, "bytes": 5})"),
       "/links/0/bytes: expected 4 as output 0 of 'a' has, found 5"},
      {"node-link", "BytesOfNoOutput",
       node_link(R"({"id": "a", "outputs": [{"bytes": 4}]}, {"id": "b"})",
                 R"({"source": "a", "target": "b", "bytes": 5})"),
       "/links/0/bytes: no output of 'a' has 5 bytes"},
      {"node-link", "EdgeIsAList", node_link(two, R"(["a", "b"])"), "/links/0: expected an object"},

      {"dot", "Undirected", "graph { a -- b }", "x.file:1: expected 'digraph', found 'graph"},
      {"dot", "UndirectedEdge", "digraph {\n a -- b }", "x.file:2: expected '->', found '-- b }'"},
      {"dot", "NoNodes", "digraph {}", "expected at least one node"},
      {"dot", "NeverEnds", "digraph {\n a\n", "x.file:3: expected '}', found the end of the file"},
      {"dot", "TextNeverEnds", "digraph { a\n[name=\"b }", "x.file:2: expected '\"' further on"},
      {"dot", "CommentNeverEnds", "digraph {\n/* a }", "x.file:2: expected '*/' further on"},
      {"dot", "HtmlNeverEnds", "digraph { a [label=<b> <i] }", "expected '>' further on"},
      {"dot", "TwoGraphs", "digraph { a }\ndigraph { b }",
       "x.file:2: expected the end of the file, found 'digraph { b }'"},
      {"dot", "NoTarget", "digraph { a -> }", "x.file:1: expected a node or '{', found '}'"},
      {"dot", "NoValue", "digraph { a [flops=] }", "expected the value of an attribute"},
      {"dot", "FlopsIsAText", "digraph {\n\n a [flops=many] }",
       "x.file:3: /flops: expected a whole number"},
      {"dot", "NegativeFlops", "digraph {\n a [flops=-1] }", "x.file:2: /flops: expected"},
      {"dot", "HugeSize", "digraph {\n a [size=\"1e400\"] }", "x.file:2: /size: expected"},
      {"dot", "SizeIsAText", "digraph {\n a -> b [size=big] }",
       "x.file:2: /size: expected a number"},
      {"dot", "ShapeIsNoList", "digraph {\n a [op_shape=3] }", "x.file:2: /op_shape: expected"},
      {"dot", "NameIsEmpty", "digraph {\n a [op_name=\"\"] }", "x.file:2: /op_name: expected"},
      {"dot", "BytesAreNan", "digraph {\n a -> b [bytes=nan] }",
       "x.file:2: /bytes: expected a number"},
      {"dot", "OutputsAreNoList", "digraph {\n a [outputs=3] }",
       "x.file:2: /outputs: expected an array, found the number 3"},
      {"dot", "PhaseUnknown", "digraph {\n a [phase=sideways] }",
       "x.file:2: /phase: expected 'forward' or 'backward' or 'update'"},
      {"dot", "SelfLoop", "digraph { a -> b\n b -> b }", "x.file:2: op 'b' would wait for itself"},
      {"dot", "Cycle", "digraph { a -> b -> c -> a }", "a cycle of ops: "},
      {"dot", "NameTwice", "digraph { a b [name=a] }", "two ops are called 'a'"},
      {"dot", "StrictTwice", "strict digraph { a -> b\n a -> b }",
       "x.file:2: the edge appears twice"},
      {"dot", "ManyProducts",
       "digraph { " + thousand_and_one("a") + " -> " + thousand_and_one("b") + " }",
       "x.file:1: expected at most 1000000 edges between sets"},
      {"dot", "LongDefault", "digraph { node [kind=" + std::string(201, 'a') + "] a }",
       "x.file:1: expected a default attribute of at most 200 bytes"},

      {"graphml", "AnotherRoot", "<svg/>", "x.file:1: expected <graphml>, found <svg>"},
      {"graphml", "NoGraph", "<graphml/>", "expected a <graph>"},
      {"graphml", "NoNodes", graphml(""), "expected at least one node"},
      {"graphml", "Undirected",
       "<graphml>\n<graph edgedefault='undirected'><node id='a'/><node id='b'/>\n"
       "<edge source='a' target='b'/></graph></graphml>",
       "x.file:3: expected edgedefault or directed to say that the edge is directed"},
      {"graphml", "NoId", graphml("<node/>"), "x.file:4: expected an attribute 'id' of <node>"},
      {"graphml", "IdTwice", graphml("<node id='a'/>\n<node id='a'/>"),
       "x.file:5: the id 'a' appears twice"},
      {"graphml", "UnknownEnd", graphml("<node id='a'/>\n<edge source='a' target='b'/>"),
       "x.file:5: no node has the id 'b'"},
      {"graphml", "SelfLoop", graphml("<node id='a'/>\n<edge source='a' target='a'/>"),
       "x.file:5: op 'a' would wait for itself"},
      {"graphml", "KeyTwice", "<graphml><key id='a'/>\n<key id='a'/></graphml>",
       "x.file:2: the key 'a' appears twice"},
      {"graphml", "UnknownKey", graphml("<node id='a'><data key='x'>1</data></node>"),
       "x.file:4: no key has the id 'x'"},
      {"graphml", "FlopsIsAText", graphml("<node id='a'>\n<data key='f'>many</data></node>"),
       "x.file:4: /flops: expected a whole number"},
      {"graphml", "WrongEnd", "<graphml>\n<graph edgedefault=''></graphml>",
       "x.file:2: not valid XML: mismatched tag"},
      {"graphml", "AttributeTwice", "<graphml a='' a=''/>",
       "x.file:1: not valid XML: duplicate attribute"},
      {"graphml", "NoQuotes", "<graphml a=b/>", "x.file:1: not valid XML: not well-formed"},
      {"graphml", "UnknownEntity", graphml("&boom;"), "x.file:4: not valid XML: undefined entity"},
      {"graphml", "ForbiddenCharacter", graphml("&#1;"),
       "x.file:4: not valid XML: reference to invalid character number"},
      {"graphml", "HugeCharacter", graphml("&#99999999999;"),
       "x.file:4: not valid XML: reference to invalid character number"},
      {"graphml", "EntityDeclared", "<!DOCTYPE graphml [<!ENTITY boom \"boom\">]>\n<graphml/>",
       "x.file:1: a document type with declarations"},
      {"graphml", "EntityDeclaredElsewhere",
       "<!DOCTYPE graphml SYSTEM 'graphml.dtd'>\n<graphml>&boom;</graphml>",
       "x.file:2: the entity 'boom' is not known"},
      {"graphml", "NeverEnds", "<graphml>\n<graph edgedefault=''>",
       "x.file:2: not valid XML: no element found"},
      {"graphml", "TwoRoots", "<graphml><graph edgedefault=''/></graphml>\n<graphml/>",
       "x.file:2: not valid XML: junk after document element"},
      {"graphml", "TextOutside", "<graphml/>\nmore",
       "x.file:2: not valid XML: junk after document element"},
      {"graphml", "CommentNeverEnds", "<graphml>\n<!-- ",
       "x.file:2: not valid XML: unclosed token"},
      {"graphml", "NotUtf8", "<graphml>\n\xFF</graphml>",
       "x.file:2: not valid XML: not well-formed"},
      {"graphml", "LongDefault",
       "<graphml><key id='a'><default>" + std::string(201, 'a') + "</default></key></graphml>",
       "x.file:1: expected a default of at most 200 bytes"},

      // Those in tables: nsight_test.cpp.
      {"nsight-systems", "NoDatabase", "{}", "expected an SQLite database"},
      {"nsight-systems", "Cut", std::string("SQLite format 3\0\x10\0", 18),
       "the list of its tables: SQLite cannot read it: file is not a database"},

      {"pipedream", "NoLayers", "\n", "expected at least one layer"},
      {"pipedream", "TimeMissing", pipedream("backward_compute_time=1"),
       "x.file:1: expected forward_compute_time=<number>"},
      {"pipedream", "TimeIsAText", pipedream("forward_compute_time=fast, "),
       "x.file:1: expected forward_compute_time of at least 0, found 'fast'"},
      {"pipedream", "NegativeTime", pipedream("forward_compute_time=-1, "), "found '-1'"},
      {"pipedream", "TimeIsNan", pipedream("forward_compute_time=nan, "), "found 'nan'"},
      {"pipedream", "TimeIsInfinite", pipedream("forward_compute_time=inf, "), "found 'inf'"},
      {"pipedream", "HugeTime", pipedream("forward_compute_time=1e13, "),
       "of at most 1000000000000, found 10000000000000"},
      {"pipedream", "ListNeverEnds",
       pipedream("forward_compute_time=1, backward_compute_time=1, activation_size=[1; 2, "
                 "parameter_size=1"),
       "expected activation_size of at least 0, found '[1; 2'"},
      {"pipedream", "FifthValue",
       pipedream("forward_compute_time=1, backward_compute_time=1, activation_size=1, "
                 "parameter_size=1, loss=1"),
       "x.file:1: expected four values, found more"},
      {"pipedream", "NoDescription", "a -- forward_compute_time=1", "x.file:1: expected 'id -- "},
      {"pipedream", "OnlyAStage", "a -- stage_id=0", "x.file:1: expected 'id -- "},
      {"pipedream", "IdTwice", pipedream_pair("a -- A -- x"), "x.file:3: the id 'a' appears twice"},
      {"pipedream", "UnknownEnd", pipedream_pair("\ta -- c"),
       "x.file:3: no layer above has the id 'c'"},
      {"pipedream", "HalfAnEdge", pipedream_pair("\ta"), "x.file:3: expected 'id -- id'"},
      {"pipedream", "SelfLoop", pipedream_pair("\ta -- a"),
       "x.file:3: a layer would wait for itself"},
      {"pipedream", "Cycle", pipedream_pair("\ta -- b\n\tb -- a"), "a cycle of ops: "},

      {"wfcommons", "WorkflowMissing", R"({"name": "w"})", "the member 'workflow' is missing"},
      {"dax", "AnotherRoot", "<svg/>", "x.file:1: expected <adag>, found <svg>"},
      {"dax", "NoJobs", "<adag name='w'/>", "expected at least one <job>"},
      {"dax", "NoId", "<adag>\n<job/></adag>", "x.file:2: expected an attribute 'id' of <job>"},
      {"dax", "IdTwice", "<adag><job id='a'/>\n<job id='a'/></adag>",
       "x.file:2: the job 'a' appears twice"},
      {"dax", "RuntimeIsAText", "<adag>\n<job id='a' runtime='long'/></adag>",
       "x.file:2: expected runtime to be a number of at most 1000000000000, found 'long'"},
      {"dax", "NoFile", "<adag><job id='a'>\n<uses link='input'/></job></adag>",
       "x.file:2: expected an attribute 'name' of <uses>"},
      {"dax", "UnknownChild", "<adag><job id='a'/>\n<child ref='b'/></adag>",
       "x.file:2: no job above has the id 'b'"},
      {"dax", "SelfLoop", "<adag><job id='a'/>\n<child ref='a'><parent ref='a'/></child></adag>",
       "x.file:2: a job would wait for itself"},
      {"dax", "Cycle",
       "<adag><job id='a'/><job id='b'/><child ref='a'><parent ref='b'/></child>"
       "<child ref='b'><parent ref='a'/></child></adag>",
       "a cycle of ops: "},
      {"dax", "Nested", "<adag>\n<dax id='a' file='b.dax'/></adag>",
       "x.file:2: <dax>, a workflow in another file, is not supported"},

      {"wfcommons", "NameMissing", R"({"workflow": {"tasks": [{"name": "a"}]}})",
       "the member 'name' is missing"},
      {"wfcommons", "NoTasks", wfcommons(""), "/workflow/specification/tasks: expected at least"},
      {"wfcommons", "IdTwice", wfcommons(R"({"name": "a"}, {"name": "b", "id": "a"})"),
       "/workflow/specification/tasks/1/id: the task 'a' appears twice"},
      {"wfcommons", "UnknownParent", wfcommons(R"({"name": "a", "parents": ["b"]})"),
       "/workflow/specification/tasks/0/parents/0: no task has the id 'b'"},
      {"wfcommons", "AmbiguousParent",
       wfcommons(R"({"name": "a", "id": "1"}, {"name": "a", "id": "2"},
                    {"name": "c", "parents": ["a"]})"),
       "/parents/0: several tasks are called 'a'"},
      {"wfcommons", "SelfLoop", wfcommons(R"({"name": "a", "children": ["a"]})"),
       "/children/0: a task would wait for itself"},
      {"wfcommons", "Cycle",
       wfcommons(R"({"name": "a", "parents": ["b"]}, {"name": "b", "parents": ["a"]})"),
       "a cycle of ops: "},
      {"wfcommons", "UnknownFile", wfcommons(R"({"name": "a", "outputFiles": ["f"]})"),
       "/outputFiles/0: no file has the id 'f'"},
      {"wfcommons", "FileTwice",
       wfcommons(two_tasks, R"({"id": "f", "sizeInBytes": 1}, {"id": "f", "sizeInBytes": 1})"),
       "/workflow/specification/files/1/id: the file appears twice"},
      {"wfcommons", "NegativeSize", wfcommons(two_tasks, R"({"id": "f", "sizeInBytes": -1})"),
       "/workflow/specification/files/0/sizeInBytes: expected a whole number of at least 0"},
      {"wfcommons", "UnknownTaskRan",
       wfcommons(two_tasks, "", R"({"id": "c", "runtimeInSeconds": 1})"),
       "/workflow/execution/tasks/0/id: no task has the id 'c'"},
      {"wfcommons", "RanTwice",
       wfcommons(two_tasks, "",
                 R"({"id": "a", "runtimeInSeconds": 1}, {"id": "a", "runtimeInSeconds": 1})"),
       "/workflow/execution/tasks/1/runtimeInSeconds: the task 'a' already has a runtime"},
      {"wfcommons", "HugeRuntime",
       wfcommons(two_tasks, "", R"({"id": "a", "runtimeInSeconds": 1e300})"),
       "/runtimeInSeconds: expected a number from 0"},
      {"wfcommons", "UnknownLink",
       R"({"name": "w", "workflow": {"tasks": [{"name": "a", "files": [
           {"link": "both", "name": "f", "size": 1}]}]}})",
       "/workflow/tasks/0/files/0/link: expected 'input' or 'output'"},
  };
}

class FormatMistake : public testing::TestWithParam<Mistake> {};

TEST_P(FormatMistake, GivesOneErrorWithThePlace) {
  const Mistake& mistake = GetParam();
  EXPECT_THAT(test::error_of(ErrorCode::kFormat,
                             [&] {
                               GraphFormats::global().read(Spec::parse(mistake.format),
                                                           mistake.text, "x.file");
                             }),
              testing::AllOf(testing::StartsWith("x.file:"), testing::HasSubstr(mistake.message)));
}

INSTANTIATE_TEST_SUITE_P(Formats, FormatMistake, testing::ValuesIn(mistakes()),
                         [](const auto& mistake) {
                           std::string name = mistake.param.format;
                           std::erase_if(name, [](char c) { return !std::isalnum(c); });
                           return name + "_" + mistake.param.name;
                         });

}  // namespace
}  // namespace emplace::format_mistakes_test
