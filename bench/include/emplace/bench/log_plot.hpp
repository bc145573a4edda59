#pragma once

// Draws plots with logarithmic or linear axes as self-contained SVG: series of points, curves and
// bands, with a legend. Text may come from users' files and is escaped.

#include <emplace/base/svg.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace emplace::bench {

/// Draws one plot.
class LogPlot {
 public:
  /// Describes an axis: its title and its ends, both positive if it is logarithmic.
  struct Axis {
    std::string title{};
    double least = 1;
    double most = 10;
    bool linear = false;
  };

  /// A position in the units of the axes.
  struct Place {
    double x = 1;
    double y = 1;
  };

  /// The style of a curve.
  struct Pen {
    std::string color{};   ///< as in SVG: "#0072b2"
    std::string dashes{};  ///< lengths of strokes and gaps, as in SVG; empty: a solid line
  };

  /// How a point is drawn.
  enum class Mark : std::uint8_t { kFilled, kHollow };

  /// Dashes that suit most curves.
  static constexpr const char* kDashes = "5 4";

  /// The height of the area between the axes, in pixels, unless told otherwise; its width is 560.
  static constexpr double kFieldHeight = 360;

  /// Makes an empty plot. The axes are widened to round numbers.
  LogPlot(std::string title, Axis x, Axis y, double field_height = kFieldHeight);

  /// Adds a series of points to the legend and returns its index.
  std::size_t add_series(std::string name, std::string color);

  /// Adds a point with a tooltip. Requires: coordinates that are positive on logarithmic axes.
  /// Points outside the axes are cut off.
  void add_point(std::size_t series, Place at, std::string text, Mark mark = Mark::kFilled);

  /// Adds a polyline; it is in the legend unless `name` is empty.
  void add_curve(std::string name, std::vector<Place> places, Pen pen);

  /// Adds a filled area to the legend. Areas are drawn below curves and points, later ones over
  /// earlier ones.
  void add_band(std::string name, std::vector<Place> outline, std::string color);

  /// Adds a line of text below the legend.
  void add_remark(std::string text);

  /// Returns the number of series.
  std::size_t num_series() const { return series_.size(); }

  /// Returns the picture of `plots`, one below the other.
  static std::string to_svg(std::span<const LogPlot> plots);

 private:
  struct Point {
    std::size_t series;
    Place at;
    std::string text;
    Mark mark;
  };
  struct Series {
    std::string name;
    std::string color;
  };
  struct Curve {
    std::string name;
    std::vector<Place> places;
    Pen pen;
  };
  struct Band {
    std::string name;
    std::vector<Place> outline;
    std::string color;
  };

  // An axis with the round numbers from end to end.
  struct Scale {
    Axis axis;
    std::vector<double> numbers;
  };

  static Scale rounded(Axis axis);
  static std::vector<double> ticks_of(const Scale& scale);
  static double part_of(const Scale& scale, double value);

  bool has(const Place& place) const;
  std::string points_of(const std::vector<Place>& places) const;
  void open_field(Svg& svg) const;
  void draw_bands(Svg& svg) const;
  void draw_grid(Svg& svg) const;
  void draw_data(Svg& svg) const;
  void draw_legend(Svg& svg) const;
  double across(double x) const;
  double down(double y) const;
  double width() const;
  double height() const;

  std::string title_;
  Scale x_;
  Scale y_;
  std::vector<Series> series_;
  std::vector<Point> points_;
  std::vector<Curve> curves_;
  std::vector<Band> bands_;
  std::vector<std::string> remarks_;
  double field_height_;
};

}  // namespace emplace::bench
