#include "support/errors.hpp"

#include <emplace/base/check.hpp>
#include <emplace/base/params.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace emplace::params_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

const std::vector<ParamSpec> kTable = {
    {.name = "batch", .default_value = std::int64_t{64}, .min = 1, .max = 4096},
    {.name = "auxiliary", .default_value = false},
    {.name = "rate", .default_value = 0.5, .min = 0, .max = 1},
    {.name = "optimizer", .default_value = "sgd", .choices = {"adam", "sgd"}},
};

template <class Action>
std::string usage_error(Action action) {
  return test::error_of(ErrorCode::kUsage, action);
}

std::string resolve_error(std::string_view text) {
  return usage_error([&] { resolve_params(kTable, Spec::parse(text), "graph g"); });
}

TEST(Spec, IsANameWithOrWithoutParameters) {
  EXPECT_EQ(Spec::parse("heft").name, "heft");
  EXPECT_TRUE(Spec::parse("heft").given.empty());
  const Spec spec = Spec::parse("inception-v3:batch=32,auxiliary=true,note=a=b:c");
  EXPECT_EQ(spec.name, "inception-v3");
  EXPECT_THAT(spec.given,
              ElementsAre(Pair("batch", "32"), Pair("auxiliary", "true"), Pair("note", "a=b:c")));
}

TEST(Spec, TellsWhatIsMissing) {
  const auto parse_error = [](std::string_view text) {
    return usage_error([&] { Spec::parse(text); });
  };
  EXPECT_EQ(parse_error(""), "'': the name is missing; expected name:key=value,key=value");
  EXPECT_THAT(parse_error(":batch=1"), HasSubstr("the name is missing"));
  EXPECT_THAT(parse_error("g:"), HasSubstr("a key is missing"));
  EXPECT_THAT(parse_error("g:batch=1,"), HasSubstr("a key is missing"));
  EXPECT_THAT(parse_error("g:=1"), HasSubstr("a key is missing"));
  EXPECT_THAT(parse_error("g:batch"), HasSubstr("'batch' has no value"));
  EXPECT_THAT(parse_error("g:batch="), HasSubstr("'batch' has no value"));
  EXPECT_THAT(parse_error("g:batch=1,batch=1"), HasSubstr("'batch' appears twice"));
}

TEST(ResolveParams, TakesDefaultsForWhatIsNotGiven) {
  const Params params = resolve_params(kTable, Spec::parse("g:batch=32"), "graph g");
  EXPECT_EQ(params.get<std::int64_t>("batch"), 32);
  EXPECT_FALSE(params.get<bool>("auxiliary"));
  EXPECT_EQ(params.get<double>("rate"), 0.5);
  EXPECT_EQ(params.get<std::string>("optimizer"), "sgd");
}

TEST(ResolveParams, ReadsEveryType) {
  const Params params =
      resolve_params(kTable, Spec::parse("g:auxiliary=true,rate=1e-3,optimizer=adam"), "graph g");
  EXPECT_TRUE(params.get<bool>("auxiliary"));
  EXPECT_EQ(params.get<double>("rate"), 0.001);
  EXPECT_EQ(params.get<std::string>("optimizer"), "adam");
}

TEST(ResolveParams, RefusesWhatTheTableDoesNotAllow) {
  EXPECT_EQ(resolve_error("g:bacth=1"),
            "graph g: unknown parameter 'bacth'; did you mean 'batch'?");
  EXPECT_EQ(resolve_error("g:batch=0"),
            "graph g: batch is '0', expected a whole number from 1 to 4096");
  EXPECT_EQ(resolve_error("g:rate=2"), "graph g: rate is '2', expected a number from 0 to 1");
  EXPECT_EQ(resolve_error("g:auxiliary=yes"),
            "graph g: auxiliary is 'yes', expected true or false");
  EXPECT_EQ(resolve_error("g:optimizer=lion"),
            "graph g: optimizer is 'lion', expected one of 'adam', 'sgd'");
  for (const char* const number : {"1.5", "4097", "x", "1x", " 1", "99999999999999999999", "-1"}) {
    EXPECT_THAT(resolve_error(std::string("g:batch=") + number), HasSubstr("batch is '"));
  }
  for (const char* const number : {"nan", "inf", "-0.1", "1e999", "0x1p-1"}) {
    EXPECT_THAT(resolve_error(std::string("g:rate=") + number), HasSubstr("rate is '"));
  }
}

TEST(ResolveParams, RefusesATableWhoseDefaultIsOutOfBounds) {
  const std::vector<ParamSpec> table = {{.name = "steps", .default_value = std::int64_t{5}}};
  EXPECT_THROW(resolve_params(table, Spec::parse("a"), "agent a"), InternalError);
}

TEST(Params, ThatNoTableHasAreOurMistake) {
  EXPECT_THROW(Params().get<bool>("batch"), InternalError);
}

TEST(ParamValue, IsWrittenAsAUserWouldWriteIt) {
  EXPECT_EQ(to_string(ParamValue(true)), "true");
  EXPECT_EQ(to_string(ParamValue(std::int64_t{-3})), "-3");
  EXPECT_EQ(to_string(ParamValue(0.1)), "0.1");
  EXPECT_EQ(to_string(ParamValue(2.0)), "2");
  EXPECT_EQ(to_string(ParamValue(std::string("sgd"))), "sgd");
}

}  // namespace
}  // namespace emplace::params_test
