#pragma once

// What a plug-in (plugin.hpp) and the program that loads it must have in common. Both make the text
// kPluginAbi from the headers that they were compiled with; if the texts differ, their classes
// differ or may differ, and the plug-in is refused before its code uses any class of emplace.

#include <emplace/agents/agent.hpp>
#include <emplace/agents/list_schedule.hpp>
#include <emplace/agents/move_evaluator.hpp>
#include <emplace/graphs/op_graph.hpp>
#include <emplace/sim/problem.hpp>
#include <emplace/sim/simulator.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>

/// The version of emplace in kPluginAbi, and the symbol that a plug-in exports.
#define EMPLACE_PLUGIN_VERSION "0.2"
#define EMPLACE_PLUGIN_SYMBOL "emplace_plugin"

namespace emplace::agents {

class AgentRegistry;

/// What the symbol EMPLACE_PLUGIN_SYMBOL, a C function without arguments, returns a pointer to. The
/// first member stays the first in all versions.
struct PluginDescription {
  const char* abi;                        ///< kPluginAbi of the plug-in
  void (*add_agents)(AgentRegistry& to);  ///< adds its agents
};

/// Returns a hash (FNV-1a) of sizes and alignments of the classes that plug-ins share.
constexpr std::uint64_t plugin_layout() {
  const auto hash = []<class... Types>(std::type_identity<std::tuple<Types...>>) {
    std::uint64_t value = 0xcbf29ce484222325;
    for (const std::size_t number : {sizeof(Types)..., alignof(Types)...}) {
      value = (value ^ number) * 0x100000001b3;
    }
    return value;
  };
  return hash(
      std::type_identity<std::tuple<
          Agent, AgentInfo, Budget, Evaluation, Incumbent, GroupEdge, ListSchedule, Op, Params,
          ParamSpec, Placement, Preset, Problem, RandomStream, Evaluator, Evaluator::Options,
          MoveEvaluator, SimResult, Simulator, StepOutline, std::string, TrainableAgent>>());
}

/// Returns "emplace 0.2, g++ ABI 1017, C++11 strings 1, layout 0123456789abcdef" of this compiler.
constexpr auto make_plugin_abi() {
  constexpr std::size_t kSize = 96;
  std::array<char, kSize> text{};
  std::size_t end = 0;
  const auto append = [&](const char* piece) {
    while (*piece != 0) {
      text[end++] = *piece++;
    }
  };
  const auto append_number = [&](std::uint64_t number, std::uint64_t base) {
    std::uint64_t unit = 1;
    while (number / unit >= base) {
      unit *= base;
    }
    for (; unit > 0; unit /= base) {
      text[end++] = "0123456789abcdef"[number / unit % base];
    }
  };
  append("emplace " EMPLACE_PLUGIN_VERSION ", g++ ABI ");
  append_number(__GXX_ABI_VERSION, 10);
  append(", C++11 strings ");
  append_number(_GLIBCXX_USE_CXX11_ABI, 10);
  append(", layout ");
  append_number(plugin_layout(), 16);
  return text;
}

/// That text, with a zero at its end. Hidden, because otherwise a plug-in would find the program's
/// text under this name, and compare it with itself.
__attribute__((visibility("hidden"))) inline constexpr auto kPluginAbi = make_plugin_abi();

}  // namespace emplace::agents
