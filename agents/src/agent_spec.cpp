#include <emplace/agents/agent_spec.hpp>
#include <emplace/agents/registry.hpp>
#include <emplace/graphs/error.hpp>
#include <emplace/graphs/json_cursor.hpp>

namespace emplace::agents {

AgentSpec::AgentSpec(Parse, std::string_view text) : text_(text), spec_(Spec::parse(text)) {}

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
