#include "command.hpp"
#include "help_text.hpp"
#include "options.hpp"
#include "terminal.hpp"

#include <emplace/agents/plugin_abi.hpp>
#include <emplace/agents/registry.hpp>
#include <emplace/graphs/error.hpp>
#include <emplace/graphs/text_file.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

namespace emplace::cli {
namespace {

// In these files @NAME@ is the agent (my-agent), @FILE@ its file (my_agent), @CLASS@ its class
// (MyAgent) and @VERSION@ the version of emplace.
constexpr std::string_view kCMakeLists =
    R"(# A plug-in of emplace with the agent @NAME@.
cmake_minimum_required(VERSION 3.25)
project(@FILE@ LANGUAGES CXX)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

# Set where emplace is installed: cmake -D CMAKE_PREFIX_PATH=PREFIX
find_package(emplace @VERSION@ CONFIG REQUIRED COMPONENTS plugin)

add_library(plugin_@FILE@ MODULE @FILE@.cpp)
set_target_properties(plugin_@FILE@ PROPERTIES PREFIX "" OUTPUT_NAME @FILE@)
target_link_libraries(plugin_@FILE@ PRIVATE emplace::plugin)

enable_testing()
find_program(EMPLACE emplace REQUIRED)
add_test(NAME places
  COMMAND ${EMPLACE} --plugin $<TARGET_FILE:plugin_@FILE@> place inception-v3 --cluster p2-8xlarge-2
          --agent @NAME@ --evaluations 200 -o placement.json)
)";

constexpr std::string_view kSource = R"(#include <emplace/agents/plugin.hpp>

#include <cstdint>
#include <utility>

namespace emplace::agents {
namespace {

// Moves one group at a time to a random device and keeps what is better. Put your own idea here.
class @CLASS@ final : public Agent {
 public:
  explicit @CLASS@(const Params& params) : moves_(params.get<std::int64_t>("moves")) {}

  Placement place(const Problem& problem, Session& session) override {
    const auto devices = problem.placeable_devices();
    Placement best(problem.num_groups(), devices.front());
    Evaluation best_evaluation = session.evaluate(best);
    while (!session.exhausted()) {
      Placement next = best;
      for (std::int64_t move = 0; move < moves_; ++move) {
        const auto group = session.random().below(static_cast<std::uint64_t>(next.size()));
        next[static_cast<GroupId>(group)] = devices[session.random().below(devices.size())];
      }
      const Evaluation evaluation = session.evaluate(next);
      if (evaluation.better_than(best_evaluation)) {
        best = std::move(next);
        best_evaluation = evaluation;
      }
    }
    return best;
  }

 private:
  std::int64_t moves_;
};

EMPLACE_PLUGIN_AGENT(@CLASS@, {.name = "@NAME@",
                               .kind = AgentKind::kSearch,
                               .summary = "one line that says what it does",
                               .description = "A paragraph: what it does, and when to use it.",
                               .reference = "who published it",
                               .parameters = {whole_number("moves", 1, 1, 100,
                                                           "groups that move at a time")},
                               .deterministic = false});

}  // namespace
}  // namespace emplace::agents
)";

constexpr std::string_view kReadme = R"(# @NAME@

An agent that places neural networks, as a plug-in of emplace.

    cmake -S . -B build -D CMAKE_PREFIX_PATH=PREFIX && cmake --build build && ctest --test-dir build
    emplace --plugin build/@FILE@.so list agents @NAME@
    emplace --plugin build/@FILE@.so place inception-v3 --cluster p2-8xlarge-2 --agent @NAME@ -o placement.json

PREFIX is where emplace was installed (`cmake --install`). Each emplace loads plug-ins that were built with its own
package and its own compiler, and refuses others. A plug-in that crashes takes emplace with it; an agent that you
are not sure of is safer as a program (`emplace list agents exec`).
)";

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

// "my-agent" as "MyAgent", "problem" as "ProblemAgent": no class of ours has such a name but two.
std::string class_name(std::string_view name) {
  std::string result;
  bool begins = true;
  for (const char letter : name) {
    if (letter == '-') {
      begins = true;
    } else {
      result += begins && letter >= 'a' ? static_cast<char>(letter - 'a' + 'A') : letter;
      begins = false;
    }
  }
  const bool is_ours = result == "Agent" || result == "TrainableAgent";
  return result.ends_with("Agent") && !is_ours ? result : result + "Agent";
}

void expect_agent_name(const std::string& name) {
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (name.empty() || !is_letter(name.front()) || name.back() == '-' ||
      name.find("--") != std::string::npos || name.size() > 64 ||
      !std::ranges::all_of(name, [&](char c) { return is_letter(c) || is_digit(c) || c == '-'; })) {
    throw Error(ErrorCode::kUsage,
                fmt::format("an agent cannot be called '{}': expected lower-case letters, digits "
                            "and single '-', starting with a letter, at most 64 characters",
                            excerpt(name)));
  }
  if (agents::AgentRegistry::global().find(name) != nullptr) {
    throw Error(ErrorCode::kUsage, fmt::format("emplace has an agent '{}' already", name));
  }
}

void write_project(const std::string& name, const std::string& folder) {
  expect_agent_name(name);
  namespace fs = std::filesystem;
  std::error_code error;
  fs::create_directories(fs::path(folder).parent_path(), error);  // else the next one tells why
  if (!fs::create_directory(folder, error)) {
    throw Error(ErrorCode::kIo,
                fmt::format("{}: {}", folder, error ? error.message() : "already exists"));
  }
  const std::string file = replaced(name, "-", "_");
  const auto write = [&](const std::string& path, std::string_view text) {
    std::string filled(text);
    filled = replaced(filled, "@NAME@", name);
    filled = replaced(filled, "@FILE@", file);
    filled = replaced(filled, "@CLASS@", class_name(name));
    filled = replaced(filled, "@VERSION@", EMPLACE_PLUGIN_VERSION);
    write_text_file((fs::path(folder) / path).string(), filled);
  };
  write("CMakeLists.txt", kCMakeLists);
  write(file + ".cpp", kSource);
  write("README.md", kReadme);
}

}  // namespace

void add_new_agent(CLI::App& app, Action& action) {
  struct Options {
    std::string name;
    std::string output;
  };
  CLI::App* command =
      app.add_subcommand("new-agent", "Write a project of an agent that is a plug-in");
  command->group("Experiments");
  set_examples(*command, {"emplace new-agent my-agent"});
  const auto options = std::make_shared<Options>();
  command->add_option("NAME", options->name, "Name of the agent: lower-case letters and '-'")
      ->required()
      ->type_name("");
  add_output(*command, options->output, "Folder of the project, which must not exist yet", "DIR")
      ->default_str("NAME");
  command->callback([options, &action] {
    action = [options](const Invocation&) {
      const std::string folder = options->output.empty() ? options->name : options->output;
      write_project(options->name, folder);
      print_text(fmt::format("{}: the plug-in {}; README.md says how to build it\n", folder,
                             options->name));
      return Outcome::kOk;
    };
  });
}

}  // namespace emplace::cli
