#include <emplace/bench/policy_file.hpp>
#include <emplace/graphs/error.hpp>

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
  try {
    read_policy_file(text, "policy.json");
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

std::string changed(const std::string& from, const std::string& to) {
  std::string text = kText;
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
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
  EXPECT_THAT(mistake(changed("\"episodes\": 100", "\"episodes\": 0")),
              testing::StartsWith("policy.json: /plan/episodes: expected a whole number from 1"));
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
  try {
    make_trainable("metis:");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
  }
  try {
    make_trainable("single-gpu");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
    EXPECT_THAT(error.what(),
                testing::StartsWith("agent 'single-gpu' trains no policy; those that do: "));
    EXPECT_THAT(error.what(), testing::HasSubstr("placeto"));
  }
}

// The agent's own words, at the place in the file.
TEST(PolicyFile, SaysWhereAPolicyIsNotTheAgents) {
  try {
    agent_of(read_policy_file(kText, "policy.json"), true);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::StartsWith("policy.json: /policy"));
  }
}

}  // namespace
}  // namespace emplace::bench::policy_file_test
