#include "round_steps.hpp"

#include <emplace/base/check.hpp>
#include <emplace/base/svg.hpp>
#include <emplace/bench/log_plot.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string_view>
#include <utility>

namespace emplace::bench {
namespace {

// In pixels: the picture, and around the area that the axes span.
constexpr double kLeastWidth = 860;
constexpr double kLeft = 80;
constexpr double kTop = 40;
constexpr double kFieldWidth = 560;
constexpr double kBelow = 60;
constexpr double kLegendLeft = kLeft + kFieldWidth + 20;
constexpr double kLegendText = kLegendLeft + 26;
constexpr double kLegendStep = 18;
constexpr double kRightMargin = 10;
constexpr double kWideFont = 1.15;  // fonts that stand in for Helvetica, over Helvetica
constexpr int kTitleSize = 15;

constexpr std::array kRoundDigits = {1.0, 2.0, 5.0};
constexpr std::array kFineDigits = {1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0};
constexpr double kShort = 4;        // an axis is short if its ends differ by less than this factor
constexpr int kManyDecades = 3;     // from here on, only powers of ten are labelled
constexpr int kTooManyDecades = 9;  // from here on, only every other power of ten is
constexpr int kMostSteps = 10;      // of a linear axis

double power_of_ten(int exponent) { return std::pow(10.0, exponent); }

// A label of an axis: 1 000 000 is 1M.
std::string label_of(double value) {
  constexpr std::array<std::string_view, 7> kPrefixes = {"", "k", "M", "G", "T", "P", "E"};
  std::size_t prefix = 0;
  while (value >= 1e3 * (1 - 1e-9) && prefix + 1 < kPrefixes.size()) {
    value /= 1e3;
    ++prefix;
  }
  return fmt::format("{:g}{}", value, kPrefixes[prefix]);
}

// Returns the round numbers 1, 2, 5, 10, 20, ... (of a short axis finer ones) from the last that is
// at most `least` to the first that is at least `most`.
std::vector<double> round_numbers(double least, double most) {
  const std::span<const double> digits =
      most < kShort * least ? std::span<const double>(kFineDigits) : kRoundDigits;
  std::vector<double> numbers;
  for (int exponent = static_cast<int>(std::floor(std::log10(least)));; ++exponent) {
    for (const double digit : digits) {
      const double number = digit * power_of_ten(exponent);
      if (number <= least) {
        numbers.clear();
      }
      numbers.push_back(number);
      if (number >= most) {
        return numbers;
      }
    }
  }
}

std::string stroke_of(const LogPlot::Pen& pen) {
  return fmt::format(
      "stroke=\"{}\" stroke-width=\"1.5\"{}", escape_markup(pen.color),
      pen.dashes.empty() ? std::string() : fmt::format(" stroke-dasharray=\"{}\"", pen.dashes));
}

}  // namespace

LogPlot::Scale LogPlot::rounded(Axis axis) {
  EMPLACE_CHECK((axis.linear || axis.least > 0) && axis.least < axis.most &&
                    std::isfinite(axis.most - axis.least),
                "an axis from {} to {}", axis.least, axis.most);
  std::vector<double> numbers = axis.linear ? round_steps(axis.least, axis.most, kMostSteps)
                                            : round_numbers(axis.least, axis.most);
  axis.least = numbers.front();
  axis.most = numbers.back();
  return {std::move(axis), std::move(numbers)};
}

// Returns the positions of labelled lines.
std::vector<double> LogPlot::ticks_of(const Scale& scale) {
  if (scale.axis.linear) {
    return scale.numbers;
  }
  const double decades = std::log10(scale.axis.most / scale.axis.least);
  const int step = decades > kTooManyDecades ? 2 : 1;
  std::vector<double> ticks;
  for (const double number : scale.numbers) {
    const double exponent = std::log10(number);
    const bool is_power = std::abs(exponent - std::round(exponent)) < 1e-9;
    const bool is_shown =
        decades <= kManyDecades || (is_power && static_cast<int>(std::round(exponent)) % step == 0);
    if (is_shown) {
      ticks.push_back(number);
    }
  }
  return ticks;
}

// Where `value` lies between the ends of the axis: 0 to 1.
double LogPlot::part_of(const Scale& scale, double value) {
  if (scale.axis.linear) {
    return (value - scale.axis.least) / (scale.axis.most - scale.axis.least);
  }
  return std::log(value / scale.axis.least) / std::log(scale.axis.most / scale.axis.least);
}

LogPlot::LogPlot(std::string title, Axis x, Axis y, double field_height)
    : title_(std::move(title)),
      x_(rounded(std::move(x))),
      y_(rounded(std::move(y))),
      field_height_(field_height) {}

std::size_t LogPlot::add_series(std::string name, std::string color) {
  series_.push_back({std::move(name), std::move(color)});
  return series_.size() - 1;
}

void LogPlot::add_point(std::size_t series, Place at, std::string text, Mark mark) {
  EMPLACE_CHECK(has(at), "a point at {}, {}", at.x, at.y);
  points_.push_back({series, at, std::move(text), mark});
}

void LogPlot::add_curve(std::string name, std::vector<Place> places, Pen pen) {
  for (const Place& place : places) {
    EMPLACE_CHECK(has(place), "a curve by {}, {}", place.x, place.y);
  }
  curves_.push_back({std::move(name), std::move(places), std::move(pen)});
}

void LogPlot::add_band(std::string name, std::vector<Place> outline, std::string color) {
  for (const Place& place : outline) {
    EMPLACE_CHECK(has(place), "a band by {}, {}", place.x, place.y);
  }
  bands_.push_back({std::move(name), std::move(outline), std::move(color)});
}

void LogPlot::add_remark(std::string text) { remarks_.push_back(std::move(text)); }

bool LogPlot::has(const Place& place) const {
  return (x_.axis.linear || place.x > 0) && (y_.axis.linear || place.y > 0);
}

double LogPlot::across(double x) const { return kFieldWidth * part_of(x_, x); }

double LogPlot::down(double y) const { return field_height_ * (1 - part_of(y_, y)); }

double LogPlot::height() const { return kTop + field_height_ + kBelow; }

std::string LogPlot::points_of(const std::vector<Place>& places) const {
  std::string points;
  for (const Place& place : places) {
    points += fmt::format("{}{},{}", points.empty() ? "" : " ", svg_number(across(place.x)),
                          svg_number(down(place.y)));
  }
  return points;
}

void LogPlot::draw_grid(Svg& svg) const {
  for (const double tick : ticks_of(x_)) {
    const double at = kLeft + across(tick);
    svg.line(at, kTop, at, kTop + field_height_, "stroke=\"#ddd\"");
    svg.text(at, kTop + field_height_ + 16, label_of(tick), "text-anchor=\"middle\"");
  }
  for (const double tick : ticks_of(y_)) {
    const double at = kTop + down(tick);
    svg.line(kLeft, at, kLeft + kFieldWidth, at, "stroke=\"#ddd\"");
    svg.text(kLeft - 6, at + 4, label_of(tick), "text-anchor=\"end\"");
  }
  svg.rect(kLeft, kTop, kFieldWidth, field_height_, "fill=\"none\" stroke=\"#333\"");
  svg.text(kLeft, kTop - 14, title_,
           fmt::format("font-size=\"{}\" font-weight=\"bold\"", kTitleSize));
  svg.text(kLeft + kFieldWidth / 2, kTop + field_height_ + 38, x_.axis.title,
           "text-anchor=\"middle\"");
  const double middle = kTop + field_height_ / 2;
  svg.text(
      18, middle, y_.axis.title,
      fmt::format("text-anchor=\"middle\" transform=\"rotate(-90 18 {})\"", svg_number(middle)));
}

// Opens a viewport, which cuts off what lies outside the axes.
void LogPlot::open_field(Svg& svg) const {
  svg.open(fmt::format("x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"", svg_number(kLeft),
                       svg_number(kTop), svg_number(kFieldWidth), svg_number(field_height_)),
           {}, "svg");
}

void LogPlot::draw_bands(Svg& svg) const {
  if (bands_.empty()) {
    return;
  }
  open_field(svg);
  for (const Band& band : bands_) {
    svg.polyline(points_of(band.outline), fmt::format("fill=\"{}\"", escape_markup(band.color)));
  }
  svg.close("svg");
}

void LogPlot::draw_data(Svg& svg) const {
  open_field(svg);
  for (const Curve& curve : curves_) {
    svg.polyline(points_of(curve.places), "fill=\"none\" " + stroke_of(curve.pen));
  }
  for (const Point& point : points_) {
    const std::string color = escape_markup(series_[point.series].color);
    svg.circle(across(point.at.x), down(point.at.y), 3,
               point.mark == Mark::kHollow
                   ? fmt::format("fill=\"#fff\" stroke=\"{}\" stroke-width=\"1.5\"", color)
                   : fmt::format("fill=\"{}\" fill-opacity=\"0.7\"", color),
               point.text);
  }
  svg.close("svg");
}

void LogPlot::draw_legend(Svg& svg) const {
  double at = kTop + 6;
  const auto name = [&](const std::string& entry) {
    svg.text(kLegendText, at + 4, entry);
    at += kLegendStep;
  };
  for (const Band& band : bands_) {
    svg.rect(kLegendLeft, at - 5, 20, 10, fmt::format("fill=\"{}\"", escape_markup(band.color)));
    name(band.name);
  }
  for (const Curve& curve : curves_) {
    if (!curve.name.empty()) {
      svg.line(kLegendLeft, at, kLegendLeft + 20, at, stroke_of(curve.pen));
      name(curve.name);
    }
  }
  for (const Series& series : series_) {
    svg.circle(kLegendLeft + 10, at, 4, fmt::format("fill=\"{}\"", escape_markup(series.color)));
    name(series.name);
  }
  for (const std::string& remark : remarks_) {
    name(remark);
  }
}

double LogPlot::width() const {
  double width =
      std::max(kLeastWidth, kLeft + kWideFont * text_width(title_, kTitleSize) + kRightMargin);
  const auto reserve = [&](const std::string& entry) {
    width =
        std::max(width, kLegendText + kWideFont * text_width(entry, Svg::kFontSize) + kRightMargin);
  };
  std::ranges::for_each(bands_, reserve, &Band::name);
  std::ranges::for_each(curves_, reserve, &Curve::name);
  std::ranges::for_each(series_, reserve, &Series::name);
  std::ranges::for_each(remarks_, reserve);
  return width;
}

std::string LogPlot::to_svg(std::span<const LogPlot> plots) {
  double width = 0;
  double height = 0;
  for (const LogPlot& plot : plots) {
    width = std::max(width, plot.width());
    height += plot.height();
  }
  Svg svg(std::ceil(width), height);
  double top = 0;
  for (const LogPlot& plot : plots) {
    svg.open(fmt::format("transform=\"translate(0 {})\"", svg_number(top)));
    plot.draw_bands(svg);
    plot.draw_grid(svg);
    plot.draw_data(svg);
    plot.draw_legend(svg);
    svg.close();
    top += plot.height();
  }
  return std::move(svg).finish();
}

}  // namespace emplace::bench
