#include "coarse_agent.hpp"

#include <emplace/agents/registry.hpp>
#include <emplace/base/check.hpp>
#include <emplace/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace emplace::agents {
namespace {

// Adds the parameter `preset`, and gives each preset a value for all that any of them changes.
void complete_presets(AgentInfo& info) {
  ParamSpec parameter{.name = kPresetParameter,
                      .default_value = info.presets.front().name,
                      .summary = "set of defaults for parameters that are not given"};
  ParamDefaults own;
  for (const ParamSpec& spec : info.parameters) {
    own.emplace(spec.name, spec.default_value);
  }
  ParamDefaults changed;
  for (const Preset& preset : info.presets) {
    parameter.choices.push_back(preset.name);
    with_defaults(info.parameters, preset.defaults);  // checks the names and types
    for (const auto& [name, value] : preset.defaults) {
      changed.emplace(name, own.at(name));
    }
  }
  for (Preset& preset : info.presets) {
    preset.defaults.insert(changed.begin(), changed.end());
  }
  info.parameters = with_defaults(std::move(info.parameters), info.presets.front().defaults);
  info.parameters.insert(info.parameters.begin(), std::move(parameter));
}

// A file is no name. Who gives one wants what is in it.
void fail_for_file(std::string_view name) {
  if (name.ends_with(".so")) {
    throw Error(ErrorCode::kUnknownName,
                fmt::format("'{0}' is a file, expected the name of an agent; to add the agents of "
                            "a plug-in: --plugin {0}",
                            excerpt(name)));
  }
  if (name.find('/') != std::string_view::npos || name.ends_with(".py")) {
    throw Error(
        ErrorCode::kUnknownName,
        fmt::format("'{0}' is a file, expected the name of an agent; to run a program as an "
                    "agent: exec:{1}{0}",
                    excerpt(name), name.ends_with(".py") ? "python3 " : ""));
  }
}

}  // namespace

std::vector<ParamSpec> with_defaults(std::vector<ParamSpec> table, const ParamDefaults& defaults) {
  for (const auto& [name, value] : defaults) {
    const auto spec = std::ranges::find(table, name, &ParamSpec::name);
    EMPLACE_CHECK(spec != table.end(), "'{}' is given a default and is not a parameter", name);
    EMPLACE_CHECK(spec->default_value.index() == value.index(),
                  "the default of '{}' has another type", name);
    spec->default_value = value;
  }
  return table;
}

std::string_view to_string(AgentKind kind) {
  switch (kind) {
    case AgentKind::kBaseline:
      return "baseline";
    case AgentKind::kExpert:
      return "expert";
    case AgentKind::kHeuristic:
      return "heuristic";
    case AgentKind::kSearch:
      return "search";
    case AgentKind::kLearned:
      return "learned";
  }
  return "unknown";
}

AgentRegistry& AgentRegistry::global() {
  static AgentRegistry registry;
  return registry;
}

void AgentRegistry::add(AgentInfo info, Factory factory) {
  std::string name = info.name;
  EMPLACE_CHECK(!name.empty(), "an agent has no name");
  if (info.default_groups) {
    info.parameters.push_back(whole_number(kGroupsParameter, *info.default_groups, 0, 1'000'000,
                                           "most groups of ops to decide on; 0: all of them, also "
                                           "if the user chose the groups of the problem"));
  }
  if (!info.presets.empty()) {
    complete_presets(info);
  }
  const bool added = entries_.try_emplace(name, Entry{std::move(info), std::move(factory)}).second;
  EMPLACE_CHECK(added, "two agents are called '{}'", name);
}

std::vector<std::string> AgentRegistry::names() const {
  std::vector<std::string> names;
  names.reserve(entries_.size());
  for (const auto& [name, entry] : entries_) {
    names.push_back(name);
  }
  return names;
}

const AgentRegistry::Entry& AgentRegistry::entry(std::string_view name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) {
    fail_for_file(name);
    throw_unknown_name("agent", name, names());
  }
  return found->second;
}

const AgentInfo& AgentRegistry::info(std::string_view name) const { return entry(name).info; }

const AgentInfo* AgentRegistry::find(std::string_view name) const {
  const auto found = entries_.find(name);
  return found == entries_.end() ? nullptr : &found->second.info;
}

Params AgentRegistry::resolve(const Spec& spec) const {
  const AgentInfo& agent = info(spec.name);
  const std::string what = fmt::format("agent {}", spec.name);
  Params params = resolve_params(agent.parameters, spec, what);
  if (agent.needs_program && params.get<std::string>(kProgramParameter).empty()) {
    throw Error(ErrorCode::kUsage,
                fmt::format("{} needs a program: {}:COMMAND[,key=value,...]", what, spec.name));
  }
  if (agent.presets.empty()) {
    return params;
  }
  const auto preset =
      std::ranges::find(agent.presets, params.get<std::string>(kPresetParameter), &Preset::name);
  return resolve_params(with_defaults(agent.parameters, preset->defaults), spec, what);
}

GroupId AgentRegistry::most_groups(const Spec& spec, bool groups_are_given) const {
  const bool is_told = std::ranges::any_of(
      spec.given, [](const auto& given) { return given.first == kGroupsParameter; });
  return !info(spec.name).default_groups || (groups_are_given && !is_told)
             ? GroupId(0)
             : static_cast<GroupId>(resolve(spec).get<std::int64_t>(kGroupsParameter));
}

std::unique_ptr<Agent> AgentRegistry::make(const Spec& spec, bool groups_are_given) const {
  std::unique_ptr<Agent> agent = entry(spec.name).factory(resolve(spec));
  const GroupId groups = most_groups(spec, groups_are_given);
  return groups == 0 ? std::move(agent) : decide_on(groups, std::move(agent));
}

}  // namespace emplace::agents
