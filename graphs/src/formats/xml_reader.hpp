#pragma once

// Reads XML with expat, one tag at a time and without a tree, for GraphML. A document type is
// skipped, and refused if it declares anything, so that a short file cannot become a long one.

#include <expat.h>

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace emplace {

/// Walks over an XML document; what a tag means is for a derived class to say.
class XmlReader {
 public:
  XmlReader(const XmlReader&) = delete;  // expat knows where it is
  XmlReader& operator=(const XmlReader&) = delete;
  virtual ~XmlReader() = default;

 protected:
  /// Makes a reader of one document; `source` is its name in errors and is not copied.
  explicit XmlReader(const std::string& source);

  /// Calls start() and end() in the order of the tags; an element without content has both. Throws
  /// what they throw, and kFormat for what is not well-formed.
  void read(std::string_view text);

  /// Returns the text that stands between the last tag and this one.
  const std::string& text() const { return text_; }

  /// Returns an attribute of the element that starts, if it has it.
  std::optional<std::string> attribute(std::string_view name) const;

  /// Returns an attribute of the element that starts; fails if it has none of that name.
  std::string required_attribute(std::string_view name) const;

  /// Returns the line of the tag.
  std::size_t line() const { return XML_GetCurrentLineNumber(parser_.get()); }

  /// Throws kFormat at the line of the tag.
  [[noreturn]] void fail(std::string_view message) const;

 private:
  virtual void start(std::string_view name) = 0;  // without the prefix of its namespace
  virtual void end(std::string_view name) = 0;

  template <typename Step>
  void keep_error(Step step);

  const std::string* source_;
  std::unique_ptr<XML_ParserStruct, decltype(&XML_ParserFree)> parser_;
  std::string text_;
  std::string_view name_;                  // of the element that starts
  const XML_Char** attributes_ = nullptr;  // name, value, name, value, ..., nullptr
  std::exception_ptr error_;
};

}  // namespace emplace
