#include "agents/src/nn/parameters.hpp"
#include "support/errors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace emplace::agents::nn::nn_parameters_test {
namespace {

Parameters<float> two_layers() {
  Parameters<float> parameters;
  parameters.add("first", 2, 3);
  parameters.add("second", 3, 1);
  return parameters;
}

TEST(NnParameters, StandOneAfterTheOther) {
  const Parameters<float> parameters = two_layers();
  EXPECT_EQ(parameters.values().size(), 2 * 3 + 3 + 3 * 1 + 1);
  EXPECT_EQ(parameters.layer(1).offset, 9U);
  EXPECT_EQ(parameters.layer(1).bias_offset(), 12U);
  EXPECT_ANY_THROW(two_layers().add("first", 1, 1));
}

// Uniform in +-L has variance L^2 / 3, which for L = sqrt(6 / (in + out)) is 2 / (in + out).
TEST(NnParameters, StartGlorotUniformWithoutBias) {
  Parameters<float> parameters;
  parameters.add("wide", 300, 100);
  RandomStream random(3);
  parameters.initialize(random);
  double square = 0;
  const double limit = std::sqrt(6.0 / 400);
  for (std::size_t i = 0; i < 300 * 100; ++i) {
    EXPECT_LE(std::abs(parameters.values()[i]), limit);
    square += double{parameters.values()[i]} * parameters.values()[i];
  }
  EXPECT_NEAR(square / (300 * 100), 2.0 / 400, 1e-4);
  for (std::size_t i = 300 * 100; i < parameters.values().size(); ++i) {
    EXPECT_EQ(parameters.values()[i], 0);
  }
}

TEST(NnParameters, ComeBackFromJsonBitForBit) {
  Parameters<float> written = two_layers();
  RandomStream random(5);
  written.initialize(random);
  written.values()[0] = std::numeric_limits<float>::min();
  written.values()[1] = -0.1F;
  Parameters<float> read = two_layers();
  read.load(JsonDocument::parse(written.to_json(), "policy.json").root());
  EXPECT_THAT(read.values(), testing::ElementsAreArray(written.values()));
}

std::string mistake(const std::string& from, const std::string& to) {
  const std::string text = test::with(two_layers().to_json(), from, to);
  Parameters<float> parameters = two_layers();
  parameters.values()[0] = 7;
  const std::string message =
      test::error_of([&] { parameters.load(JsonDocument::parse(text, "policy.json").root()); });
  EXPECT_EQ(parameters.values()[0], 7);  // nothing is taken of what is wrong somewhere
  return message;
}

TEST(NnParameters, TellWhatIsWrongInAFile) {
  EXPECT_EQ(mistake("second", "third"),
            "policy.json: /1/name: expected layer 'second', found 'third'");
  EXPECT_EQ(mistake("\"inputs\": 3", "\"inputs\": 4"),
            "policy.json: /1/inputs: layer 'second' has 3 inputs, not 4");
  EXPECT_EQ(mistake("[0, 0, 0, 0]", "[0, 0, 0]"),
            "policy.json: /1/values: expected 4 numbers, found 3");
  EXPECT_THAT(mistake("[0, 0, 0, 0]", "[0, 0, 0, 1e39]"),
              testing::StartsWith("policy.json: /1/values/3: expected"));
  EXPECT_THAT(mistake("{\"name\": \"second\"", "{\"nam\": \"second\""),
              testing::HasSubstr("policy.json: /1"));
}

}  // namespace
}  // namespace emplace::agents::nn::nn_parameters_test
