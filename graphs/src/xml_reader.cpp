#include "xml_reader.hpp"

#include <emplace/graphs/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

namespace emplace {
namespace {

constexpr std::size_t kMaxDepth = 64;

bool is_name_letter(char c) {
  constexpr std::string_view kOthers = "_:-.";
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         (c & 0x80) != 0 || kOthers.find(c) != std::string_view::npos;
}

std::string_view without_prefix(std::string_view name) {
  return name.substr(name.find(':') == std::string_view::npos ? 0 : name.find(':') + 1);
}

// Returns the character `code` in UTF-8; nothing if XML has no such character.
std::string utf8_of(std::uint32_t code) {
  const auto byte = [](std::uint32_t bits) { return static_cast<char>(bits); };
  const bool is_control = code < 0x20 && code != '\t' && code != '\n' && code != '\r';
  if (is_control || (code >= 0xD800 && code < 0xE000) || code == 0xFFFE || code == 0xFFFF ||
      code > 0x10FFFF) {
    return "";
  }
  if (code < 0x80) {
    return {byte(code)};
  }
  if (code < 0x800) {
    return {byte(0xC0 | code >> 6), byte(0x80 | (code & 0x3F))};
  }
  if (code < 0x10000) {
    return {byte(0xE0 | code >> 12), byte(0x80 | (code >> 6 & 0x3F)), byte(0x80 | (code & 0x3F))};
  }
  return {byte(0xF0 | code >> 18), byte(0x80 | (code >> 12 & 0x3F)),
          byte(0x80 | (code >> 6 & 0x3F)), byte(0x80 | (code & 0x3F))};
}

}  // namespace

XmlReader::XmlReader(std::string_view text, const std::string& source)
    : cursor_(text, source), source_(&source) {}

XmlReader::Event XmlReader::next() {
  if (is_empty_) {
    is_empty_ = false;
    open_.pop_back();
    text_.clear();
    return Event::kEnd;
  }
  attributes_.clear();
  read_text();
  line_ = cursor_.line();
  if (cursor_.at_end()) {
    if (!open_.empty() || !has_root_) {
      cursor_.fail_expected(open_.empty() ? "an element" : fmt::format("'</{}>'", open_.back()));
    }
    return Event::kDone;
  }
  return cursor_.take_if("</") ? read_end() : read_start();
}

std::optional<std::string> XmlReader::attribute(std::string_view name) const {
  const auto found = std::ranges::find(attributes_, name, [](const auto& a) { return a.first; });
  return found == attributes_.end() ? std::nullopt : std::optional(found->second);
}

std::string XmlReader::required_attribute(std::string_view name) const {
  std::optional<std::string> value = attribute(name);
  if (!value) {
    fail(fmt::format("expected an attribute '{}' of <{}>", name, name_));
  }
  return *std::move(value);
}

void XmlReader::fail(std::string_view message) const {
  throw Error(ErrorCode::kFormat, fmt::format("{}: {}", place_of(*source_, line_), message));
}

XmlReader::Event XmlReader::read_start() {
  cursor_.take(1);
  if (open_.empty() && has_root_) {
    fail("expected the end of the file, found another element");
  }
  if (open_.size() == kMaxDepth) {
    fail(fmt::format("nested more than {} levels deep", kMaxDepth));
  }
  has_root_ = true;
  open_.push_back(take_name());
  name_ = without_prefix(open_.back());
  for (cursor_.skip_blanks(); !cursor_.take_if(">"); cursor_.skip_blanks()) {
    if (cursor_.take_if("/>")) {
      is_empty_ = true;
      break;
    }
    const std::string_view name = take_name();
    if (attribute(name)) {
      fail(fmt::format("the attribute '{}' comes twice", name));
    }
    cursor_.skip_blanks();
    if (!cursor_.take_if("=")) {
      cursor_.fail_expected("'='");
    }
    cursor_.skip_blanks();
    attributes_.emplace_back(name, take_value());
  }
  return Event::kStart;
}

XmlReader::Event XmlReader::read_end() {
  const std::string_view name = take_name();
  cursor_.skip_blanks();
  if (!cursor_.take_if(">")) {
    cursor_.fail_expected("'>'");
  }
  if (open_.empty() || open_.back() != name) {
    fail(fmt::format("expected {}, found '</{}>'",
                     open_.empty() ? "an element" : fmt::format("'</{}>'", open_.back()),
                     excerpt(name)));
  }
  name_ = without_prefix(name);
  open_.pop_back();
  return Event::kEnd;
}

// Collects text up to the next tag.
void XmlReader::read_text() {
  text_.clear();
  while (!cursor_.at_end()) {
    if (cursor_.take_if("<!--")) {
      cursor_.take_until("-->");
    } else if (cursor_.take_if("<![CDATA[")) {
      text_ += cursor_.take_until("]]>");
    } else if (cursor_.take_if("<?")) {
      cursor_.take_until("?>");
    } else if (cursor_.take_if("<!DOCTYPE")) {
      skip_document_type();
    } else if (cursor_.peek() == '<') {
      return;
    } else {
      line_ = cursor_.line();
      text_ += decoded(cursor_.take(std::min(cursor_.rest().find('<'), cursor_.rest().size())));
      if (open_.empty() && text_.find_first_not_of(" \t\r\n") != std::string::npos) {
        fail("expected an element, found text outside of one");
      }
    }
  }
}

void XmlReader::skip_document_type() {
  line_ = cursor_.line();
  if (cursor_.take_until(">").find('[') != std::string_view::npos) {
    fail("a document type with declarations of its own is not supported");
  }
}

std::string_view XmlReader::take_name() {
  const std::string_view rest = cursor_.rest();
  const auto length =
      static_cast<std::size_t>(std::ranges::find_if_not(rest, is_name_letter) - rest.begin());
  if (length == 0) {
    cursor_.fail_expected("a name");
  }
  return cursor_.take(length);
}

std::string XmlReader::take_value() {
  const char quote = cursor_.peek();
  if (quote != '"' && quote != '\'') {
    cursor_.fail_expected("a value in quotes");
  }
  cursor_.take(1);
  return decoded(cursor_.take_until({&quote, 1}));
}

// Puts characters in the place of entities.
std::string XmlReader::decoded(std::string_view text) const {
  constexpr std::array<std::pair<std::string_view, char>, 5> kEntities = {
      {{"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}}};
  std::string plain;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t mark = std::min(text.find('&', begin), text.size());
    plain += text.substr(begin, mark - begin);
    if (mark == text.size()) {
      break;
    }
    const std::size_t end = std::min(text.find(';', mark), text.size());
    const std::string_view name = text.substr(mark + 1, end - mark - 1);
    const auto entity = std::ranges::find(kEntities, name, [](const auto& e) { return e.first; });
    if (entity != kEntities.end()) {
      plain += entity->second;
    } else {
      const bool is_hexadecimal = name.starts_with("#x");
      const std::string_view digits =
          name.substr(std::min<std::size_t>(is_hexadecimal ? 2 : 1, name.size()));
      std::uint32_t code = 0;
      const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code,
                                                 is_hexadecimal ? 16 : 10);
      const bool is_number = name.starts_with('#') && error == std::errc() && !digits.empty() &&
                             stop == digits.data() + digits.size();
      const std::string character = is_number ? utf8_of(code) : "";
      if (character.empty()) {
        fail(fmt::format("expected a character reference, found '&{};'", excerpt(name, 20)));
      }
      plain += character;
    }
    begin = end + 1;
  }
  return plain;
}

}  // namespace emplace
