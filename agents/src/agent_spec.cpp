#include <emplace/agents/agent_spec.hpp>
#include <emplace/agents/registry.hpp>
#include <emplace/base/error.hpp>
#include <emplace/base/json_cursor.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace emplace::agents {

namespace {

// The command line of a program may hold what is no pair: `exec:./agent --depth=3,time-limit=9`.
Spec parse(std::string_view text) {
  const std::size_t colon = text.find(':');
  const AgentInfo* const info = AgentRegistry::global().find(text.substr(0, colon));
  if (colon == std::string_view::npos || info == nullptr || !info->needs_program) {
    return Spec::parse(text);
  }
  const std::size_t comma = std::min(text.find(',', colon), text.size());
  std::string pairs(text.substr(0, colon));
  if (comma < text.size()) {
    pairs += ":" + std::string(text.substr(comma + 1));
  }
  Spec spec = Spec::parse(pairs);
  if (std::ranges::any_of(spec.given,
                          [](const auto& given) { return given.first == kProgramParameter; })) {
    throw Error(ErrorCode::kUsage,
                fmt::format("'{}': '{}' is given twice; expected {}:COMMAND[,key=value,...]",
                            excerpt(text), kProgramParameter, spec.name));
  }
  spec.given.emplace(spec.given.begin(), kProgramParameter,
                     text.substr(colon + 1, comma - colon - 1));
  return spec;
}

}  // namespace

AgentSpec::AgentSpec(Parse, std::string_view text) : text_(text), spec_(parse(text)) {}

AgentSpec AgentSpec::from_json(const JsonCursor& json) {
  const std::string text = json.non_empty_text();
  try {
    return text;
  } catch (const Error& error) {
    json.fail(error.what());
  }
}

const AgentInfo& AgentSpec::info() const { return AgentRegistry::global().info(name()); }

Params AgentSpec::resolve() const { return AgentRegistry::global().resolve(spec_); }

std::unique_ptr<Agent> AgentSpec::make(bool groups_are_given) const {
  return AgentRegistry::global().make(spec_, groups_are_given);
}

}  // namespace emplace::agents
