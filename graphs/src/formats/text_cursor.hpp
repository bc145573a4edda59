#pragma once

// Walks over a text file and knows the line, for readers of formats that are no JSON. Errors read
// "graph.dot:12: expected ...". Text that is not UTF-8 or has control characters is refused at
// once, so that no binary file is taken for text.

#include <cstddef>
#include <string>
#include <string_view>

namespace emplace {

/// Points at a place in a text.
class TextCursor {
 public:
  /// Points at the beginning of `text`; `source` is its name in errors. Neither is copied.
  TextCursor(std::string_view text, const std::string& source);

  /// Says whether the text is used up.
  bool at_end() const { return rest_.empty(); }

  /// Returns what is left.
  std::string_view rest() const { return rest_; }

  /// Returns the next letter, or NUL at the end.
  char peek() const { return rest_.empty() ? '\0' : rest_.front(); }

  /// Moves on by `count` letters and returns them. Requires: so many are left.
  std::string_view take(std::size_t count);

  /// Moves on by `word` if it comes next, and says whether it did.
  bool take_if(std::string_view word);

  /// Moves to behind the next `word` and returns what stands before it; fails if there is none.
  std::string_view take_until(std::string_view word);

  /// Moves behind blanks, tabs and line ends.
  void skip_blanks();

  /// Returns the line, counted from 1.
  std::size_t line() const { return line_; }

  /// Throws kFormat: "<source>:<line>: <message>".
  [[noreturn]] void fail(std::string_view message) const;

  /// Throws kFormat: "<source>:<line>: expected <what>, found <what comes next>".
  [[noreturn]] void fail_expected(std::string_view what) const;

 private:
  std::string_view rest_;
  const std::string* source_;
  std::size_t line_ = 1;
};

/// Returns "<source>:<line>".
std::string place_of(const std::string& source, std::size_t line);

}  // namespace emplace
