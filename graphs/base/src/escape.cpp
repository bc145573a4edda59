#include <emplace/base/escape.hpp>
#include <emplace/base/utf8.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <utility>

namespace emplace {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// First and last characters of ranges beyond ASCII, as UTF-8, whose order is that of their numbers.
constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kSteering = {{
    {"\u0080", "\u009f"},
    {"\u061c", "\u061c"},          // Arabic letter mark
    {"\u200b", "\u200b"},          // a space of no width
    {"\u200e", "\u200f"},          // marks of direction
    {"\u2028", "\u202e"},          // new lines; embeddings and overrides of direction
    {"\u2060", "\u206f"},          // invisible operators, isolates of direction
    {"\ufeff", "\ufeff"},          // byte order mark
    {"\ufff9", "\uffff"},          // annotations, and what is no character
    {"\U000e0000", "\U000e0fff"},  // tags, which are invisible
}};

bool steers(std::string_view letter) {
  if (letter.size() == 1) {
    const auto byte = static_cast<unsigned char>(letter[0]);
    return byte < 0x20 || byte >= 0x7F;  // what is not ASCII has several bytes
  }
  return letter != kReplacement && letter != "\ufffc" &&
         std::ranges::any_of(kSteering, [&](const auto& range) {
           return letter >= range.first && letter <= range.second;
         });
}

// Appends each character that steers nothing by `write`, and `instead` for all others.
template <class Write>
std::string translated(std::string_view text, bool keeps_lines, std::string_view instead,
                       Write write) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const std::string_view letter = text.substr(0, std::max<std::size_t>(length, 1));
    text.remove_prefix(letter.size());
    const bool is_kept = keeps_lines && letter == "\n";
    if (!is_kept && (length == 0 || steers(letter))) {
      result += instead;
    } else {
      write(result, letter);
    }
  }
  return result;
}

void append(std::string& result, std::string_view letter) { result += letter; }

// Returns the number of a character.
std::uint32_t number_of(std::string_view letter) {
  if (letter.size() == 1) {
    return static_cast<unsigned char>(letter[0]);
  }
  std::uint32_t number = static_cast<unsigned char>(letter[0]) & (0x7FU >> letter.size());
  for (const char byte : letter.substr(1)) {
    number = number << 6U | (static_cast<unsigned char>(byte) & 0x3FU);
  }
  return number;
}

}  // namespace

std::string escape_terminal(std::string_view text) { return translated(text, false, "?", append); }

std::string escape_terminal_lines(std::string_view text) {
  return translated(text, true, "?", append);
}

std::string escape_markdown(std::string_view text) {
  return translated(text, false, "?", [](std::string& result, std::string_view letter) {
    if (std::string_view("\\`*_[]<>|").find(letter) != std::string_view::npos) {
      result += '\\';
    }
    result += letter;
  });
}

std::string escape_latex(std::string_view text) {
  return translated(text, false, "?", [](std::string& result, std::string_view letter) {
    switch (letter[0]) {
      case '&':
      case '%':
      case '$':
      case '#':
      case '_':
      case '{':
      case '}':
        result += '\\';
        result += letter;
        break;
      case '\\':
        result += "\\textbackslash{}";
        break;
      case '~':
        result += "\\textasciitilde{}";
        break;
      case '^':
        result += "\\textasciicircum{}";
        break;
      case '<':
        result += "\\textless{}";
        break;
      case '>':
        result += "\\textgreater{}";
        break;
      case '|':
        result += "\\textbar{}";
        break;
      case '"':
        result += "''";
        break;
      case '-':  // two of them would join to a dash
        result += result.ends_with('-') ? "{}-" : "-";
        break;
      default:
        result += letter;
    }
  });
}

std::string escape_csv(std::string_view text) {
  std::string field = escape_terminal_lines(text);
  if (!field.empty() && std::string_view("=+-@").find(field[0]) != std::string_view::npos) {
    field.insert(0, 1, '\'');
  }
  if (field.find_first_of(",\"\n") == std::string::npos) {
    return field;
  }
  std::string quoted = "\"";
  for (const char letter : field) {
    quoted.append(letter == '"' ? 2 : 1, letter);
  }
  return quoted + '"';
}

std::string escape_markup(std::string_view text) {
  return translated(text, false, kReplacement, [](std::string& result, std::string_view letter) {
    switch (letter[0]) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        result += letter;
    }
  });
}

// New lines stand between members, and never in a string.
std::string escape_json(std::string_view json) {
  std::string escaped;
  while (!json.empty()) {
    const std::string_view letter = json.substr(0, std::max<std::size_t>(utf8_length(json), 1));
    json.remove_prefix(letter.size());
    if (letter == "\n" || !steers(letter)) {
      escaped += letter;
      continue;
    }
    std::uint32_t number = number_of(letter);
    if (number > 0xFFFF) {  // in two halves, as UTF-16 has it
      number -= 0x10000;
      fmt::format_to(std::back_inserter(escaped), "\\u{:04x}", 0xD800 | number >> 10U);
      number = 0xDC00 | (number & 0x3FFU);
    }
    fmt::format_to(std::back_inserter(escaped), "\\u{:04x}", number);
  }
  return escaped;
}

std::string escape_shell(std::string_view text) {
  const auto is_plain = [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9') ||
           std::string_view("%+,-./:=@_").find(letter) != std::string_view::npos;
  };
  if (!text.empty() && std::ranges::all_of(text, is_plain)) {
    return std::string(text);
  }
  std::string quoted = "'";
  for (const char letter : text) {
    quoted += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  }
  return quoted + "'";
}

std::string without_forbidden_characters(std::string_view text) {
  std::string clean;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const auto first = static_cast<unsigned char>(text.front());
    const std::string_view letter = text.substr(0, std::max<std::size_t>(length, 1));
    const bool is_control = first < 0x20 && first != '\t' && first != '\n' && first != '\r';
    const bool is_no_character = letter == "\xEF\xBF\xBE" || letter == "\xEF\xBF\xBF";
    clean += length == 0 || is_control || is_no_character ? kReplacement : letter;
    text.remove_prefix(letter.size());
  }
  return clean;
}

std::string escape_dot(std::string_view text) {
  std::string escaped;
  for (const char letter : without_forbidden_characters(text)) {
    switch (letter) {
      case '"':
        escaped += "\\\"";
        break;
      case '\\':
        escaped += "\\\\";
        break;
      case '\n':
        escaped += "\\n";
        break;
      default:
        escaped += letter;
    }
  }
  return escaped;
}

}  // namespace emplace
