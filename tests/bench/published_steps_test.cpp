#include "support/errors.hpp"

#include <emplace/bench/published_steps.hpp>
#include <emplace/graphs/catalog.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/source_path.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

namespace emplace::bench::published_steps_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr std::string_view kExample = R"({
  "schema": "emplace-published-steps", "version": 1,
  "sources": {
    "b": {"repository": "o/b", "path": "b.md", "commit": "22", "licence": "MIT"},
    "a": {"repository": "o/a", "path": "a.md", "commit": "11", "licence": "none: figures only"}
  },
  "tables": [
    {"source": "b", "software": "F 1", "device": "K80 of X", "profile": "k80", "math": "float32", "note": "N",
     "steps": [
       {"graph": "resnet-50", "batch": 64, "options": "optimizer=sgd", "samples_per_s": 51.2, "used_for_fit": true},
       {"graph": "vgg-16", "batch": 16, "ms": 83.5}]},
    {"source": "a", "software": "F 2", "device": "A100", "profile": "a100", "math": "tf32",
     "steps": [{"graph": "unet", "batch": 8, "samples_per_s": 40}]}
  ],
  "speedups": [
    {"source": "a", "software": "F 2", "device": "K40m", "cluster": "k80-pcie-8", "devices": 4,
     "agent": "human-expert", "graph": "nmt", "batch": 128, "options": "layers=4", "one_ms": 2600, "placed_ms": 1700}
  ]
})";

std::string broken(const std::string& from, const std::string& to) {
  return test::with(kExample, from, to);
}

std::string message_of(const std::string& text) {
  return test::error_of(ErrorCode::kFormat, [&] { read_published_steps(text, "x.json"); });
}

TEST(PublishedSteps, ReadsTablesWithTheirSources) {
  const PublishedSteps read = read_published_steps(kExample, "x.json");
  ASSERT_THAT(read.sources, SizeIs(2));
  ASSERT_THAT(read.steps, SizeIs(3));
  const PublishedStep& first = read.steps[0];
  EXPECT_EQ(read.sources[first.source].repository, "o/b");
  EXPECT_EQ(first.graph.spec(), "resnet-50:batch=64,optimizer=sgd");
  EXPECT_EQ(first.note, "N");
  EXPECT_TRUE(first.used_for_fit);
  EXPECT_DOUBLE_EQ(first.measured_us(), 1.25e6);  // 64 / 51.2 s
  EXPECT_EQ(read.steps[1].graph.spec(), "vgg-16:batch=16");
  EXPECT_FALSE(read.steps[1].used_for_fit);
  EXPECT_DOUBLE_EQ(read.steps[1].measured_us(), 83500);
  EXPECT_EQ(read.steps[2].math, kTf32Math);
  EXPECT_EQ(read.sources[read.steps[2].source].name, "a");
  ASSERT_THAT(read.speedups, SizeIs(1));
  EXPECT_DOUBLE_EQ(read.speedups[0].measured(), 26.0 / 17);
}

TEST(PublishedSteps, TellsMistakesWithTheirPlace) {
  EXPECT_THAT(message_of(broken(R"("source": "b")", R"("source": "c")")),
              HasSubstr("x.json: /tables/0/source: expected a name of /sources"));
  EXPECT_THAT(message_of(broken(R"("ms": 83.5)", R"("ms": 83.5, "samples_per_s": 1)")),
              HasSubstr("/tables/0/steps/1: expected one of 'samples_per_s' and 'ms'"));
  EXPECT_THAT(message_of(broken(R"(, "ms": 83.5)", "")),
              HasSubstr("/tables/0/steps/1: expected one of 'samples_per_s' and 'ms'"));
  EXPECT_THAT(message_of(broken(R"("math": "tf32")", R"("math": "int8")")),
              HasSubstr("/tables/1/math"));
  EXPECT_THAT(message_of(broken(R"("placed_ms": 1700)", R"("placed_ms": 0)")),
              HasSubstr("/speedups/0/placed_ms"));
  EXPECT_THAT(message_of(broken(R"("batch": 64)", R"("batch": 64, "speed": 1)")),
              HasSubstr("/tables/0/steps/0"));
}

TEST(PublishedSteps, ShippedOnesAreOfTheCatalogAndTwoWereFittedTo) {
  const PublishedSteps shipped = shipped_published_steps();
  std::vector<std::string> fitted;
  for (const PublishedStep& step : shipped.steps) {
    EXPECT_NO_THROW(GraphCatalog::global().find(step.graph.name));
    if (step.used_for_fit) {
      fitted.push_back(step.profile + " " + step.graph.spec());
    }
  }
  EXPECT_THAT(fitted, ElementsAre("k80 resnet-50:batch=64,optimizer=sgd",
                                  "k80 vgg-16:batch=32,optimizer=sgd"));
  EXPECT_THAT(shipped.speedups, SizeIs(2));
}

// A table that someone else copied from the same sources, where it is at hand: `graph`, which has
// commas and is quoted, `batch`, and `measured_ms` follow the model's name.
TEST(PublishedSteps, ShippedOnesHaveTheFiguresOfAnIndependentCopy) {
  std::ifstream file(test::source_path("../shared/data/measured/steps_public.csv"));
  if (!file) {
    GTEST_SKIP() << "no independent copy here";
  }
  const PublishedSteps shipped = shipped_published_steps();
  std::string line;
  std::getline(file, line);
  int rows = 0;
  while (std::getline(file, line)) {
    const std::size_t open = line.find('"');
    const std::size_t close = line.find('"', open + 1);
    ASSERT_NE(close, std::string::npos) << line;
    const std::string graph = line.substr(open + 1, close - open - 1);
    std::istringstream rest(line.substr(close + 2));
    std::string field;
    std::getline(rest, field, ',');
    std::getline(rest, field, ',');
    const double measured_ms = std::stod(field);
    EXPECT_TRUE(std::ranges::any_of(shipped.steps, [&](const PublishedStep& step) {
      const std::string spec = step.graph.spec();  // the copy does not know layouts
      return spec.substr(0, spec.find(",layout=")) == graph &&
             std::abs(step.measured_us() / 1e3 / measured_ms - 1) < 1e-3;
    })) << line;
    ++rows;
  }
  EXPECT_EQ(rows, 26);
}

}  // namespace
}  // namespace emplace::bench::published_steps_test
