#pragma once

// Pictures in SVG 1.1 without fonts, style sheets or scripts: a white card on which shapes and text
// are drawn. Text may come from users' files: it is escaped, and characters that XML forbids or
// that change the direction of reading become U+FFFD. Numbers have one decimal, so that the same
// picture is the same bytes everywhere.

#include <emplace/base/escape.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace emplace {

/// Returns a coordinate with at most one decimal: "12.5", "3".
std::string svg_number(double value);

/// Returns about how wide `text` is in a sans-serif font of `font_size` pixels.
double text_width(std::string_view text, double font_size);

/// Which end of an overlong text is left out.
enum class CutEnd { kFront, kBack };

/// Returns the text, cut to `width` pixels with an ellipsis where it is longer; empty if no
/// character fits.
std::string fitted_text(std::string_view text, double width, double font_size,
                        CutEnd cut = CutEnd::kBack);

/// Colours that colour-blind readers can distinguish (Okabe and Ito 2008, without black and yellow;
/// then darker ones in the order of Tol 2021). Pictures with more colours start again.
inline constexpr std::array<std::string_view, 12> kPictureColors = {
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00",
    "#332288", "#999933", "#117733", "#882255", "#44aa99", "#777777"};

/// Returns a colour of kPictureColors, any index, mixed with white: 0 is white, 1 the colour.
std::string tinted_color(std::size_t color, double strength);

/// Writes a picture shape by shape. `attributes` are plain SVG, such as `fill="#fff"`; text and
/// titles, which viewers show at the pointer, are escaped.
class Svg {
 public:
  /// Font size in pixels of a text without its own size.
  static constexpr double kFontSize = 12;

  /// Starts a picture of this size in pixels.
  Svg(double width, double height);

  /// Draws a rectangle with its upper left corner at (x, y).
  void rect(double x, double y, double width, double height, std::string_view attributes,
            std::string_view title = {});

  /// Draws a straight line.
  void line(double x1, double y1, double x2, double y2, std::string_view attributes);

  /// Draws a circle around (x, y).
  void circle(double x, double y, double radius, std::string_view attributes,
              std::string_view title = {});

  /// Draws straight lines from point to point ("0,0 10,5").
  void polyline(std::string_view points, std::string_view attributes);

  /// Draws a path of SVG's commands ("M0 0H10").
  void path(std::string_view commands, std::string_view attributes, std::string_view title = {});

  /// Writes a text whose baseline starts at (x, y).
  void text(double x, double y, std::string_view content, std::string_view attributes = {});

  /// Opens a `<g>` or the named element; close() ends the one opened last. The content of a group
  /// shares its attributes and title.
  void open(std::string_view attributes, std::string_view title = {},
            std::string_view element = "g");
  void close(std::string_view element = "g");

  /// Returns the picture. Requires: what was opened is closed. The writer is empty then.
  std::string finish() &&;

 private:
  void end_tag(std::string_view element, std::string_view title);

  std::string text_;
};

}  // namespace emplace
