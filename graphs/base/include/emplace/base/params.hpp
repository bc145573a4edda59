#pragma once

// Parameters of graphs and agents. One table of ParamSpec is the single source for the command
// line, suite files, listings and checks. A user writes `name:key=value,key=value`, for example
// `inception-v3:batch=32,auxiliary=true`; that text is a Spec, and resolving it against a table
// gives Params, in which every parameter has a value of its type and within its bounds.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace emplace {

/// The value of one parameter.
using ParamValue = std::variant<bool, std::int64_t, double, std::string>;

/// Describes one parameter: what it is called, what it is by default and what it may be.
struct ParamSpec {
  std::string name{};                  ///< as users type it
  ParamValue default_value{};          ///< its type is the parameter's type
  double min = 0;                      ///< least value of a number
  double max = 0;                      ///< largest value of a number
  std::vector<std::string> choices{};  ///< what a text may be
  std::string summary{};               ///< one line, with the unit
  std::string group{};  ///< what it affects ("network"); listings keep groups together
  bool expert = false;  ///< few users need it, so listings show it last
};

/// Describes a whole number from `min` to `max`, by default `value`.
ParamSpec whole_number(std::string name, std::int64_t value, std::int64_t min, std::int64_t max,
                       std::string summary);

/// A value for each parameter of one table.
class Params {
 public:
  /// Returns the value of `name`. Requires: the table has `name` with type T (bool, std::int64_t,
  /// double or std::string).
  template <class T>
  const T& get(std::string_view name) const {
    return std::get<T>(value(name));
  }

  /// Returns the values by name.
  const std::map<std::string, ParamValue, std::less<>>& values() const { return values_; }

  /// Sets `name` to `value`.
  void set(std::string name, ParamValue value) { values_[std::move(name)] = std::move(value); }

 private:
  const ParamValue& value(std::string_view name) const;

  std::map<std::string, ParamValue, std::less<>> values_;
};

/// A name with the parameters that a user wrote after it.
struct Spec {
  std::string name{};
  std::vector<std::pair<std::string, std::string>> given{};

  /// Reads `name:key=value,key=value`; throws kUsage where a key or a value is missing or a key
  /// appears twice.
  static Spec parse(std::string_view text);

  /// Gives `key` this value, in place of one that it has, or behind the others.
  void set(const std::string& key, std::string value);

  /// Returns `name:key=value,key=value`, or the name alone.
  std::string text() const;
};

/// Returns the table's defaults, replaced by the values in `spec`. `what` is for errors: "agent
/// hill-climb". Throws kUsage for an unknown parameter, a wrong type or a value out of bounds.
Params resolve_params(std::span<const ParamSpec> table, const Spec& spec, std::string_view what);

/// Returns `value` as a user would write it.
std::string to_string(const ParamValue& value);

}  // namespace emplace
