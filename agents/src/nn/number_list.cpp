#include "number_list.hpp"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <limits>
#include <string_view>
#include <type_traits>

namespace emplace::agents::nn {
namespace {

// The fewest digits that identify a float are read as a double and then rounded to a float. Of all
// floats (each was tried) only this one becomes its neighbour by the double rounding.
constexpr float kTwiceRounded = 0x1.5c87fap-84F;

}  // namespace

template <class Scalar>
std::string write_numbers(std::span<const Scalar> numbers) {
  std::string text = "[";
  std::string_view separator;
  for (const Scalar number : numbers) {
    text += separator;
    separator = ", ";
    if (std::is_same_v<Scalar, float> && std::abs(number) == kTwiceRounded) {
      fmt::format_to(std::back_inserter(text), "{}", static_cast<double>(number));
      continue;
    }
    const bool is_minus_zero = number == 0 && std::signbit(number);
    fmt::format_to(std::back_inserter(text), "{}{}", number, is_minus_zero ? ".0" : "");
  }
  return text + "]";
}

template <class Scalar>
std::vector<Scalar> read_numbers(const JsonCursor& json, std::size_t count) {
  const std::vector<JsonCursor> elements = json.elements();
  if (elements.size() != count) {
    json.fail(fmt::format("expected {} numbers, found {}", count, elements.size()));
  }
  // The largest float in few digits is a little more than it is, and is rounded to it.
  constexpr double kMost =
      std::is_same_v<Scalar, float> ? 0x1.fffffefp127 : std::numeric_limits<double>::max();
  std::vector<Scalar> numbers;
  numbers.reserve(count);
  for (const JsonCursor& element : elements) {
    numbers.push_back(static_cast<Scalar>(element.number(-kMost, kMost)));
  }
  return numbers;
}

template std::string write_numbers(std::span<const float>);
template std::string write_numbers(std::span<const double>);
template std::vector<float> read_numbers(const JsonCursor&, std::size_t);
template std::vector<double> read_numbers(const JsonCursor&, std::size_t);

}  // namespace emplace::agents::nn
