#include "support/errors.hpp"

#include <emplace/base/check.hpp>
#include <emplace/base/text_file.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/graph_json.hpp>
#include <emplace/graphs/model_builder.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/source_path.hpp>
#include <support/temporary_folder.hpp>

namespace emplace::catalog_test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

// A model with `width` relus in a row.
GraphModel tower(std::string name) {
  return {.name = std::move(name),
          .summary = "relus in a row",
          .reference = "none",
          .parameters = {{.name = "width", .default_value = std::int64_t{2}, .min = 1, .max = 9}},
          .build = [](const Params& params) {
            ModelBuilder net("tower");
            Tensor x = net.input("x", {1, 8});
            for (std::int64_t i = 0; i < params.get<std::int64_t>("width"); ++i) {
              x = net.relu(x);
            }
            return std::move(net).finish();
          }};
}

TEST(GraphCatalog, BuildsAModelWithTheGivenParametersAndNamesTheGraphAfterThem) {
  GraphCatalog catalog;
  catalog.add(tower("tower"));
  const OpGraph plain = catalog.build(Spec::parse("tower"));
  EXPECT_EQ(num_ops(plain), 3);
  EXPECT_EQ(plain[boost::graph_bundle].name, "tower");
  const OpGraph wide = catalog.build(Spec::parse("tower:width=5"));
  EXPECT_EQ(num_ops(wide), 6);
  EXPECT_EQ(wide[boost::graph_bundle].name, "tower:width=5");
}

TEST(GraphCatalog, ListsNamesSortedAndRefusesATakenOne) {
  GraphCatalog catalog;
  catalog.add(tower("b"));
  catalog.add(tower("a"));
  EXPECT_THAT(catalog.names(), ElementsAre("a", "b"));
  EXPECT_THROW(catalog.add(tower("a")), InternalError);
}

TEST(GraphCatalog, AnUnknownModelSuggestsTheNearest) {
  EXPECT_THAT(test::error_of(ErrorCode::kUnknownName, [&] { load_graph("inception-v9"); }),
              HasSubstr("inception-v3"));
}

TEST(GraphCatalog, AParameterOutOfBoundsIsAUsageError) {
  for (const char* spec : {"inception-v3:batch=0", "inception-v3:batch=many",
                           "inception-v3:optimizer=lion", "inception-v3:bach=4"}) {
    EXPECT_THAT(test::error_of(ErrorCode::kUsage, [&] { load_graph(spec); }),
                HasSubstr("inception-v3"))
        << spec;
  }
}

TEST(GraphCatalog, EveryModelSaysWhatItIsAndBuilds) {
  const GraphCatalog& catalog = GraphCatalog::global();
  EXPECT_THAT(catalog.names(), Contains("inception-v3"));
  for (const std::string& name : catalog.names()) {
    const GraphModel& model = catalog.find(name);
    EXPECT_FALSE(model.summary.empty()) << name;
    EXPECT_FALSE(model.reference.empty()) << name;
    EXPECT_GT(num_ops(catalog.build(Spec::parse(name))), 0) << name;
  }
}

TEST(LoadGraph, ReadsAFileWhereTheNameIsAPath) {
  const TemporaryFolder folder;
  const std::string path = folder.path("graph.json");
  GraphCatalog catalog;
  catalog.add(tower("tower"));
  write_text_file(path, write_graph_json(catalog.build(Spec::parse("tower"))));
  EXPECT_EQ(num_ops(load_graph(path)), 3);
  test::error_of(ErrorCode::kIo, [&] { load_graph("no-such-file.json"); });
}

TEST(LoadGraph, TakesParametersOfTheFormatBehindThePath) {
  const TemporaryFolder folder;
  const std::string path = folder.path("part:1.txt");  // a ':' is a letter of a path, too
  write_text_file(path, read_text_file(test::source_path("tests/graphs/data/pipedream.txt")));
  const auto all = num_ops(load_graph(path));
  const OpGraph forward = load_graph(path + ":training=false");
  EXPECT_LT(num_ops(forward), all);
  EXPECT_TRUE(forward[boost::graph_bundle].name.ends_with(":training=false"));
  EXPECT_EQ(find_graph_file(path + ":a=1,b=x:y").path, path);
  EXPECT_EQ(find_graph_file(path + ":a=1,b=x:y").parameters, "a=1,b=x:y");
  EXPECT_EQ(find_graph_file("no.file:a=1").path, "no.file:a=1");
  EXPECT_THAT(test::error_of(ErrorCode::kUsage, [&] { load_graph(path + ":trainin=false"); }),
              testing::HasSubstr("unknown parameter 'trainin'"));
}

}  // namespace
}  // namespace emplace::catalog_test
