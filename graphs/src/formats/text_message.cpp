#include "text_message.hpp"

#include <algorithm>
#include <cstddef>

namespace emplace {
namespace {

// Files are told by what they begin with.
constexpr std::size_t kMaxBytes = 1 << 16;
constexpr std::size_t kMaxFields = 20;

constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::string_view kNameLetters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

bool is_letter(char letter) {
  return kNameLetters.substr(0, 52).find(letter) != std::string_view::npos;
}

std::size_t end_of(std::string_view text, std::size_t begin, std::string_view letters) {
  return std::min(text.find_first_not_of(letters, begin), text.size());
}

// Returns the place behind the quoted string that begins at `at`.
std::size_t behind_string(std::string_view text, std::size_t at) {
  const char quote = text[at];
  for (++at; at < text.size() && text[at] != quote; ++at) {
    at += text[at] == '\\' ? 1 : 0;
  }
  return at + 1;
}

bool is_text_message(std::string_view text) {
  return std::ranges::none_of(text, [](unsigned char byte) {
    return byte < ' ' && kBlanks.find(static_cast<char>(byte)) == std::string_view::npos;
  });
}

}  // namespace

std::vector<std::string_view> text_message_fields(std::string_view bytes) {
  const std::string_view text = bytes.substr(0, kMaxBytes);
  std::vector<std::string_view> fields;
  if (!is_text_message(text)) {
    return fields;
  }
  int depth = 0;
  for (std::size_t at = 0; at < text.size() && fields.size() < kMaxFields;) {
    const char letter = text[at];
    if (letter == '#') {
      at = std::min(text.find('\n', at), text.size());
    } else if (letter == '"' || letter == '\'') {
      at = behind_string(text, at);
    } else if (is_letter(letter)) {
      const std::size_t end = end_of(text, at, kNameLetters);
      const std::size_t next = end_of(text, end, kBlanks);
      const std::string_view name = text.substr(at, end - at);
      const bool is_field = next < text.size() && (text[next] == ':' || text[next] == '{');
      if (depth == 0 && is_field && std::ranges::find(fields, name) == fields.end()) {
        fields.push_back(name);
      } else if (fields.empty()) {
        return fields;
      }
      at = end;
    } else if (depth == 0 && fields.empty() && kBlanks.find(letter) == std::string_view::npos) {
      return fields;  // another language
    } else {
      depth += letter == '{' || letter == '[' ? 1 : letter == '}' || letter == ']' ? -1 : 0;
      ++at;
    }
  }
  return fields;
}

}  // namespace emplace
