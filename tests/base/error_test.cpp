#include "support/errors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace emplace::error_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::vector<std::string> kAgents = {
    "cpu-only", "etf",    "heft",   "hill-climb",          "m-etf",     "metis",
    "m-topo",   "random", "scotch", "simulated-annealing", "single-gpu"};

TEST(NearestNames, CountsInsertionsDeletionsReplacementsAndSwaps) {
  // One edit each: a letter too many, one missing, one wrong, two swapped.
  EXPECT_THAT(nearest_names("scotchh", kAgents, 1), ElementsAre("scotch"));
  EXPECT_THAT(nearest_names("scoch", kAgents, 1), ElementsAre("scotch"));
  EXPECT_THAT(nearest_names("scotck", kAgents, 1), ElementsAre("scotch"));
  EXPECT_THAT(nearest_names("socthc", kAgents, 1), ElementsAre("scotch"));
}

TEST(NearestNames, StandNearestFirstAndTiesByName) {
  // m-etf is 1 edit from "metf"; etf too; heft is 2 away (and metis 2).
  EXPECT_THAT(nearest_names("metf", kAgents, 4), ElementsAre("etf", "m-etf", "heft", "metis"));
  const std::vector<std::string> reversed(kAgents.rbegin(), kAgents.rend());
  EXPECT_EQ(nearest_names("metf", kAgents, 4), nearest_names("metf", reversed, 4));
}

TEST(NearestNames, IncludeLongerNamesThatContainThePiece) {
  EXPECT_THAT(nearest_names("anneal", kAgents), ElementsAre("simulated-annealing"));
  EXPECT_THAT(nearest_names("HILL", kAgents, 1), ElementsAre("hill-climb"));
}

TEST(NearestNames, LeaveOutWhatIsNothingLikeIt) {
  EXPECT_THAT(nearest_names("xyzzy", kAgents), IsEmpty());
  EXPECT_THAT(nearest_names("", kAgents), IsEmpty());
  EXPECT_THAT(nearest_names(std::string(1'000'000, 'x'), kAgents), IsEmpty());
}

std::string unknown(std::string_view name, const std::vector<std::string>& names) {
  return test::error_of(ErrorCode::kUnknownName, [&] { throw_unknown_name("agent", name, names); });
}

TEST(UnknownName, IsToldWithTheNearestNames) {
  EXPECT_EQ(unknown("scoth", kAgents), "unknown agent 'scoth'; did you mean 'scotch'?");
  EXPECT_EQ(unknown("metf", kAgents),
            "unknown agent 'metf'; did you mean 'etf', 'm-etf' or 'heft'?");
}

TEST(UnknownName, IsToldWithWhatThereIsIfNoneIsNear) {
  EXPECT_EQ(unknown("xyzzy", {"heft", "random"}), "unknown agent 'xyzzy'; known: 'heft', 'random'");
  EXPECT_EQ(unknown("xyzzy", {}), "unknown agent 'xyzzy'; there are none");
  EXPECT_EQ(unknown("q", std::vector<std::string>(13, "heft")).substr(0, 30),
            "unknown agent 'q'; known: 'hef");
  EXPECT_TRUE(unknown("q", std::vector<std::string>(13, "heft")).ends_with("'heft', ..."));
}

TEST(Excerpt, CutsLongTextBetweenLetters) {
  EXPECT_EQ(excerpt("short", 60), "short");
  EXPECT_EQ(excerpt("abcdef", 3), "abc...");
  EXPECT_EQ(excerpt("äöü", 3), "äö...");
}

TEST(Excerpt, ShowsWhatATerminalCouldNot) {
  EXPECT_EQ(excerpt("a\tb\x1B[31m"), "a\\x09b\\x1b[31m");
  EXPECT_EQ(excerpt("a\xFF\xC3"), "a\\xff\\xc3");
  EXPECT_EQ(excerpt("\xC0\x80"), "\\xc0\\x80");                    // overlong
  EXPECT_EQ(excerpt("\xED\xA0\x80"), "\\xed\\xa0\\x80");           // a surrogate
  EXPECT_EQ(excerpt("\xF4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // above U+10FFFF
  EXPECT_EQ(excerpt("\xF0\x9F\x98\x80"), "\xF0\x9F\x98\x80");
}

}  // namespace
}  // namespace emplace::error_test
