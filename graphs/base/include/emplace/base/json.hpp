#pragma once

// JSON to write, as a value that is its own compact text. Building a value appends to a string;
// nothing is kept as a tree, so a member cannot be changed once it is there. Values nest in braces
// as they do in JSON:
//     Json json = {{"agent", row.agent}, {"interval_us", Json::array({low, high})}};
//     json.add("message", message);
//     write_text_file(path, json.indented(2) + "\n");
// It replaces nlohmann::ordered_json where JSON is only written, because those templates took 30 %
// of the build time. JsonCursor reads. Thread-safety: that of std::string.

#include <emplace/base/ids.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace emplace {

/// Returns `text` as a JSON string, quoted and escaped; bytes that are not UTF-8 become U+FFFD.
std::string json_text(std::string_view text);

/// A JSON value, as text.
class Json {
 public:
  struct Member;

  /// Make null, a truth value, a number or a text. A double becomes the shortest text that is read
  /// back as the same value, or null if it is not finite.
  // NOLINTBEGIN(google-explicit-constructor): braces nest values as in JSON.
  Json(std::nullptr_t = nullptr) : text_("null") {}
  template <typename Kind>
  Json(Id<Kind> id) : Json(std::int32_t{id}) {}
  template <std::integral Number>
  Json(Number value) {
    if constexpr (std::same_as<Number, bool>) {
      text_ = value ? "true" : "false";
    } else {
      text_ = std::to_string(value);
    }
  }
  Json(double value);
  Json(std::string_view text) : text_(json_text(text)) {}
  Json(const std::string& text) : text_(json_text(text)) {}
  Json(const char* text) : text_(json_text(text)) {}

  /// The value, or null if there is none.
  template <class Value>
  Json(const std::optional<Value>& value) : Json(value ? Json(*value) : Json()) {}

  /// An array of the values.
  template <std::ranges::input_range Values>
    requires(!std::convertible_to<const Values&, std::string_view>)
  Json(const Values& values) : text_("[]") {
    for (const auto& value : values) {
      push_back(value);
    }
  }

  /// An object of the members, in this order.
  Json(std::initializer_list<Member> members);
  // NOLINTEND(google-explicit-constructor)

  /// Returns an object without members, an array of `values`.
  static Json object() { return of_text("{}"); }
  static Json array(std::initializer_list<Json> values = {});

  /// Returns the value that `text` is, which must be valid JSON.
  static Json of_text(std::string_view text);

  /// Adds a member to this object. Requires: it has none of that name.
  Json& add(std::string_view key, const Json& value);

  /// Adds the members of `object` to this object. Requires: it has none of their names.
  Json& add_all(const Json& object);

  /// Adds a value to the end of this array.
  void push_back(const Json& value);

  /// Returns whether this is null, or an empty object or array.
  bool empty() const { return text_ == "null" || text_ == "[]" || text_ == "{}"; }

  /// Returns the compact text: {"a":1,"b":[2,3]}.
  const std::string& text() const& { return text_; }
  std::string text() && { return std::move(text_); }

  /// Returns the text with each member and value on a line of its own.
  std::string indented(int spaces) const;

  /// Returns the text for people to read, with a newline at its end: a value that contains no
  /// object is one line, so that a profile has one measurement, link or roofline per line. Numbers
  /// are written as fmt does: 5, not 5.0.
  std::string laid_out() const;

 private:
  std::string text_;
};

/// A member of an object.
struct Json::Member {
  std::string_view key;
  Json value;
};

/// An object of arrays, filled row by row: {"start":[1,2],"end":[3,4]}.
class JsonColumns {
 public:
  JsonColumns() = default;

  /// Makes these columns, in this order, even if there are no rows.
  JsonColumns(std::initializer_list<std::string_view> names);

  /// Returns the array of that name, which is new and empty at its first use.
  Json& operator[](std::string_view name);

  /// Returns the object, null without columns.
  Json json() const;

 private:
  std::vector<std::pair<std::string, Json>> columns_;
};

}  // namespace emplace
