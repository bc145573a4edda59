#include <emplace/bench/log_plot.hpp>
#include <emplace/bench/text_table.hpp>
#include <emplace/graphs/check.hpp>

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <iterator>
#include <span>
#include <string_view>
#include <utility>

namespace emplace::bench {
namespace {

// In pixels: the picture, and within it the area that the axes span.
constexpr double kWidth = 860;
constexpr double kHeight = 460;
constexpr double kLeft = 80;
constexpr double kTop = 40;
constexpr double kFieldWidth = 560;
constexpr double kFieldHeight = 360;
constexpr double kLegendLeft = kLeft + kFieldWidth + 20;
constexpr double kLegendStep = 18;

constexpr std::array kRoundDigits = {1.0, 2.0, 5.0};
constexpr std::array kFineDigits = {1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0};
constexpr double kShort = 4;        // an axis is short if its ends differ by less than this factor
constexpr int kManyDecades = 3;     // from here on, only powers of ten are labelled
constexpr int kTooManyDecades = 9;  // from here on, only every other power of ten is
constexpr double kMostSteps = 10;   // of a linear axis
constexpr double kSlack = 1e-9;     // tolerance for rounding errors

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

// Returns the least of 1, 2, 5, 10, 20, ... and their tenths, hundredths, ... that is at least
// `least`.
double round_up(double least) {
  const double unit = power_of_ten(static_cast<int>(std::floor(std::log10(least))));
  for (const double digit : kRoundDigits) {
    if (digit * unit >= least * (1 - kSlack)) {
      return digit * unit;
    }
  }
  return 10 * unit;
}

// Returns multiples of a round number, of which at most kMostSteps or so lie between the ends, from
// the last that is at most `least` to the first that is at least `most`.
std::vector<double> round_steps(double least, double most) {
  const double step = round_up((most - least) / kMostSteps);
  std::vector<double> steps;
  for (double multiple = std::floor(least / step + kSlack);; ++multiple) {
    steps.push_back(multiple * step);
    if (multiple >= most / step - kSlack) {
      return steps;
    }
  }
}

template <class... Values>
void append(std::string& text, fmt::format_string<Values...> format, Values&&... values) {
  fmt::format_to(std::back_inserter(text), format, std::forward<Values>(values)...);
}

}  // namespace

LogPlot::Scale LogPlot::rounded(Axis axis) {
  EMPLACE_CHECK((axis.linear || axis.least > 0) && axis.least < axis.most &&
                    std::isfinite(axis.most - axis.least),
                "an axis from {} to {}", axis.least, axis.most);
  std::vector<double> numbers =
      axis.linear ? round_steps(axis.least, axis.most) : round_numbers(axis.least, axis.most);
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

LogPlot::LogPlot(std::string title, Axis x, Axis y)
    : title_(std::move(title)), x_(rounded(std::move(x))), y_(rounded(std::move(y))) {}

std::size_t LogPlot::add_series(std::string name, std::string color) {
  series_.push_back({std::move(name), std::move(color)});
  return series_.size() - 1;
}

void LogPlot::add_point(std::size_t series, Place at, std::string text) {
  EMPLACE_CHECK(has(at), "a point at {}, {}", at.x, at.y);
  points_.push_back({series, at, std::move(text)});
}

void LogPlot::add_curve(std::string name, std::vector<Place> places, Pen pen) {
  for (const Place& place : places) {
    EMPLACE_CHECK(has(place), "a curve by {}, {}", place.x, place.y);
  }
  curves_.push_back({std::move(name), std::move(places), std::move(pen)});
}

bool LogPlot::has(const Place& place) const {
  return (x_.axis.linear || place.x > 0) && (y_.axis.linear || place.y > 0);
}

double LogPlot::across(double x) const { return kFieldWidth * part_of(x_, x); }

double LogPlot::down(double y) const { return kFieldHeight * (1 - part_of(y_, y)); }

void LogPlot::draw_grid(std::string& text) const {
  for (const double tick : ticks_of(x_)) {
    const double at = kLeft + across(tick);
    append(text,
           "<line x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{0:.1f}\" y2=\"{2:.1f}\" stroke=\"#ddd\"/>\n",
           at, kTop, kTop + kFieldHeight);
    append(text, "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n", at,
           kTop + kFieldHeight + 16, label_of(tick));
  }
  for (const double tick : ticks_of(y_)) {
    const double at = kTop + down(tick);
    append(text,
           "<line x1=\"{1:.1f}\" y1=\"{0:.1f}\" x2=\"{2:.1f}\" y2=\"{0:.1f}\" stroke=\"#ddd\"/>\n",
           at, kLeft, kLeft + kFieldWidth);
    append(text, "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", kLeft - 6,
           at + 4, label_of(tick));
  }
  append(text,
         "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"none\" "
         "stroke=\"#333\"/>\n",
         kLeft, kTop, kFieldWidth, kFieldHeight);
  append(text, "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"15\" font-weight=\"bold\">{}</text>\n",
         kLeft, kTop - 14, escape_markup(title_));
  append(text, "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
         kLeft + kFieldWidth / 2, kTop + kFieldHeight + 38, escape_markup(x_.axis.title));
  append(
      text,
      "<text x=\"18\" y=\"{0:.1f}\" text-anchor=\"middle\" transform=\"rotate(-90 18 {0:.1f})\">{1}"
      "</text>\n",
      kTop + kFieldHeight / 2, escape_markup(y_.axis.title));
}

// A viewport of its own cuts off what lies outside the axes.
void LogPlot::draw_data(std::string& text) const {
  append(text, "<svg x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\">\n", kLeft, kTop,
         kFieldWidth, kFieldHeight);
  for (const Curve& curve : curves_) {
    text += "<polyline points=\"";
    for (std::size_t at = 0; at < curve.places.size(); ++at) {
      append(text, "{}{:.1f},{:.1f}", at == 0 ? "" : " ", across(curve.places[at].x),
             down(curve.places[at].y));
    }
    append(text, "\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\"{}/>\n",
           escape_markup(curve.pen.color), curve.pen.dashed ? " stroke-dasharray=\"5 4\"" : "");
  }
  for (const Point& point : points_) {
    append(text,
           "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\" "
           "fill-opacity=\"0.7\"><title>{}</title></circle>\n",
           across(point.at.x), down(point.at.y), escape_markup(series_[point.series].color),
           escape_markup(point.text));
  }
  text += "</svg>\n";
}

void LogPlot::draw_legend(std::string& text) const {
  double at = kTop + 6;
  const auto name = [&](const std::string& entry) {
    append(text, "<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", kLegendLeft + 26, at + 4,
           escape_markup(entry));
    at += kLegendStep;
  };
  for (const Curve& curve : curves_) {
    if (!curve.name.empty()) {
      append(text,
             "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" "
             "stroke-width=\"1.5\"{}/>\n",
             kLegendLeft, at, kLegendLeft + 20, at, escape_markup(curve.pen.color),
             curve.pen.dashed ? " stroke-dasharray=\"5 4\"" : "");
      name(curve.name);
    }
  }
  for (const Series& series : series_) {
    append(text, "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"{}\"/>\n", kLegendLeft + 10,
           at, escape_markup(series.color));
    name(series.name);
  }
}

std::string LogPlot::draw() const {
  std::string text;
  draw_grid(text);
  draw_data(text);
  draw_legend(text);
  return text;
}

std::string LogPlot::to_svg(std::span<const LogPlot> plots) {
  const double height = kHeight * static_cast<double>(plots.size());
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#222\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
      kWidth, height);
  for (std::size_t at = 0; at < plots.size(); ++at) {
    append(text, "<g transform=\"translate(0 {:.0f})\">\n", kHeight * static_cast<double>(at));
    text += plots[at].draw() + "</g>\n";
  }
  return text + "</svg>\n";
}

}  // namespace emplace::bench
