#include "agents/src/option_table.hpp"

#include <emplace/base/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace emplace::agents::option_table_test {
namespace {

enum class Shape : std::uint8_t { kFlat, kRound };

struct Inner {
  std::size_t count = 3;
  bool is_wide = false;
};

struct Options {
  Inner inner{};
  Shape shape = Shape::kRound;
  double rate = 0.5;
};

OptionTable<Options> table() {
  OptionTable<Options> table;
  auto inner = table.group("inner", &Options::inner);
  inner.number("count", &Inner::count, 1, 9, "a number", kShapesNetwork);
  inner.flag("wide", &Inner::is_wide, "a switch", kForExperts | kShapesNetwork);
  auto outer = table.group("outer");
  outer.choice("shape", &Options::shape, {"flat", "round"}, "a choice");
  outer.number("rate", &Options::rate, 0, 1, "a rate", kForExperts);
  return table;
}

Params resolved(const ParamDefaults& defaults, const char* given) {
  return resolve_params(table().parameters(defaults), Spec::parse(given), "test");
}

TEST(OptionTable, ListsWhatWasDeclaredWithInitialValuesAsDefaults) {
  const std::vector<ParamSpec> specs = table().parameters();
  ASSERT_EQ(specs.size(), 4U);
  EXPECT_EQ(specs[0].name, "count");
  EXPECT_EQ(specs[0].default_value, ParamValue(std::int64_t{3}));
  EXPECT_EQ(specs[0].min, 1);
  EXPECT_EQ(specs[0].max, 9);
  EXPECT_EQ(specs[0].summary, "a number");
  EXPECT_EQ(specs[0].group, "inner");
  EXPECT_FALSE(specs[0].expert);
  EXPECT_EQ(specs[1].default_value, ParamValue(false));
  EXPECT_TRUE(specs[1].expert);
  EXPECT_EQ(specs[2].default_value, ParamValue("round"));
  EXPECT_THAT(specs[2].choices, testing::ElementsAre("flat", "round"));
  EXPECT_EQ(specs[2].group, "outer");
  EXPECT_EQ(specs[3].default_value, ParamValue(0.5));
}

TEST(OptionTable, ReadsWhatAUserGave) {
  const Options options = table().read(resolved({}, "a:count=7,shape=flat,rate=0.25,wide=true"));
  EXPECT_EQ(options.inner.count, 7U);
  EXPECT_TRUE(options.inner.is_wide);
  EXPECT_EQ(options.shape, Shape::kFlat);
  EXPECT_EQ(options.rate, 0.25);
}

TEST(OptionTable, ChangesDefaultsOnly) {
  const ParamDefaults defaults = {{"count", 5}, {"shape", "flat"}};
  const Options options = table().read(resolved(defaults, "a:count=6"));
  EXPECT_EQ(options.inner.count, 6U);
  EXPECT_EQ(options.shape, Shape::kFlat);
  EXPECT_EQ(options.rate, 0.5);
  EXPECT_THROW(table().parameters({{"cuont", 5}}), InternalError);
  EXPECT_THROW(table().parameters({{"rate", 1}}), InternalError);  // a whole number
}

TEST(OptionTable, NamesWhatShapesTheNetworkAsAUserWritesIt) {
  EXPECT_THAT(table().network_parameters(resolved({}, "a:count=4")),
              testing::ElementsAre(testing::Pair("count", "4"), testing::Pair("wide", "false")));
}

}  // namespace
}  // namespace emplace::agents::option_table_test
