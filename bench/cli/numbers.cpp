#include "numbers.hpp"

#include <emplace/base/error.hpp>

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace emplace::cli {
namespace {

// Reads all of `text`, or nothing.
template <class Number>
std::optional<Number> read_number(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

std::optional<std::int64_t> read_whole_number(std::string_view text) {
  if (const auto number = read_number<std::int64_t>(text)) {
    return number;
  }
  constexpr double kMostExact = 9007199254740992;  // 2^53: all whole numbers up to it are doubles
  const auto number = read_number<double>(text);
  return number && text.find_first_of("eE") != std::string_view::npos &&
                 std::abs(*number) <= kMostExact && std::trunc(*number) == *number
             ? std::optional(static_cast<std::int64_t>(*number))
             : std::nullopt;
}

std::optional<double> read_seconds(std::string_view text) {
  double unit_s = 1;
  if (!text.empty()) {
    const char unit = text.back();
    unit_s = unit == 'h' ? 3600 : unit == 'm' ? 60 : 1;
    text.remove_suffix(unit == 'h' || unit == 'm' || unit == 's' ? 1 : 0);
  }
  const auto number = read_number<double>(text);
  return number ? std::optional(*number * unit_s) : std::nullopt;
}

}  // namespace

CLI::Validator whole_number_from(std::int64_t least, std::int64_t most) {
  return {[least, most](std::string& text) -> std::string {
            const auto number = read_whole_number(text);
            if (!number || *number < least || *number > most) {
              constexpr std::int64_t kLong = 10'000;
              return fmt::format("expected a whole number from {} to {}{}, found '{}'", least, most,
                                 most >= kLong ? ", such as 10000 or 1e4" : "", excerpt(text));
            }
            text = std::to_string(*number);
            return "";
          },
          ""};
}

CLI::Validator duration(bool zero_too) {
  return {[zero_too](std::string& text) -> std::string {
            const auto seconds = read_seconds(text);
            const bool is_valid =
                seconds && *seconds <= kMaxDurationS && (zero_too ? *seconds >= 0 : *seconds > 0);
            if (!is_valid) {
              return fmt::format(
                  "expected a time {}, such as 90 (seconds), 90s, 2m or 1h, found '{}'",
                  zero_too ? "of at least 0" : "above 0", excerpt(text));
            }
            text = fmt::format("{}", *seconds);
            return "";
          },
          ""};
}

}  // namespace emplace::cli
