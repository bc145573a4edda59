#pragma once

// Reads XML one tag at a time, without a tree, for GraphML: tags with attributes, text, comments,
// CDATA, the five predefined entities and character references. A document type is skipped, and
// refused if it declares entities, so that a short file cannot become a long one.

#include "text_cursor.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace emplace {

/// Walks over an XML document.
class XmlReader {
 public:
  /// Says what next() found.
  enum class Event { kStart, kEnd, kDone };

  /// Reads `text`; `source` is its name in errors. Neither is copied.
  XmlReader(std::string_view text, const std::string& source);

  /// Moves to the next tag and returns whether it starts or ends an element; an element without
  /// content has both. kDone is behind the root. Throws kFormat for what is not well-formed.
  Event next();

  /// Returns the name of the element that starts or ends, without the prefix of its namespace.
  std::string_view name() const { return name_; }

  /// Returns the text that stands between the last tag and this one.
  const std::string& text() const { return text_; }

  /// Returns an attribute of the element that starts, if it has it.
  std::optional<std::string> attribute(std::string_view name) const;

  /// Returns an attribute of the element that starts; fails if it has none of that name.
  std::string required_attribute(std::string_view name) const;

  /// Returns the line of the tag.
  std::size_t line() const { return line_; }

  /// Throws kFormat at the line of the tag.
  [[noreturn]] void fail(std::string_view message) const;

 private:
  Event read_start();
  Event read_end();
  void read_text();
  void skip_document_type();
  std::string_view take_name();
  std::string take_value();
  std::string decoded(std::string_view text) const;

  TextCursor cursor_;
  const std::string* source_;
  std::size_t line_ = 1;
  std::vector<std::string_view> open_;
  std::string_view name_;
  std::string text_;
  std::vector<std::pair<std::string_view, std::string>> attributes_;
  bool is_empty_ = false;  // the element that started has no content
  bool has_root_ = false;
};

}  // namespace emplace
