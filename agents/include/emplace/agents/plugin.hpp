#pragma once

// Makes a shared library of agents, which `emplace --plugin FILE` adds to those of the program:
//
//     #include <emplace/agents/plugin.hpp>
//
//     class Mine final : public Agent { ... };  // as agent.hpp describes
//     EMPLACE_PLUGIN_AGENT(Mine, {.name = "mine", ...});
//
// A plug-in is compiled with the target emplace::plugin and links no library of emplace: the
// program that loads it provides them. examples/plugin is such a project. A plug-in
// that was built for another version is refused (plugin_abi.hpp). One that crashes takes the
// program with it; a program that speaks the agent protocol (the agent `exec`) does not.
//
// Only plug-ins include this header.

#include <emplace/agents/plugin_abi.hpp>
#include <emplace/agents/registry.hpp>
#include <emplace/base/error.hpp>

#include <memory>
#include <string>
#include <utility>

namespace emplace::agents::plugin {

/// Adds one agent to a registry.
using AddAgent = void (*)(AgentRegistry& to);

/// One agent in the chain of all agents of this library. Loading only links the chain; agents are
/// registered once the program has checked that it may call their code.
struct __attribute__((visibility("hidden"))) Link {
  explicit Link(AddAgent add_agent) : add(add_agent), next(first) { first = this; }
  AddAgent add;
  Link* next;
  static inline constinit Link* first = nullptr;
};

/// Adds an agent of a plug-in. Throws kUnsupported if its name is taken.
inline void add_agent(AgentRegistry& to, AgentInfo info, AgentRegistry::Factory factory) {
  if (to.find(info.name) != nullptr) {
    throw Error(ErrorCode::kUnsupported, "two agents are called '" + info.name + "'");
  }
  to.add(std::move(info), std::move(factory));
}

/// Adds the agents of this library.
__attribute__((visibility("hidden"))) inline void add_all(AgentRegistry& to) {
  for (const Link* link = Link::first; link != nullptr; link = link->next) {
    link->add(to);
  }
}

/// Describes this library; hidden, because otherwise two plug-ins would share one description.
__attribute__((visibility("hidden"))) inline constexpr PluginDescription kDescription{
    .abi = kPluginAbi.data(), .add_agents = add_all};

}  // namespace emplace::agents::plugin

/// Returns the description of this library to the program. Each source with agents has one; the
/// linker keeps one.
extern "C"
    __attribute__((visibility("default"), used)) inline const ::emplace::agents::PluginDescription*
    emplace_plugin() {
  return &::emplace::agents::plugin::kDescription;
}

// It would run before the program has checked that it may call this library.
#undef EMPLACE_REGISTER_AGENT
#define EMPLACE_REGISTER_AGENT(Class, ...) \
  static_assert(false, "a plug-in registers " #Class " by EMPLACE_PLUGIN_AGENT")

/// Adds `Class` (in an unnamed namespace), constructible from `const Params&`, with the AgentInfo
/// that follows, to the agents of this plug-in.
#define EMPLACE_PLUGIN_AGENT(Class, ...)                                                       \
  const ::emplace::agents::plugin::Link k##Class##Link {                                       \
    [](::emplace::agents::AgentRegistry& to) {                                                 \
      ::emplace::agents::plugin::add_agent(                                                    \
          to, ::emplace::agents::AgentInfo __VA_ARGS__, [](const ::emplace::Params& params) {  \
            return std::unique_ptr<::emplace::agents::Agent>(std::make_unique<Class>(params)); \
          });                                                                                  \
    }                                                                                          \
  }
