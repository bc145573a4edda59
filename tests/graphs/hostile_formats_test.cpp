// What every reader of a graph format must survive: files that are cut off, changed, nested, large
// or something else.

#include "support/errors.hpp"
#include "tests/support/source_path.hpp"

#include <emplace/base/random.hpp>
#include <emplace/base/text_file.hpp>
#include <emplace/graphs/graph_format.hpp>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <ostream>

namespace emplace::hostile_formats_test {
namespace {

using testing::AnyOf;
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
    {"dax", "montage.dax"},
    {"dot", "simgrid.dot"},
    {"graphml", "networkx.graphml"},
    {"kineto", "kineto.json"},
    {"node-link", "node_link.json"},
    {"nsight-systems", "nsight.sqlite"},
#ifdef EMPLACE_WITH_PROTOBUF
    {"onnx:training=true", "lstm.onnx"},
    {"onnx:batch=1,rows=9,columns=11", "unet_opset11.onnx"},
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
  return read_text_file(test::source_path(fmt::format("tests/graphs/data/{}", sample.file)));
}

OpGraph read(std::string_view format, std::string_view text) {
  return GraphFormats::global().read(Spec::parse(format), text, "x.file");
}

// Returns what kind of error reading gives, if any; it must be one clear error.
std::optional<ErrorCode> error_of(std::string_view format, std::string_view text) {
  try {
    read(format, text);
  } catch (const Error& error) {
    EXPECT_THAT(error.code(),
                AnyOf(ErrorCode::kFormat, ErrorCode::kUnsupported, ErrorCode::kUsage));
    EXPECT_THAT(error.what(), StartsWith("x.file:"));
    EXPECT_LT(std::string_view(error.what()).size(), 1000U);
    return error.code();
  }
  return std::nullopt;
}

// Returns what reading complains of.
std::string mistake(std::string_view format, std::string_view text) {
  return test::error_of([&] { read(format, text); });
}

class EveryFormat : public testing::TestWithParam<Sample> {};

TEST_P(EveryFormat, ReadsItsSample) {
  EXPECT_GE(num_ops(read(GetParam().format, text_of(GetParam()))), 3);
}

TEST_P(EveryFormat, SurvivesTruncationAtEveryByte) {
  const std::string text = text_of(GetParam());
  for (std::size_t length = 0; length < text.size(); ++length) {
    error_of(GetParam().format, text.substr(0, length));
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
    error_of(GetParam().format, changed);
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
    EXPECT_EQ(error_of(GetParam().format, text), ErrorCode::kFormat);
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
    EXPECT_EQ(error_of(GetParam().format, text), ErrorCode::kFormat);
    EXPECT_EQ(error_of(GetParam().format, "<graphml>" + text), ErrorCode::kFormat);
    EXPECT_EQ(error_of(GetParam().format, "digraph {" + text), ErrorCode::kFormat);
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
      {"dax", "<adag>\n" + all(kOps, "<job id='{i}' runtime='{i}'/>\n") +
                  all(last, "<child ref='{next}'><parent ref='{i}'/></child>\n") + "</adag>"},
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

TEST(LargeFiles, GraphmlMayNestAHundredThousandDeep) {
  const std::string begin = "<graph edgedefault='directed'>";
  const OpGraph graph = read("graphml", "<graphml>" + begin + repeated(kOps, [&](int i) {
                                          return fmt::format("<node id='{}'>{}", i, begin);
                                        }) + repeated(kOps, [](int) {
                                          return "</graph></node>";
                                        }) + "</graph></graphml>");
  EXPECT_EQ(num_ops(graph), kOps);
}

// What a small file could blow up is linear, or refused: each took seconds to minutes, or
// gigabytes.
TEST(SmallFiles, DoNotMakeMuchWork) {
  const auto numbered = [](int count, std::string_view line) {
    return repeated(count,
                    [&](int i) { return fmt::format(fmt::runtime(line), fmt::arg("i", i)); });
  };
  EXPECT_THAT(mistake("dot", "digraph {" + numbered(6000, "node [a{i}=1]; n{i};") + "}"),
              testing::HasSubstr("expected at most 64 default attributes"));
  EXPECT_THAT(mistake("dot", "digraph {" + numbered(60, "node [a{i}=1];") +
                                 numbered(20'000, "node [a0={i}]; n{i};") + "}"),
              testing::HasSubstr("expected default attributes that change less often"));
  EXPECT_THAT(
      mistake("graphml",
              "<graphml>" +
                  numbered(3000, "<key id=\"k{i}\" for=\"node\"><default>1</default></key>") +
                  "<graph edgedefault=\"directed\">" + numbered(3000, "<node id=\"n{i}\"/>") +
                  "</graph></graphml>"),
      testing::HasSubstr("expected at most 64 keys with a default"));
  EXPECT_THAT(
      mistake("dax", "<adag>" +
                         numbered(1500,
                                  "<job id='a{i}'><uses name='f' link='output'/></job>"
                                  "<job id='b{i}'><uses name='f' link='input'/></job>") +
                         "</adag>"),
      testing::HasSubstr("expected at most 1000000 transfers of files that several jobs write"));
  EXPECT_THAT(
      mistake("kineto",
              "[" +
                  numbered(4000,
                           R"({{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": {i},
                               "ts": {i}, "dur": 1}},
                              {{"ph": "X", "cat": "cuda_sync", "name": "Context Sync", "pid": 0,
                               "tid": -1, "ts": {i}, "dur": 1}},)") +
                  "{}]"),
      testing::HasSubstr("expected fewer synchronizations"));
  const std::string measured =
      numbered(100'000, ", {{\"device_class\": \"c{i}\", \"cost_us\": 1}}");
  EXPECT_EQ(num_ops(read("emplace", R"({"schema": "emplace-graph", "version": 1, "name": "g", )"
                                    R"("ops": [{"name": "a", "kind": "add", "measured": [)" +
                                        measured.substr(2) + "]}], \"edges\": []}")),
            1);
}

}  // namespace
}  // namespace emplace::hostile_formats_test
