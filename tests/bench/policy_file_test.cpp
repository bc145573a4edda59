#include "support/errors.hpp"

#include <emplace/bench/policy_file.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace emplace::bench::policy_file_test {
namespace {

const PolicyOrigin kOrigin{.plan = {.agent = "placeto:preset=released,rounds=2",
                                    .graphs = {"cifar10:member=0", "./a.json"},
                                    .clusters = {"p2-8xlarge-2"},
                                    .groups = 64,
                                    .grouping = "metis",
                                    .root_seed = 7,
                                    .episodes = 100,
                                    .patience = 20},
                           .episodes_played = 150,
                           .updates = 75};
const std::string kText = write_policy_file(kOrigin, "{\"layers\": [0.1, 1e-45]}\n");

std::string mistake(const std::string& text) {
  return test::error_of([&] { read_policy_file(text, "policy.json"); });
}

std::string changed(const std::string& from, const std::string& to) {
  return test::with(kText, from, to);
}

TEST(PolicyFile, ComesBack) {
  const PolicyFile read = read_policy_file(kText, "policy.json");
  EXPECT_EQ(read.origin.plan, kOrigin.plan);
  EXPECT_EQ(read.origin.episodes_played, 150);
  EXPECT_EQ(read.origin.updates, 75);
  EXPECT_EQ(read.policy.root().at("layers").elements().at(1).number(0, 1), 1e-45);
}

TEST(PolicyFile, TellsWhatIsWrongInIt) {
  EXPECT_EQ(mistake(kText), "none");
  EXPECT_THAT(mistake("{}"), testing::StartsWith("policy.json: "));
  EXPECT_THAT(mistake(changed("\"version\": 1", "\"version\": 2")),
              testing::StartsWith("policy.json: /version"));
  EXPECT_THAT(
      mistake(changed("\"episodes\": 100", "\"episodes\": 0")),
      testing::StartsWith("policy.json: /plan/episodes: expected a whole number of at least 1"));
  EXPECT_THAT(mistake(changed("\"updates\"", "\"update\"")), testing::HasSubstr("policy.json"));
  EXPECT_THAT(mistake(changed("\"p2-8xlarge-2\"", "")),
              testing::StartsWith("policy.json: /plan/clusters: expected at least one name"));
}

TEST(PolicyFile, IsRefusedWhereAnyBitOfItChanged) {
  for (std::size_t i = 0; i + 1 < kText.size(); ++i) {  // but the last, an end of line
    for (int bit = 0; bit < 8; ++bit) {
      std::string text = kText;
      text[i] = static_cast<char>(text[i] ^ (1 << bit));
      EXPECT_NE(mistake(text), "none") << i << " " << bit;
    }
  }
}

TEST(PolicyFile, OfAnOlderProgramHasNoChecksum) {
  std::string text = kText;
  text.replace(text.rfind(",\"crc32\""), std::string::npos, "}\n");
  EXPECT_EQ(mistake(text), "none");
}

TEST(PolicyFile, MakesAgentsThatTrainOnly) {
  EXPECT_EQ(make_trainable("placeto:preset=released,rounds=2")->layers(2).empty(), false);
  test::error_of(ErrorCode::kUsage, [&] { make_trainable("metis:"); });
  EXPECT_THAT(
      test::error_of(ErrorCode::kUsage, [&] { make_trainable("single-gpu"); }),
      testing::AllOf(testing::StartsWith("agent 'single-gpu' trains no policy; those that do: "),
                     testing::HasSubstr("placeto")));
}

// The agent's own words, at the place in the file.
TEST(PolicyFile, SaysWhereAPolicyIsNotTheAgents) {
  EXPECT_THAT(test::error_of([&] { agent_of(read_policy_file(kText, "policy.json"), true); }),
              testing::StartsWith("policy.json: /policy"));
}

}  // namespace
}  // namespace emplace::bench::policy_file_test
