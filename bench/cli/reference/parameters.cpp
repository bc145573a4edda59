#include "facts/listings.hpp"
#include "reference/pages.hpp"

#include <emplace/base/counted.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace emplace::cli {
namespace {

std::string line_of(const ParamSpec& parameter) {
  const std::string value = to_string(parameter.default_value);
  return fmt::format("**`{}`** = {} ({}): {}", parameter.name,
                     value.empty() ? "nothing" : code(value), allowed_values(parameter, "`"),
                     sentence(parameter.summary));
}

// The groups in the order in which they come first; parameters without one stand before all others.
std::vector<std::string> groups_of(std::span<const ParamSpec> parameters) {
  std::vector<std::string> groups;
  for (const ParamSpec& parameter : parameters) {
    if (std::ranges::find(groups, parameter.group) == groups.end()) {
      groups.push_back(parameter.group);
    }
  }
  std::stable_partition(groups.begin(), groups.end(),
                        [](const std::string& group) { return group.empty(); });
  return groups;
}

std::string title_of(std::string_view group) {
  std::string title(group);
  title[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(title[0])));
  return title;
}

}  // namespace

void add_parameters(MarkdownPage& page, std::span<const ParamSpec> parameters, int level) {
  const auto add_items = [&](const std::string& group, bool expert) {
    for (const ParamSpec& parameter : parameters) {
      if (parameter.group == group && parameter.expert == expert) {
        page.item(line_of(parameter));
      }
    }
  };
  const auto has = [&](const std::string& group, bool expert) {
    return std::ranges::any_of(parameters, [&](const ParamSpec& parameter) {
      return parameter.group == group && parameter.expert == expert;
    });
  };
  const std::vector<std::string> groups = groups_of(parameters);
  for (const std::string& group : groups) {
    if (has(group, false)) {
      if (!group.empty()) {
        page.heading(level, title_of(group));
      }
      add_items(group, false);
    }
  }
  const auto experts = std::ranges::count_if(parameters, &ParamSpec::expert);
  if (experts == 0) {
    return;
  }
  page.begin_details(fmt::format("{} for experts", counted(experts, "more parameter")));
  for (const std::string& group : groups) {
    if (has(group, true)) {
      page.paragraph(group.empty() ? "" : fmt::format("**{}**", title_of(group)));
      add_items(group, true);
    }
  }
  page.end_details();
}

}  // namespace emplace::cli
