#include "text_cursor.hpp"

#include <emplace/base/error.hpp>
#include <emplace/base/utf8.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace emplace {

TextCursor::TextCursor(std::string_view text, const std::string& source)
    : rest_(text), source_(&source) {
  take_if("\xEF\xBB\xBF");
  TextCursor scan = *this;  // for the line of a mistake
  while (!scan.at_end()) {
    const std::size_t length = utf8_length(scan.rest_);
    const auto first = static_cast<unsigned char>(scan.peek());
    if (length == 0 || (first < 0x20 && first != '\t' && first != '\n' && first != '\r')) {
      scan.fail(fmt::format("expected text in UTF-8, found the byte 0x{:02x}", first));
    }
    scan.take(length);
  }
}

std::string_view TextCursor::take(std::size_t count) {
  const std::string_view taken = rest_.substr(0, count);
  line_ += static_cast<std::size_t>(std::ranges::count(taken, '\n'));
  rest_.remove_prefix(count);
  return taken;
}

bool TextCursor::take_if(std::string_view word) {
  if (!rest_.starts_with(word)) {
    return false;
  }
  take(word.size());
  return true;
}

std::string_view TextCursor::take_until(std::string_view word) {
  const std::size_t end = rest_.find(word);
  if (end == std::string_view::npos) {
    fail(fmt::format("expected '{}' further on", word));
  }
  const std::string_view before = take(end);
  take(word.size());
  return before;
}

void TextCursor::skip_blanks() { take(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size())); }

void TextCursor::fail(std::string_view message) const {
  throw Error(ErrorCode::kFormat, fmt::format("{}: {}", place_of(*source_, line_), message));
}

void TextCursor::fail_expected(std::string_view what) const {
  const std::string_view next = rest_.substr(0, std::min<std::size_t>(rest_.find('\n'), 40));
  fail(fmt::format("expected {}, found {}", what,
                   at_end()       ? "the end of the file"
                   : next.empty() ? "the end of the line"
                                  : fmt::format("'{}'", excerpt(next, 40))));
}

std::string place_of(const std::string& source, std::size_t line) {
  return fmt::format("{}:{}", source, line);
}

}  // namespace emplace
