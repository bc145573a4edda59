#include <emplace/base/check.hpp>
#include <emplace/base/error.hpp>
#include <emplace/base/params.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

namespace emplace {
namespace {

// Reads all of `text` as a number, or nothing.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

bool within(const ParamSpec& spec, double number) {
  return std::isfinite(number) && number >= spec.min && number <= spec.max;
}

// Says what a value of the parameter may be.
std::string expectation(const ParamSpec& spec) {
  if (std::holds_alternative<bool>(spec.default_value)) {
    return "true or false";
  }
  if (std::holds_alternative<std::string>(spec.default_value)) {
    return fmt::format("one of '{}'", fmt::join(spec.choices, "', '"));
  }
  return fmt::format("a {} from {} to {}",
                     std::holds_alternative<double>(spec.default_value) ? "number" : "whole number",
                     spec.min, spec.max);
}

// Reads a value of the parameter's type within its bounds, or nothing.
std::optional<ParamValue> parse_value(const ParamSpec& spec, const std::string& text) {
  if (std::holds_alternative<bool>(spec.default_value)) {
    if (text == "true" || text == "false") {
      return text == "true";
    }
  } else if (std::holds_alternative<std::int64_t>(spec.default_value)) {
    const auto number = parse_number<std::int64_t>(text);
    if (number && within(spec, static_cast<double>(*number))) {
      return *number;
    }
  } else if (std::holds_alternative<double>(spec.default_value)) {
    const auto number = parse_number<double>(text);
    if (number && within(spec, *number)) {
      return *number;
    }
  } else if (spec.choices.empty() ||
             std::find(spec.choices.begin(), spec.choices.end(), text) != spec.choices.end()) {
    return text;
  }
  return std::nullopt;
}

}  // namespace

ParamSpec whole_number(std::string name, std::int64_t value, std::int64_t min, std::int64_t max,
                       std::string summary) {
  return {.name = std::move(name),
          .default_value = value,
          .min = static_cast<double>(min),
          .max = static_cast<double>(max),
          .summary = std::move(summary)};
}

const ParamValue& Params::value(std::string_view name) const {
  const auto found = values_.find(name);
  EMPLACE_CHECK(found != values_.end(), "no parameter is called '{}'", name);
  return found->second;
}

void Spec::set(const std::string& key, std::string value) {
  const auto found = std::ranges::find(given, key, &std::pair<std::string, std::string>::first);
  if (found == given.end()) {
    given.emplace_back(key, std::move(value));
  } else {
    found->second = std::move(value);
  }
}

std::string Spec::text() const {
  std::string text = name;
  char separator = ':';
  for (const auto& [key, value] : given) {
    text += fmt::format("{}{}={}", std::exchange(separator, ','), key, value);
  }
  return text;
}

Spec Spec::parse(std::string_view text) {
  const auto fail = [&](std::string_view problem) {
    throw Error(ErrorCode::kUsage,
                fmt::format("'{}': {}; expected name:key=value,key=value", excerpt(text), problem));
  };
  const std::size_t colon = text.find(':');
  Spec spec{.name = std::string(text.substr(0, colon))};
  if (spec.name.empty()) {
    fail("the name is missing");
  }
  if (colon == std::string_view::npos) {
    return spec;
  }
  for (std::size_t begin = colon + 1; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view pair = text.substr(begin, end - begin);
    const std::size_t equals = pair.find('=');
    const std::string key(pair.substr(0, equals));
    if (key.empty()) {
      fail("a key is missing");
    }
    if (equals == std::string_view::npos || equals + 1 == pair.size()) {
      fail(fmt::format("'{}' has no value", excerpt(key)));
    }
    for (const auto& [other, value] : spec.given) {
      if (other == key) {
        fail(fmt::format("'{}' appears twice", excerpt(key)));
      }
    }
    spec.given.emplace_back(key, pair.substr(equals + 1));
    begin = end + 1;
  }
  return spec;
}

Params resolve_params(std::span<const ParamSpec> table, const Spec& spec, std::string_view what) {
  Params params;
  std::vector<std::string> names;
  for (const ParamSpec& parameter : table) {
    EMPLACE_CHECK(parse_value(parameter, to_string(parameter.default_value)),
                  "{}: the default of '{}' is not {}", what, parameter.name,
                  expectation(parameter));
    params.set(parameter.name, parameter.default_value);
    names.push_back(parameter.name);
  }
  for (const auto& [key, text] : spec.given) {
    const auto parameter =
        std::find_if(table.begin(), table.end(),
                     [&key = key](const ParamSpec& candidate) { return candidate.name == key; });
    if (parameter == table.end()) {
      throw Error(ErrorCode::kUsage, fmt::format("{}: unknown parameter '{}'{}", what, excerpt(key),
                                                 suggest_names(key, names)));
    }
    const std::optional<ParamValue> value = parse_value(*parameter, text);
    if (!value) {
      throw Error(ErrorCode::kUsage, fmt::format("{}: {} is '{}', expected {}", what, key,
                                                 excerpt(text), expectation(*parameter)));
    }
    params.set(key, *value);
  }
  return params;
}

std::string to_string(const ParamValue& value) {
  return std::visit([](const auto& held) { return fmt::format("{}", held); }, value);
}

}  // namespace emplace
