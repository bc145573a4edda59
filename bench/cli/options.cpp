#include "options.hpp"

#include "terminal.hpp"

#include <emplace/bench/cell.hpp>
#include <emplace/graphs/error.hpp>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Validators.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

namespace emplace::cli {
namespace {

constexpr std::int64_t kMaxGroups = 1'000'000;
constexpr std::int64_t kMaxEvaluations = 1'000'000'000;

[[noreturn]] void fail_unknown(std::string_view what, std::string_view name,
                               const std::vector<std::string>& names) {
  throw Error(ErrorCode::kUsage,
              fmt::format("unknown {} '{}'{}", what, excerpt(name), suggest_names(name, names)));
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) {
    names.push_back(command->get_name());
  }
  return names;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* level = &app; level != nullptr; level = level->get_parent()) {
    for (const CLI::Option* option : level->get_options()) {
      for (const std::string& name : option->get_lnames()) {
        names.push_back("--" + name);
      }
    }
  }
  return names;
}

// CLI11 would take a mistyped command for a value too many; say what it is.
void check_command(const CLI::App& app, int argc, const char* const* argv) {
  const CLI::App* level = &app;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--color") {
      ++i;
    } else if (!argument.starts_with("-")) {
      const std::vector<std::string> names = command_names(*level);
      if (names.empty()) {
        return;
      }
      if (std::ranges::find(names, argument) == names.end()) {
        fail_unknown("command", argument, names);
      }
      level = level->get_subcommand(argument);
    }
  }
}

// Commands may have commands of their own.
const CLI::App& chosen_command(const CLI::App& app) {
  const auto commands = app.get_subcommands();
  return commands.empty() ? app : chosen_command(*commands.front());
}

// The command as it is typed: "emplace profile show".
std::string full_name(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return parent == nullptr ? command.get_name() : full_name(*parent) + ' ' + command.get_name();
}

[[noreturn]] void fail_usage(const CLI::App& app, const std::string& message) {
  const std::string name = full_name(chosen_command(app));
  throw Error(ErrorCode::kUsage, fmt::format("{} (see {} --help)", message, name));
}

[[noreturn]] void fail_extra(const CLI::App& app) {
  const std::vector<std::string> extras = app.remaining(true);
  const std::string extra =
      extras.empty() ? "" : extras.front().substr(0, extras.front().find('='));
  if (extra.starts_with("--")) {
    fail_unknown("option", extra, option_names(chosen_command(app)));
  }
  fail_usage(app, "unexpected argument '" + extra + "'");
}

}  // namespace

void add_grouping_options(CLI::App& command, ProblemOptions& options) {
  command
      .add_option(
          "--groups", options.groups,
          fmt::format("Target count of the groups that agents place; 0: {}", kDefaultGroups))
      ->check(CLI::Range(std::int64_t{0}, kMaxGroups))
      ->type_name("N");
  command
      .add_option("--grouping", options.grouping,
                  fmt::format("How ops are grouped (emplace list groupings); by default {}",
                              kDefaultGrouping))
      ->type_name("NAME");
}

CLI::Option* add_evaluations(CLI::App& command, std::int64_t& evaluations) {
  return command
      .add_option(
          "--evaluations", evaluations,
          fmt::format("Simulations that an agent may use; by default {}", kDefaultEvaluations))
      ->check(CLI::Range(std::int64_t{1}, kMaxEvaluations))
      ->type_name("N");
}

CLI::Option* add_seed(CLI::App& command, std::int64_t& seed) {
  return command.add_option("--seed", seed, "Root of all random streams; by default 0")
      ->check(CLI::Range(std::int64_t{0}, bench::kMaxRootSeed))
      ->type_name("N");
}

void add_problem_options(CLI::App& command, ProblemOptions& options) {
  command.add_option("--graph", options.graph, "NAME[:key=value,...], or the path of a graph file")
      ->type_name("GRAPH");
  command.add_option("--cluster", options.cluster, "Name, or the path of a cluster file")
      ->type_name("CLUSTER");
  add_grouping_options(command, options);
}

void add_agent_options(CLI::App& command, AgentOptions& options) {
  CLI::Option* agent =
      command.add_option("--agent", options.agent, "NAME[:key=value,...]")->type_name("AGENT");
  add_evaluations(command, options.evaluations)->needs(agent);
  add_seed(command, options.seed)->needs(agent);
}

CLI::Option* add_step_options(CLI::App& command, StepOptions& options) {
  add_problem_options(command, options.problem);
  add_agent_options(command, options.agent);
  CLI::Option* placement =
      command.add_option("--placement", options.placement, "Placement file instead of an agent")
          ->type_name("FILE");
  for (const char* other : {"--agent", "--groups", "--grouping"}) {
    placement->excludes(command.get_option(other));
  }
  return placement;
}

bool parse(CLI::App& app, int argc, const char* const* argv) {
  check_command(app, argc, argv);
  try {
    app.parse(argc, argv);
    return true;
  } catch (const CLI::CallForHelp&) {
    print(chosen_command(app).help());
  } catch (const CLI::CallForVersion& version) {
    print(std::string(version.what()) + "\n");
  } catch (const CLI::ExtrasError&) {
    fail_extra(app);
  } catch (const CLI::ParseError& error) {
    fail_usage(app, error.what());
  }
  return false;
}

}  // namespace emplace::cli
