#pragma once

// An agent as users write it: `NAME[:key=value,...]`, in a suite, a policy file or on the command
// line. The text is parsed where it is read; cells, policies and trainings carry this value. An
// agent that needs a program has its command line first: `exec:COMMAND[,key=value,...]`.

#include <emplace/agents/agent.hpp>
#include <emplace/base/params.hpp>

#include <concepts>
#include <memory>
#include <string>
#include <string_view>

namespace emplace::agents {

/// The name of an agent with the parameters that a user gave it.
class AgentSpec {
 public:
  /// Names no agent.
  AgentSpec() = default;

  /// Parses `text`; throws kUsage if it is malformed. For an agent that needs a program, the
  /// command line is the text between the colon and the first comma. Whether the agent exists is
  /// checked only by the functions below: a report can show results of agents that this program
  /// does not have.
  template <std::convertible_to<std::string_view> Text>
  // NOLINTNEXTLINE(google-explicit-constructor): the text and the value stand for the same agent
  AgentSpec(const Text& text) : AgentSpec(Parse(), text) {}

  /// Parses the text at `json`; throws kFormat, with the place in the file, if it is malformed.
  static AgentSpec from_json(const JsonCursor& json);

  /// Returns the text as the user wrote it. Equal texts are equal agents; it names the agent in
  /// files and is part of the seed of its random numbers.
  const std::string& text() const { return text_; }

  /// Returns the name without parameters.
  const std::string& name() const { return spec_.name; }

  /// Returns the name with the parameters that the user gave.
  const Spec& spec() const { return spec_; }

  /// Returns the description of the agent; throws kUnknownName with the nearest names.
  const AgentInfo& info() const;

  /// Returns a value for each parameter of the agent (AgentRegistry::resolve()). Throws
  /// kUnknownName for an unknown agent and kUsage for an unknown parameter or a bad value.
  Params resolve() const;

  /// Makes the agent, which decides on all groups of its problems if the user chose their number
  /// (AgentRegistry::make()). Throws as resolve() does.
  std::unique_ptr<Agent> make(bool groups_are_given = false) const;

  /// Whether both have the same text.
  bool operator==(const AgentSpec& other) const { return text_ == other.text_; }

 private:
  struct Parse {};
  AgentSpec(Parse, std::string_view text);

  std::string text_;
  Spec spec_;
};

}  // namespace emplace::agents
