#include "support/errors.hpp"

#include <emplace/base/check.hpp>
#include <emplace/base/text_file.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/graph_format.hpp>
#include <emplace/graphs/graph_json.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/temporary_folder.hpp>

#include <filesystem>

namespace emplace::graph_format_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// A format whose files hold names of ops, one a line, each `times` times.
GraphFormat names_format() {
  return {.name = "names",
          .summary = "names of ops",
          .reference = "none",
          .endings = {".names"},
          .read_parameters = {{.name = "times", .default_value = std::int64_t{1}, .max = 9}},
          .recognizes = [](const FileContent& file) { return file.bytes.starts_with("names\n"); },
          .read =
              [](std::string_view, const std::string&, const Params& params) {
                OpGraph graph;
                for (std::int64_t i = 0; i < params.get<std::int64_t>("times"); ++i) {
                  boost::add_vertex(Op{.name = "a", .kind = "relu"}, graph);
                }
                return graph;
              }};
}

GraphFormat count_format(std::string name) {
  return {
      .name = std::move(name),
      .recognizes = [](const FileContent& file) { return file.has("count"); },
      .write = [](const OpGraph& graph, const Params&) { return std::to_string(num_ops(graph)); }};
}

using test::error_of;

TEST(GraphFormats, ReadsWithParametersNamesTheGraphAfterTheFileAndValidatesIt) {
  GraphFormats formats;
  formats.add(names_format());
  const OpGraph graph = formats.read(Spec::parse("names"), "", "folder/net.names");
  EXPECT_EQ(num_ops(graph), 1);
  EXPECT_EQ(graph[boost::graph_bundle].name, "net");
  EXPECT_EQ(error_of(ErrorCode::kFormat,
                     [&] { formats.read(Spec::parse("names:times=2"), "", "x.names"); }),
            "x.names: two ops are called 'a'");
  EXPECT_THAT(error_of(ErrorCode::kUsage,
                       [&] { formats.read(Spec::parse("names:time=2"), "", "x.names"); }),
              HasSubstr("unknown parameter 'time'; did you mean 'times'?"));
}

TEST(GraphFormats, ListsNamesSortedAndRefusesATakenOneAndOneThatDoesNothing) {
  GraphFormats formats;
  formats.add(names_format());
  formats.add(count_format("count"));
  EXPECT_THAT(formats.names(), ElementsAre("count", "names"));
  EXPECT_THROW(formats.add(names_format()), InternalError);
  EXPECT_THROW(formats.add({.name = "none"}), InternalError);
}

TEST(GraphFormats, SaysWhatExistsWhereAFormatIsUnknownOrGoesTheOtherWay) {
  GraphFormats formats;
  formats.add(names_format());
  formats.add(count_format("count"));
  EXPECT_EQ(error_of(ErrorCode::kUnknownName, [&] { formats.find("nmaes"); }),
            "unknown format 'nmaes'; did you mean 'names'?");
  EXPECT_THAT(
      error_of(ErrorCode::kUnsupported, [&] { formats.read(Spec::parse("count"), "", "x"); }),
      HasSubstr("these can be read: names"));
  EXPECT_THAT(
      error_of(ErrorCode::kUnsupported, [&] { formats.write(Spec::parse("names"), OpGraph{}); }),
      HasSubstr("these can be written: count"));
}

TEST(GraphFormats, GuessesFromTheContentAndElseFromTheEnding) {
  GraphFormats formats;
  formats.add(names_format());
  formats.add(count_format("count"));
  EXPECT_EQ(formats.guess("names\na\n", "x").name, "names");
  EXPECT_EQ(formats.guess("a\n", "folder/X.NAMES").name, "names");
  EXPECT_EQ(formats.guess(R"({"count": 1})", "x.names").name, "count");
  EXPECT_EQ(formats.guess(R"({"count": 1, "cut of)", "x").name, "count");
  // Not a member of the root.
  EXPECT_THAT(
      error_of(ErrorCode::kFormat, [&] { formats.guess(R"({"a": {"count": 1}})", "x.json"); }),
      AllOf(HasSubstr("x.json: "), HasSubstr("known: names")));
  formats.add(count_format("other-count"));
  EXPECT_THAT(error_of(ErrorCode::kFormat, [&] { formats.guess(R"({"count": 1})", "x.json"); }),
              HasSubstr("count or other-count"));
}

TEST(GraphFormats, EveryRegisteredFormatSaysWhatItIsAndSharesNoEnding) {
  const GraphFormats& formats = GraphFormats::global();
  std::vector<std::string> endings;
  for (const std::string& name : formats.names()) {
    const GraphFormat& format = formats.find(name);
    EXPECT_FALSE(format.summary.empty()) << name;
    EXPECT_FALSE(format.reference.empty()) << name;
    for (const std::string& ending : format.endings) {
      EXPECT_THAT(endings, testing::Not(testing::Contains(ending))) << name;
      endings.push_back(ending);
    }
    // Throws if a default is out of bounds.
    resolve_params(format.read_parameters, {.name = name}, name);
    resolve_params(format.write_parameters, {.name = name}, name);
  }
}

TEST(LoadGraph, ReadsAFileOfAnyFormatThatItsContentOrNameTells) {
  OpGraph graph;
  boost::add_vertex(Op{.name = "a", .kind = "relu"}, graph);
  // Neither the folder nor the name's ending tells; the content does.
  const TemporaryFolder folder;
  const std::string path = folder.path("graph");
  write_text_file(path, write_graph_json(graph));
  EXPECT_EQ(load_graph(path)[0].name, "a");
  std::filesystem::remove(path);
  EXPECT_THAT(error_of(ErrorCode::kIo, [&] { load_graph(path); }), HasSubstr(path));
}

}  // namespace
}  // namespace emplace::graph_format_test
