// What every reader of a graph format must survive, and the mistakes of each format that it must
// name with file, place and what was expected.

#include <emplace/graphs/error.hpp>
#include <emplace/graphs/graph_format.hpp>
#include <emplace/graphs/random.hpp>
#include <emplace/graphs/text_file.hpp>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <ostream>

namespace emplace {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::StartsWith;

// A good file of each format, from which all bad ones are made. A new format adds its own.
struct Sample {
  const char* format;
  const char* file;
};

void PrintTo(const Sample& sample, std::ostream* out) { *out << sample.file; }

constexpr Sample kSamples[] = {
#ifdef EMPLACE_WITH_PROTOBUF
    {"chakra", "chakra.et"},
#endif
    {"chakra", "chakra_feeder.json"},
    {"dot", "simgrid.dot"},
    {"graphml", "networkx.graphml"},
    {"node-link", "node_link.json"},
#ifdef EMPLACE_WITH_ONNX
    {"onnx", "lstm.onnx"},
#endif
    {"pipedream", "pipedream.txt"},
    {"pytorch", "pytorch_et.json"},
#ifdef EMPLACE_WITH_PROTOBUF
    {"tensorflow", "tensorflow.pbtxt"},
#endif
    {"wfcommons", "wfcommons-1.4.json"},
    {"wfcommons", "wfcommons-1.5.json"},
};

std::string text_of(const Sample& sample) {
  return read_text_file(fmt::format("{}/tests/graphs/data/{}", EMPLACE_SOURCE_DIR, sample.file));
}

OpGraph read(std::string_view format, std::string_view text) {
  return GraphFormats::global().read(Spec::parse(format), text, "x.file");
}

// Reads what may be good or bad; bad files must give one clear error and nothing else.
void expect_graph_or_error(std::string_view format, std::string_view text) {
  try {
    read(format, text);
  } catch (const Error& error) {
    EXPECT_THAT(error.code(),
                AnyOf(ErrorCode::kFormat, ErrorCode::kUnsupported, ErrorCode::kUsage));
    EXPECT_THAT(error.what(), StartsWith("x.file:"));
    EXPECT_LT(std::string_view(error.what()).size(), 1000U);
  }
}

void expect_error(std::string_view format, std::string_view text, const std::string& message) {
  try {
    read(format, text);
    FAIL() << "did not throw: " << message;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kFormat);
    EXPECT_THAT(error.what(), AllOf(StartsWith("x.file:"), HasSubstr(message)));
  }
}

class EveryFormat : public testing::TestWithParam<Sample> {};

TEST_P(EveryFormat, ReadsItsSample) {
  EXPECT_GE(num_ops(read(GetParam().format, text_of(GetParam()))), 3);
}

TEST_P(EveryFormat, SurvivesTruncationAtEveryByte) {
  const std::string text = text_of(GetParam());
  for (std::size_t length = 0; length < text.size(); ++length) {
    expect_graph_or_error(GetParam().format, text.substr(0, length));
  }
}

TEST_P(EveryFormat, SurvivesChangedAndDoubledBytes) {
  const std::string text = text_of(GetParam());
  RandomStream random(1);
  for (int i = 0; i < 2000; ++i) {
    std::string changed = text;
    const auto at = static_cast<std::size_t>(random.below(text.size()));
    const auto length = static_cast<std::size_t>(random.below(40));
    switch (i % 3) {
      case 0:
        changed[at] = static_cast<char>(random.below(256));
        break;
      case 1:
        changed.erase(at, length);
        break;
      default:
        changed.insert(at,
                       text.substr(static_cast<std::size_t>(random.below(text.size())), length));
    }
    expect_graph_or_error(GetParam().format, changed);
  }
}

TEST_P(EveryFormat, RefusesJunk) {
  std::string junk;
  RandomStream random(2);
  for (int i = 0; i < 65536; ++i) {
    junk += static_cast<char>(random.below(256));
  }
  for (const std::string& text :
       {std::string(), std::string("\n\n"), junk, std::string(65536, '\0'),
        std::string("\x7F"
                    "ELF\x02\x01\x01"),
        std::string("{}"), std::string("[]"), std::string("null"), std::string("<a/>")}) {
    expect_error(GetParam().format, text, "");
  }
}

TEST_P(EveryFormat, RefusesDeepNesting) {
  for (const char* opening :
       {"[", "{\"a\":", "{", "<a>", "digraph{", "<graph edgedefault=\"directed\">", "subgraph {",
        "digraph { a [b=<", "(", "[1.0; ["}) {
    std::string text;
    for (int i = 0; i < 100'000; ++i) {
      text += opening;
    }
    expect_error(GetParam().format, text, "");
    expect_error(GetParam().format, "<graphml>" + text, "");
    expect_error(GetParam().format, "digraph {" + text, "");
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, EveryFormat, testing::ValuesIn(kSamples), [](const auto& sample) {
  std::string name = sample.param.file;
  std::erase_if(name, [](char c) { return !std::isalnum(c); });
  return name;
});

std::string repeated(int count, const std::function<std::string(int)>& line) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    text += line(i);
  }
  return text;
}

// A chain of 100,000 ops.
struct Chain {
  const char* format;
  std::string text;
};

constexpr int kOps = 100'000;

std::vector<Chain> chains() {
  const auto all = [](int count, std::string_view line) {
    return repeated(count, [&](int i) {
      return fmt::format(fmt::runtime(line), fmt::arg("i", i), fmt::arg("next", i + 1),
                         fmt::arg("comma", i == 0 ? "" : ","));
    });
  };
  const int last = kOps - 1;
  return {
      {"dot", "digraph {\n" + all(last, "{i} -> {next} [bytes={i}];\n") + "}"},
      {"graphml",
       "<graphml><key id=\"b\" for=\"edge\" attr.name=\"bytes\"/><graph "
       "edgedefault=\"directed\">\n" +
           all(kOps, "<node id=\"{i}\"/>\n") +
           all(last, "<edge source=\"{i}\" target=\"{next}\"><data key=\"b\">{i}</data></edge>\n") +
           "</graph></graphml>"},
      {"node-link",
       "{\"nodes\": [\n" + all(kOps, "{comma}{{\"id\": {i}}}\n") + "], \"links\": [" +
           all(last, "{comma}{{\"source\": {i}, \"target\": {next}, \"bytes\": {i}}}\n") + "]}"},
      {"pipedream:training=false",
       all(kOps,
           "n{i} -- Layer({i}, 1) -- forward_compute_time=1, backward_compute_time=2, "
           "activation_size=[8.0; {i}], parameter_size=4\n") +
           all(last, "\tn{i} -- n{next}\n")},
      {"wfcommons",
       "{\"name\": \"chain\", \"workflow\": {\"tasks\": [\n" +
           all(last, "{{\"name\": \"t{i}\", \"runtime\": 1, \"children\": [\"t{next}\"]}},\n") +
           "{\"name\": \"t99999\"}]}}"},
  };
}

TEST(LargeFiles, AChainOfAHundredThousandOpsIsRead) {
  for (const Chain& chain : chains()) {
    const OpGraph graph = read(chain.format, chain.text);
    EXPECT_EQ(num_ops(graph), kOps) << chain.format;
    EXPECT_EQ(boost::num_edges(graph), kOps - 1U) << chain.format;
  }
}

// --- Mistakes that only one format can have
// ---------------------------------------------------------

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
       "/nodes/1: the id '1' comes twice"},
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
      {"dot", "NegativeSize", "digraph {\n a [size=-1] }", "x.file:2: /flops: expected"},
      {"dot", "HugeSize", "digraph {\n a [size=\"1e400\"] }", "x.file:2: /flops: expected"},
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
       "x.file:2: the edge comes twice"},
      {"dot", "ManyProducts",
       "digraph { {" + repeated(1001, [](int i) { return fmt::format("a{} ", i); }) + "} -> {" +
           repeated(1001, [](int i) { return fmt::format("b{} ", i); }) + "} }",
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
       "x.file:5: the id 'a' comes twice"},
      {"graphml", "UnknownEnd", graphml("<node id='a'/>\n<edge source='a' target='b'/>"),
       "x.file:5: no node has the id 'b'"},
      {"graphml", "SelfLoop", graphml("<node id='a'/>\n<edge source='a' target='a'/>"),
       "x.file:5: op 'a' would wait for itself"},
      {"graphml", "KeyTwice", "<graphml><key id='a'/>\n<key id='a'/></graphml>",
       "x.file:2: the key 'a' comes twice"},
      {"graphml", "UnknownKey", graphml("<node id='a'><data key='x'>1</data></node>"),
       "x.file:4: no key has the id 'x'"},
      {"graphml", "FlopsIsAText", graphml("<node id='a'>\n<data key='f'>many</data></node>"),
       "x.file:4: /flops: expected a whole number"},
      {"graphml", "WrongEnd", "<graphml>\n<graph edgedefault=''></graphml>",
       "x.file:2: expected '</graph>', found '</graphml>'"},
      {"graphml", "AttributeTwice", "<graphml a='' a=''/>", "the attribute 'a' comes twice"},
      {"graphml", "NoQuotes", "<graphml a=b/>", "expected a value in quotes, found 'b/>'"},
      {"graphml", "UnknownEntity", graphml("&boom;"),
       "expected a character reference, found '&boom;'"},
      {"graphml", "ForbiddenCharacter", graphml("&#1;"), "found '&#1;'"},
      {"graphml", "HugeCharacter", graphml("&#99999999999;"), "found '&#99999999999;'"},
      {"graphml", "EntityDeclared", "<!DOCTYPE graphml [<!ENTITY boom \"boom\">]>\n<graphml/>",
       "x.file:1: a document type with declarations"},
      {"graphml", "TwoRoots", "<graphml><graph edgedefault=''/></graphml>\n<graphml/>",
       "x.file:2: expected the end of the file"},
      {"graphml", "TextOutside", "<graphml/>\nmore", "found text outside"},
      {"graphml", "CommentNeverEnds", "<graphml>\n<!-- ", "x.file:2: expected '-->' further on"},
      {"graphml", "NotUtf8", "<graphml>\n\xFF</graphml>",
       "x.file:2: expected text in UTF-8, found the byte 0xff"},
      {"graphml", "LongDefault",
       "<graphml><key id='a'><default>" + std::string(201, 'a') + "</default></key></graphml>",
       "x.file:1: expected a default of at most 200 bytes"},

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
      {"pipedream", "IdTwice", pipedream_pair("a -- A -- x"), "x.file:3: the id 'a' comes twice"},
      {"pipedream", "UnknownEnd", pipedream_pair("\ta -- c"),
       "x.file:3: no layer above has the id 'c'"},
      {"pipedream", "HalfAnEdge", pipedream_pair("\ta"), "x.file:3: expected 'id -- id'"},
      {"pipedream", "SelfLoop", pipedream_pair("\ta -- a"),
       "x.file:3: a layer would wait for itself"},
      {"pipedream", "Cycle", pipedream_pair("\ta -- b\n\tb -- a"), "a cycle of ops: "},

      {"wfcommons", "WorkflowMissing", R"({"name": "w"})", "the member 'workflow' is missing"},
      {"wfcommons", "NameMissing", R"({"workflow": {"tasks": [{"name": "a"}]}})",
       "the member 'name' is missing"},
      {"wfcommons", "NoTasks", wfcommons(""), "/workflow/specification/tasks: expected at least"},
      {"wfcommons", "IdTwice", wfcommons(R"({"name": "a"}, {"name": "b", "id": "a"})"),
       "/workflow/specification/tasks/1/id: the task 'a' comes twice"},
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
       "/workflow/specification/files/1/id: the file comes twice"},
      {"wfcommons", "NegativeSize", wfcommons(two_tasks, R"({"id": "f", "sizeInBytes": -1})"),
       "/workflow/specification/files/0/sizeInBytes: expected a whole number from 0"},
      {"wfcommons", "UnknownTaskRan",
       wfcommons(two_tasks, "", R"({"id": "c", "runtimeInSeconds": 1})"),
       "/workflow/execution/tasks/0/id: no task has the id 'c'"},
      {"wfcommons", "RanTwice",
       wfcommons(two_tasks, "",
                 R"({"id": "a", "runtimeInSeconds": 1}, {"id": "a", "runtimeInSeconds": 1})"),
       "/workflow/execution/tasks/1/runtimeInSeconds: the task 'a' has a runtime already"},
      {"wfcommons", "HugeRuntime",
       wfcommons(two_tasks, "", R"({"id": "a", "runtimeInSeconds": 1e300})"),
       "/runtimeInSeconds: expected a number from 0"},
      {"wfcommons", "UnknownLink",
       R"({"name": "w", "workflow": {"tasks": [{"name": "a", "files": [
           {"link": "both", "name": "f", "size": 1}]}]}})",
       "/workflow/tasks/0/files/0/link: expected 'input' or 'output'"},
  };
}

class HostileFormat : public testing::TestWithParam<Mistake> {};

TEST_P(HostileFormat, GivesOneErrorWithThePlace) {
  expect_error(GetParam().format, GetParam().text, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(Formats, HostileFormat, testing::ValuesIn(mistakes()),
                         [](const auto& mistake) {
                           std::string name = mistake.param.format;
                           std::erase_if(name, [](char c) { return !std::isalnum(c); });
                           return name + "_" + mistake.param.name;
                         });

}  // namespace
}  // namespace emplace
