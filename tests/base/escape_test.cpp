// The same hostile texts through every form of output.

#include <emplace/base/escape.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <array>
#include <string>
#include <string_view>

namespace emplace::escape_test {
namespace {

using testing::HasSubstr;
using testing::Not;

// Each is one way to steer a terminal, or the direction of text.
constexpr std::array<std::string_view, 14> kSteering = {
    "\x1b",   "\x07",   "\r",     "\x7f",   "\u009b", "\u202e", "\u2066",
    "\u200f", "\u061c", "\u200b", "\u2028", "\ufeff", "\x9b",   "\U000e0041",
};

using Escape = std::string (*)(std::string_view);
constexpr std::array<Escape, 6> kOneLine = {escape_terminal, escape_markdown,
                                            escape_latex,    escape_csv,
                                            escape_markup,   escape_terminal_lines};

TEST(Escape, NothingSteersInAnyForm) {
  for (const std::string_view steering : kSteering) {
    const std::string text = "a" + std::string(steering) + "b";
    for (const Escape escape : kOneLine) {
      const std::string escaped = escape(text);
      EXPECT_TRUE(escaped.starts_with("a") && escaped.ends_with("b")) << escaped;
      EXPECT_THAT(escaped, Not(HasSubstr(std::string(steering)))) << escaped;
    }
  }
}

TEST(Escape, OrdinaryTextStays) {
  const std::string text = "conv 1/weights é 中 \U0001f600";
  for (const Escape escape : kOneLine) {
    EXPECT_EQ(escape(text), text);
  }
  EXPECT_EQ(escape_dot(text), text);
  EXPECT_EQ(escape_json(text), text);
}

TEST(Escape, LinesStayOnlyWhereTheFormHasThem) {
  EXPECT_EQ(escape_terminal("a\nb"), "a?b");
  EXPECT_EQ(escape_terminal_lines("a\nb\n"), "a\nb\n");
  EXPECT_EQ(escape_markdown("a\n# b"), "a?# b");
  EXPECT_EQ(escape_csv("a\nb"), "\"a\nb\"");
  EXPECT_EQ(escape_dot("a\nb"), "a\\nb");
}

TEST(Escape, MarksOfEachForm) {
  EXPECT_EQ(escape_markdown("<script>|*_`[x](y)\\"), "\\<script\\>\\|\\*\\_\\`\\[x\\](y)\\\\");
  EXPECT_EQ(escape_latex("$x_1$\\end{a}%#&~^"),
            "\\$x\\_1\\$\\textbackslash{}end\\{a\\}\\%\\#\\&\\textasciitilde{}\\textasciicircum{}");
  EXPECT_EQ(escape_latex("--"), "-{}-");
  EXPECT_EQ(escape_markup("<script>\"&'"), "&lt;script&gt;&quot;&amp;&#39;");
  EXPECT_EQ(escape_dot("\"];evil\\"), "\\\"];evil\\\\");
}

TEST(Escape, WordsOfAShellAreQuotedWhereTheyHaveToBe) {
  EXPECT_EQ(escape_shell("results/quickstart-2"), "results/quickstart-2");
  EXPECT_EQ(escape_shell("gpus:count=2,memory=8e9"), "gpus:count=2,memory=8e9");
  EXPECT_EQ(escape_shell("my results"), "'my results'");
  EXPECT_EQ(escape_shell("a;rm -rf b"), "'a;rm -rf b'");
  EXPECT_EQ(escape_shell("it's"), "'it'\\''s'");
  EXPECT_EQ(escape_shell("$HOME"), "'$HOME'");
  EXPECT_EQ(escape_shell("~"), "'~'");
  EXPECT_EQ(escape_shell(""), "''");
}

TEST(Escape, NoFieldOfCsvIsAFormula) {
  EXPECT_EQ(escape_csv("=cmd|' /C calc'!A0"), "'=cmd|' /C calc'!A0");
  EXPECT_EQ(escape_csv("@SUM(1,2)"), "\"'@SUM(1,2)\"");
  EXPECT_EQ(escape_csv("-1"), "'-1");
  EXPECT_EQ(escape_csv("say \"a\""), "\"say \"\"a\"\"\"");
  EXPECT_EQ(escape_csv(""), "");
}

TEST(Escape, JsonStaysTheSameDocument) {
  for (const std::string_view steering : kSteering) {
    const nlohmann::json document = {{"name", "a" + std::string(steering)}};
    const std::string text = document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
    const std::string escaped = escape_json(text);
    EXPECT_EQ(nlohmann::json::parse(escaped), nlohmann::json::parse(text));
    EXPECT_EQ(escape_terminal_lines(escaped), escaped);
  }
}

}  // namespace
}  // namespace emplace::escape_test
