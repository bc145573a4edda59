#include <emplace/base/svg.hpp>
#include <emplace/base/utf8.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

namespace emplace {
namespace {

// Takes the first character, or the first byte where no character begins, off `text`.
std::string_view take_letter(std::string_view& text) {
  const std::string_view letter = text.substr(0, std::max<std::size_t>(utf8_length(text), 1));
  text.remove_prefix(letter.size());
  return letter;
}

// In ems. Scripts of East Asia are about twice as wide as Latin.
double letter_width(std::string_view letter) {
  constexpr double kLatin = 0.56;
  constexpr double kNarrow = 0.3;
  if (letter.size() == 1) {
    return std::string_view("iljtfr.,:;'|!/()[] ").find(letter) != std::string_view::npos ? kNarrow
                                                                                          : kLatin;
  }
  return letter < "\u1100" ? kLatin : 1.0;
}

}  // namespace

std::string svg_number(double value) {
  std::string number = fmt::format("{:.1f}", value);
  if (number.ends_with(".0")) {
    number.resize(number.size() - 2);
  }
  return number == "-0" ? "0" : number;
}

double text_width(std::string_view text, double font_size) {
  double ems = 0;
  while (!text.empty()) {
    ems += letter_width(take_letter(text));
  }
  return ems * font_size;
}

std::string fitted_text(std::string_view text, double width, double font_size, CutEnd cut) {
  if (text_width(text, font_size) <= width) {
    return std::string(text);
  }
  constexpr std::string_view kEllipsis = "…";
  std::vector<std::string_view> letters;
  for (std::string_view rest = text; !rest.empty();) {
    letters.push_back(take_letter(rest));
  }
  if (cut == CutEnd::kFront) {
    std::ranges::reverse(letters);
  }
  double left = width - text_width(kEllipsis, font_size);
  std::size_t bytes = 0;
  for (const std::string_view letter : letters) {
    left -= letter_width(letter) * font_size;
    if (left < 0) {
      break;
    }
    bytes += letter.size();
  }
  if (bytes == 0) {
    return "";
  }
  return cut == CutEnd::kFront
             ? std::string(kEllipsis) + std::string(text.substr(text.size() - bytes))
             : std::string(text.substr(0, bytes)) + std::string(kEllipsis);
}

std::string tinted_color(std::size_t color, double strength) {
  const std::string_view hex = kPictureColors[color % kPictureColors.size()];
  std::string tinted = "#";
  for (std::size_t part = 0; part < 3; ++part) {
    const int full = std::stoi(std::string(hex.substr(1 + 2 * part, 2)), nullptr, 16);
    const double mixed = 255 - (255 - full) * std::clamp(strength, 0.0, 1.0);
    tinted += fmt::format("{:02x}", static_cast<int>(std::lround(mixed)));
  }
  return tinted;
}

Svg::Svg(double width, double height) {
  text_ = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
      "viewBox=\"0 0 {0} {1}\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"{2}\" "
      "fill=\"#222\">\n",
      svg_number(width), svg_number(height), svg_number(kFontSize));
  rect(0, 0, width, height, "rx=\"6\" fill=\"#fff\"");
}

// Ends an element that holds nothing but a title.
void Svg::end_tag(std::string_view element, std::string_view title) {
  if (title.empty()) {
    text_ += "/>\n";
  } else {
    fmt::format_to(std::back_inserter(text_), "><title>{}</title></{}>\n", escape_markup(title),
                   element);
  }
}

void Svg::rect(double x, double y, double width, double height, std::string_view attributes,
               std::string_view title) {
  fmt::format_to(std::back_inserter(text_), "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" {}",
                 svg_number(x), svg_number(y), svg_number(width), svg_number(height), attributes);
  end_tag("rect", title);
}

void Svg::line(double x1, double y1, double x2, double y2, std::string_view attributes) {
  fmt::format_to(std::back_inserter(text_), "<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" {}/>\n",
                 svg_number(x1), svg_number(y1), svg_number(x2), svg_number(y2), attributes);
}

void Svg::circle(double x, double y, double radius, std::string_view attributes,
                 std::string_view title) {
  fmt::format_to(std::back_inserter(text_), "<circle cx=\"{}\" cy=\"{}\" r=\"{}\" {}",
                 svg_number(x), svg_number(y), svg_number(radius), attributes);
  end_tag("circle", title);
}

void Svg::polyline(std::string_view points, std::string_view attributes) {
  fmt::format_to(std::back_inserter(text_), "<polyline points=\"{}\" {}/>\n", points, attributes);
}

void Svg::path(std::string_view commands, std::string_view attributes, std::string_view title) {
  fmt::format_to(std::back_inserter(text_), "<path d=\"{}\" {}", commands, attributes);
  end_tag("path", title);
}

void Svg::text(double x, double y, std::string_view content, std::string_view attributes) {
  fmt::format_to(std::back_inserter(text_), "<text x=\"{}\" y=\"{}\"{}{}>{}</text>\n",
                 svg_number(x), svg_number(y), attributes.empty() ? "" : " ", attributes,
                 escape_markup(content));
}

void Svg::open(std::string_view attributes, std::string_view title, std::string_view element) {
  fmt::format_to(std::back_inserter(text_), "<{}{}{}>", element, attributes.empty() ? "" : " ",
                 attributes);
  if (!title.empty()) {
    fmt::format_to(std::back_inserter(text_), "<title>{}</title>", escape_markup(title));
  }
  text_ += '\n';
}

void Svg::close(std::string_view element) {
  fmt::format_to(std::back_inserter(text_), "</{}>\n", element);
}

std::string Svg::finish() && { return std::exchange(text_, {}) + "</svg>\n"; }

}  // namespace emplace
