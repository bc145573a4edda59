#include <emplace/base/check.hpp>
#include <emplace/bench/log_plot.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace emplace::bench::log_plot_test {
namespace {

using testing::HasSubstr;
using testing::Not;

// The field of a plot is 560 pixels wide and 360 high; positions below are relative to it.
LogPlot three_by_two_decades() { return LogPlot("Title", {"across", 1, 1000}, {"up", 0.1, 10}); }

std::string svg_of(const LogPlot& plot) { return LogPlot::to_svg(std::span(&plot, 1)); }

TEST(LogPlot, PutsPointsWhereTheirLogarithmsAre) {
  LogPlot plot = three_by_two_decades();
  const std::size_t series = plot.add_series("blue ones", "#00f");
  plot.add_point(series, {10, 1}, "ten");
  plot.add_point(series, {1000, 10}, "corner");
  const std::string svg = svg_of(plot);
  EXPECT_THAT(svg, HasSubstr("cx=\"186.7\" cy=\"180\" r=\"3\" fill=\"#00f\""));
  EXPECT_THAT(svg, HasSubstr("cx=\"560\" cy=\"0\""));
  EXPECT_THAT(svg, HasSubstr("<title>ten</title>"));
  EXPECT_THAT(svg, HasSubstr(">blue ones</text>"));
}

TEST(LogPlot, DrawsCurvesFromPlaceToPlace) {
  LogPlot plot = three_by_two_decades();
  plot.add_curve("roof", {{1, 0.1}, {10, 1}, {1000, 1}}, {"#333", LogPlot::kDashes});
  plot.add_curve("", {{1, 10}, {1000, 10}}, {"#999"});
  const std::string svg = svg_of(plot);
  EXPECT_THAT(svg, HasSubstr("<polyline points=\"0,360 186.7,180 560,180\""));
  EXPECT_THAT(svg, HasSubstr("<polyline points=\"0,0 560,0\" fill=\"none\" "
                             "stroke=\"#999\" stroke-width=\"1.5\"/>"));
  EXPECT_THAT(svg, HasSubstr("stroke-dasharray=\"5 4\""));
  EXPECT_THAT(svg, HasSubstr(">roof</text>"));
}

TEST(LogPlot, DrawsBandsBelowTheGridAndHollowPoints) {
  LogPlot plot("Title", {"across", 1, 1000}, {"up", 0.1, 10}, 180);
  plot.add_band("near", {{1, 0.1}, {10, 1}, {10, 0.1}}, "#eee");
  const std::size_t series = plot.add_series("blue ones", "#00f");
  plot.add_point(series, {10, 1}, "ten", LogPlot::Mark::kHollow);
  plot.add_remark("a remark");
  EXPECT_EQ(plot.num_series(), 1);
  const std::string svg = svg_of(plot);
  EXPECT_THAT(svg, HasSubstr("<polyline points=\"0,180 186.7,90 186.7,180\" fill=\"#eee\"/>"));
  EXPECT_LT(svg.find("fill=\"#eee\"/>"), svg.find("stroke=\"#ddd\""));
  EXPECT_THAT(svg, HasSubstr("cx=\"186.7\" cy=\"90\" r=\"3\" fill=\"#fff\" stroke=\"#00f\""));
  EXPECT_THAT(svg, HasSubstr(">near</text>"));
  EXPECT_THAT(svg, HasSubstr(">a remark</text>"));
}

TEST(LogPlot, IsAsWideAsItsLegend) {
  LogPlot plot = three_by_two_decades();
  plot.add_curve("short", {{1, 1}, {10, 1}}, {"#333"});
  EXPECT_THAT(svg_of(plot), HasSubstr("width=\"860\""));
  plot.add_curve("trained on each graph alone, rewarded at each step", {{1, 1}, {10, 1}}, {"#333"});
  EXPECT_THAT(svg_of(plot), Not(HasSubstr("width=\"860\"")));
}

TEST(LogPlot, WidensAxesToRoundNumbersAndLabelsThem) {
  const std::string svg = svg_of(LogPlot("", {"", 3, 70000}, {"", 2.5e11, 4e12}));
  for (const char* label :
       {">10</text>", ">1k</text>", ">100k</text>", ">200G</text>", ">5T</text>"}) {
    EXPECT_THAT(svg, HasSubstr(label));
  }
  // Over so many decades only powers of ten are labelled.
  EXPECT_THAT(svg, Not(HasSubstr(">2k</text>")));
}

TEST(LogPlot, LabelsShortAxesMoreFinely) {
  const std::string svg = svg_of(LogPlot("", {"", 1, 4}, {"", 1061, 1390}));
  for (const char* label : {">1k</text>", ">1.2k</text>", ">1.5k</text>"}) {
    EXPECT_THAT(svg, HasSubstr(label));
  }
  EXPECT_THAT(svg, Not(HasSubstr(">2k</text>")));
  EXPECT_THAT(svg, HasSubstr(">5</text>"));  // four times as much is not short
  EXPECT_THAT(svg, Not(HasSubstr(">3</text>")));
}

TEST(LogPlot, MayHaveLinearAxes) {
  LogPlot plot("Title", {"across", 0.93, 1.12, true}, {"share", 0, 1, true});
  plot.add_curve("c", {{0.9, 0}, {1, 0.5}, {1.15, 1}}, {"#333"});
  const std::string svg = svg_of(plot);
  // From 0.92 to 1.12 in steps of 0.02, and from 0 to 1 in steps of 0.1.
  EXPECT_THAT(svg, HasSubstr(">0.92</text>"));
  EXPECT_THAT(svg, HasSubstr(">1.12</text>"));
  EXPECT_THAT(svg, HasSubstr(">0.1</text>"));
  EXPECT_THAT(svg, Not(HasSubstr(">0.95</text>")));
  // 1 is 8 of 20 hundredths from the left: 224 of 560 pixels.
  EXPECT_THAT(svg, HasSubstr("<polyline points=\"-56,360 224,180 644,0\""));
}

TEST(LogPlot, EscapesWhatItIsGiven) {
  LogPlot plot("<title>", {"a & b", 1, 10}, {"\"c\"", 1, 10});
  plot.add_point(plot.add_series("<series>", "#000\"/><script>"), {2, 2}, "</title><script>");
  plot.add_curve("<curve>", {{1, 1}, {10, 10}}, {"#000"});
  const std::string svg = svg_of(plot);
  EXPECT_THAT(svg, Not(HasSubstr("<script>")));
  EXPECT_THAT(svg, Not(HasSubstr("<series>")));
  EXPECT_THAT(svg, Not(HasSubstr("<curve>")));
  EXPECT_THAT(svg, HasSubstr("&lt;title&gt;"));
  EXPECT_THAT(svg, HasSubstr("a &amp; b"));
}

TEST(LogPlot, StacksPlots) {
  const std::vector<LogPlot> plots(2, three_by_two_decades());
  const std::string svg = LogPlot::to_svg(plots);
  EXPECT_THAT(svg, HasSubstr("width=\"860\" height=\"920\""));
  EXPECT_THAT(svg, HasSubstr("translate(0 460)"));
}

TEST(LogPlot, RefusesWhatHasNoLogarithm) {
  EXPECT_THROW(LogPlot("", {"", 0, 1}, {"", 1, 10}), InternalError);
  EXPECT_THROW(LogPlot("", {"", 1, 1}, {"", 1, 10}), InternalError);
  LogPlot plot = three_by_two_decades();
  EXPECT_THROW(plot.add_point(plot.add_series("", ""), {0, 1}, ""), InternalError);
}

}  // namespace
}  // namespace emplace::bench::log_plot_test
