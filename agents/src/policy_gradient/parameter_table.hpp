#pragma once

// How the learned agents write their tables of parameters: what each kind of parameter needs, under
// headings.

#include <emplace/graphs/params.hpp>

#include <string>
#include <utility>
#include <vector>

namespace emplace::agents {

/// Describes a number from `min` to `max`, by default `value`.
inline ParamSpec number(std::string name, double value, double min, double max,
                        std::string summary) {
  return {.name = std::move(name),
          .default_value = value,
          .min = min,
          .max = max,
          .summary = std::move(summary)};
}

/// Describes a text that is one of `choices`, by default `value`.
inline ParamSpec choice(std::string name, std::string value, std::vector<std::string> choices,
                        std::string summary) {
  return {.name = std::move(name),
          .default_value = std::move(value),
          .choices = std::move(choices),
          .summary = std::move(summary)};
}

/// Describes a switch, by default `value`.
inline ParamSpec flag(std::string name, bool value, std::string summary) {
  return {.name = std::move(name), .default_value = value, .summary = std::move(summary)};
}

/// Appends parameters under the heading `group`: those that most users need, then the expert ones.
inline void append_group(std::vector<ParamSpec>& table, const std::string& group,
                         const std::vector<ParamSpec>& basic,
                         const std::vector<ParamSpec>& expert) {
  for (const std::vector<ParamSpec>* specs : {&basic, &expert}) {
    for (const ParamSpec& spec : *specs) {
      table.push_back(spec);
      table.back().group = group;
      table.back().expert = specs == &expert;
    }
  }
}

}  // namespace emplace::agents
