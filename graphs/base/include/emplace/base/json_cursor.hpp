#pragma once

// Reads JSON so that a mistake in it is reported with file, JSON pointer and what was expected:
//     cluster.json: /devices/2/profile: expected a text, found the number 7
// A JsonDocument owns the parsed text; a JsonCursor is one value in it and must not outlive it.
// Duplicate members, unknown members, NaN, text that is not UTF-8 and numbers out of range are all
// refused.

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace emplace {

class JsonDocument;

/// Points at one value of a JSON document, and knows its place.
class JsonCursor {
 public:
  /// Points at `value`, which is at `pointer` in `source` (a file name, for errors).
  JsonCursor(const nlohmann::json& value, std::string_view source, std::string pointer)
      : value_(&value), source_(source), pointer_(std::move(pointer)) {}

  /// Returns the member `key` of this object; fails if this is not an object or has no such member.
  JsonCursor at(std::string_view key) const;

  /// Returns the member `key`, or nothing if this object has none.
  std::optional<JsonCursor> find(std::string_view key) const;

  /// Returns the member `key`, or the one that earlier files have instead.
  std::optional<JsonCursor> find(std::string_view key, std::string_view former_key) const;

  /// Returns the elements of this array in order; fails if it is not an array.
  std::vector<JsonCursor> elements() const;

  /// Returns the members of this object, sorted by name; fails if it is not an object.
  std::vector<std::pair<std::string, JsonCursor>> members() const;

  /// Fails if this is not an object or has a member not among `keys`, naming the nearest of them.
  void expect_only(std::span<const std::string_view> keys) const;
  void expect_only(std::initializer_list<std::string_view> keys) const {
    expect_only(std::span(keys.begin(), keys.size()));
  }

  /// Fails unless this object has `"schema": schema` and a `"version"` from 1 to `version`.
  void expect_schema(std::string_view schema, std::int64_t version) const;

  /// Returns this text; fails for anything else.
  std::string text() const;

  /// Returns this text; also fails if it is empty.
  std::string non_empty_text() const;

  /// Returns the index of this text among `choices`; fails if it is none of them.
  std::size_t one_of(std::span<const std::string_view> choices) const;

  /// Returns this finite number within [min, max].
  double number(double min, double max) const;

  /// Returns this whole number within [min, max].
  std::int64_t integer(std::int64_t min = std::numeric_limits<std::int64_t>::min(),
                       std::int64_t max = std::numeric_limits<std::int64_t>::max()) const;

  /// Returns this truth value.
  bool boolean() const;

  /// Returns a separate document with a copy of this value, which names the same place in errors.
  JsonDocument copy() const;

  /// Returns whether this is an array, an object, a text, a truth value, a whole number written
  /// without a point, null.
  bool is_array() const;
  bool is_object() const;
  bool is_text() const;
  bool is_boolean() const;
  bool is_integer() const;
  bool is_null() const;

  /// Throws kFormat: "<source>: <pointer>: <message>".
  [[noreturn]] void fail(std::string_view message) const;

 private:
  [[noreturn]] void fail_expected(std::string_view expected) const;

  const nlohmann::json* value_;
  std::string_view source_;
  std::string pointer_;
};

/// Owns a parsed JSON value.
class JsonDocument {
 public:
  /// Parses `text`; `source` is its name in errors. Throws kFormat with line and column if it is
  /// not JSON in UTF-8, or has a duplicate member, a number that no double can represent, or more
  /// than 64 levels.
  static JsonDocument parse(std::string_view text, std::string source);

  /// Reads and parses the file `path` ("-": standard input).
  static JsonDocument read(const std::string& path);

  JsonDocument(JsonDocument&&) noexcept;
  JsonDocument& operator=(JsonDocument&&) noexcept;
  ~JsonDocument();

  /// Returns a cursor at the whole value.
  JsonCursor root() const;

 private:
  friend class JsonCursor;
  struct Place;

  JsonDocument(nlohmann::json value, Place place);

  // On the heap, so that cursors still point at them when the document is moved.
  std::unique_ptr<nlohmann::json> value_;
  std::unique_ptr<Place> place_;
};

/// Returns the names of the members of the object `text`, in order, up to the first mistake in it;
/// nothing if it is not an object.
std::vector<std::string> json_root_members(std::string_view text);

}  // namespace emplace
