#pragma once

// The agents of this program, by name. EMPLACE_REGISTER_AGENT registers an agent before main();
// link emplace::all_agents, which keeps the linker from dropping the objects that do so.

#include <emplace/agents/agent.hpp>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace emplace::agents {

/// Agents, sorted by name whatever the order of registration.
class AgentRegistry {
 public:
  using Factory = std::function<std::unique_ptr<Agent>(const Params&)>;

  /// Returns the registry that EMPLACE_REGISTER_AGENT fills.
  static AgentRegistry& global();

  /// Adds an agent, with the parameter `groups` if `info` has default groups, and `preset` if it
  /// has presets. Throws InternalError if its name is taken or a preset changes something that is
  /// not a parameter.
  void add(AgentInfo info, Factory factory);

  /// Returns the names, sorted.
  std::vector<std::string> names() const;

  /// Returns the description of `name`, which stays valid as long as the registry; throws
  /// kUnknownName with the nearest names.
  const AgentInfo& info(std::string_view name) const;

  /// Returns the same, or null where there is no such agent.
  const AgentInfo* find(std::string_view name) const;

  /// Returns a value for each parameter of the agent of `spec`: the value that `spec` gives, or
  /// that of its preset, or the default. Throws kUnknownName or kUsage.
  Params resolve(const Spec& spec) const;

  /// Returns the most groups on which the agent of `spec` decides, 0 for any number. If the user
  /// chose the number of groups of problems (`groups_are_given`), an agent decides on all of them
  /// unless `spec` gives it `groups`. Throws kUnknownName or kUsage.
  GroupId most_groups(const Spec& spec, bool groups_are_given) const;

  /// Makes the agent of `spec` (`NAME[:key=value,...]`), which decides on most_groups(). Throws
  /// kUnknownName or kUsage.
  std::unique_ptr<Agent> make(const Spec& spec, bool groups_are_given = false) const;

 private:
  struct Entry {
    AgentInfo info;
    Factory factory;
  };
  const Entry& entry(std::string_view name) const;

  std::map<std::string, Entry, std::less<>> entries_;
};

/// Adds an agent to the global registry when it is constructed.
struct AgentRegistration {
  AgentRegistration(AgentInfo info, AgentRegistry::Factory factory) {
    AgentRegistry::global().add(std::move(info), std::move(factory));
  }
};

}  // namespace emplace::agents

/// Registers `Class` (in an unnamed namespace), constructible from `const Params&`, with the
/// AgentInfo that follows.
#define EMPLACE_REGISTER_AGENT(Class, ...)                                               \
  const ::emplace::agents::AgentRegistration k##Class##Registration {                    \
    ::emplace::agents::AgentInfo __VA_ARGS__, [](const ::emplace::Params& params) {      \
      return std::unique_ptr<::emplace::agents::Agent>(std::make_unique<Class>(params)); \
    }                                                                                    \
  }
