#include "support/well_formed.hpp"

#include <emplace/base/svg.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

namespace emplace::svg_test {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Svg, EscapesWhatEndsTextAndAttributes) {
  EXPECT_EQ(escape_markup("a<b>&\"c\"'"), "a&lt;b&gt;&amp;&quot;c&quot;&#39;");
}

TEST(Svg, ReplacesWhatXmlForbidsAndWhatReordersText) {
  EXPECT_EQ(escape_markup("a\nb"), "a\uFFFDb");
  EXPECT_EQ(escape_markup(std::string("\0", 1)), "\uFFFD");
  EXPECT_EQ(escape_markup("\x7F\u0085"), "\uFFFD\uFFFD");
  EXPECT_EQ(escape_markup("\u202Egnp.exe\u2066\u200F"), "\uFFFDgnp.exe\uFFFD\uFFFD");
  EXPECT_EQ(escape_markup("\xEF\xBF\xBF"), "\uFFFD");
  EXPECT_EQ(escape_markup("\xC3"), "\uFFFD");            // half a letter
  EXPECT_EQ(escape_markup("Ärger – 層"), "Ärger – 層");  // and nothing else
}

TEST(Svg, WritesShapesThatAreWellFormed) {
  Svg svg(100, 50.25);
  svg.open("fill=\"#fff\"", "a & b");
  svg.rect(0, -0.01, 10, 5.55, "fill=\"#000\"", "<title>");
  svg.circle(1, 2, 3, "");
  svg.line(0, 0, 1, 1, "stroke=\"#000\"");
  svg.polyline("0,0 1,1", "");
  svg.path("M0 0H1", "", "\x01");
  svg.text(1, 2, "</text><script>");
  svg.close();
  const std::string text = std::move(svg).finish();
  EXPECT_TRUE(test::is_well_formed(text)) << text;
  EXPECT_THAT(text, HasSubstr("<rect x=\"0\" y=\"0\" width=\"10\" height=\"5.5\""));
  EXPECT_THAT(text, HasSubstr("viewBox=\"0 0 100 50.2\""));
  EXPECT_THAT(text, Not(HasSubstr("<script>")));
}

TEST(Svg, CutsTextThatIsTooLong) {
  EXPECT_EQ(fitted_text("short", 100, 10), "short");
  const std::string cut = fitted_text(std::string(100, 'x'), 100, 10);
  EXPECT_THAT(cut, testing::EndsWith("x…"));
  EXPECT_LE(text_width(cut, 10), 100);
  EXPECT_EQ(fitted_text("aaaaaaaa/end", text_width("…end", 10) + 0.1, 10, CutEnd::kFront), "…end");
  EXPECT_EQ(fitted_text("層層層", text_width("層…", 10) + 0.1, 10), "層…");
  EXPECT_EQ(fitted_text("xxx", 1, 10), "");
}

TEST(Svg, ColorsAreDifferentAndTintsRunToWhite) {
  EXPECT_EQ(std::set(kPictureColors.begin(), kPictureColors.end()).size(), kPictureColors.size());
  EXPECT_EQ(tinted_color(0, 1), "#0072b2");
  EXPECT_EQ(tinted_color(kPictureColors.size(), 1), "#0072b2");
  EXPECT_EQ(tinted_color(3, 0), "#ffffff");
}

}  // namespace
}  // namespace emplace::svg_test
