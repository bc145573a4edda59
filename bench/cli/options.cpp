#include "options.hpp"

#include "help_text.hpp"
#include "terminal.hpp"

#include <emplace/bench/cell.hpp>
#include <emplace/graphs/error.hpp>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Validators.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

namespace emplace::cli {
namespace {

constexpr std::int64_t kMaxGroups = 1'000'000;
constexpr std::int64_t kMaxEvaluations = 1'000'000'000;

std::string listed(const std::vector<std::string>& items) {
  return fmt::format("{}", fmt::join(items, ", "));
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) {
    names.push_back(command->get_name());
  }
  return names;
}

// Of the command and of those above it, which take their options too.
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

// Commands may have commands of their own.
const CLI::App& chosen_command(const CLI::App& app) {
  const auto commands = app.get_subcommands();
  return commands.empty() ? app : chosen_command(*commands.front());
}

[[noreturn]] void fail_usage(const CLI::App& command, const std::string& message) {
  throw Error(ErrorCode::kUsage, fmt::format("{} (see {} --help)", message, full_name(command)));
}

const CLI::App& find_command(const CLI::App& app, const std::string& name) {
  const std::vector<std::string> names = command_names(app);
  if (std::ranges::find(names, name) != names.end()) {
    return *app.get_subcommand(name);
  }
  // All are listed: there is no other place to look them up at this moment.
  throw Error(ErrorCode::kUsage,
              fmt::format("unknown command '{}'{}", excerpt(name),
                          nearest_names(name, names).empty() ? "; known: " + listed(names)
                                                             : suggest_names(name, names)));
}

// CLI11 would take a mistyped command for a value too many; say what it is.
void check_command(const CLI::App& app, int argc, const char* const* argv) {
  const CLI::App* level = &app;
  for (int i = 1; i < argc && !level->get_subcommands({}).empty(); ++i) {
    const std::string argument = argv[i];
    if (argument == "--color") {
      ++i;
    } else if (!argument.starts_with("-")) {
      level = &find_command(*level, argument);
    }
  }
}

// The commands that take an option, as they are typed.
std::vector<std::string> commands_with(const CLI::App& app, const std::string& option) {
  std::vector<std::string> found;
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->get_option_no_throw(option) != nullptr) {
      found.push_back(full_name(*command));
    }
    std::ranges::move(commands_with(*command, option), std::back_inserter(found));
  }
  return found;
}

// "--evaluation" is told to be meant as "--evaluations", and an option of other commands to be one.
[[noreturn]] void fail_unknown_option(const CLI::App& app, const CLI::App& command,
                                      const std::string& option) {
  const std::vector<std::string> others = commands_with(app, option);
  if (!others.empty()) {
    fail_usage(command, fmt::format("{} takes no option '{}', which is one of {}",
                                    full_name(command), option, listed(others)));
  }
  const std::vector<std::string> names = option_names(command);
  const std::vector<std::string> nearest = nearest_names(option, names, 1);
  fail_usage(command,
             fmt::format("unknown option '{}'{}", excerpt(option),
                         nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest[0])));
}

[[noreturn]] void fail_extra(const CLI::App& app) {
  const CLI::App& command = chosen_command(app);
  const std::vector<std::string> extras = app.remaining(true);
  const std::string extra =
      extras.empty() ? "" : extras.front().substr(0, extras.front().find('='));
  if (extra.starts_with("-")) {
    fail_unknown_option(app, command, extra);
  }
  // "threads 2" may be meant as "--threads 2".
  const std::vector<std::string> names = option_names(command);
  const bool is_option = std::ranges::find(names, "--" + extra) != names.end();
  fail_usage(command, fmt::format("unexpected argument '{}'{}", excerpt(extra),
                                  is_option ? fmt::format("; did you mean '--{}'?", extra) : ""));
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

const CLI::App& find_command(const CLI::App& app, std::span<const std::string> names) {
  return names.empty() ? app : find_command(find_command(app, names.front()), names.subspan(1));
}

bool parse(CLI::App& app, int argc, const char* const* argv) {
  check_command(app, argc, argv);
  try {
    app.parse(argc, argv);
    return true;
  } catch (const CLI::CallForHelp&) {
    print(help_of(chosen_command(app)));
  } catch (const CLI::CallForVersion& version) {
    print(std::string(version.what()) + "\n");
  } catch (const CLI::ExtrasError&) {
    fail_extra(app);
  } catch (const CLI::ParseError& error) {
    fail_usage(chosen_command(app), error.what());
  }
  return false;
}

}  // namespace emplace::cli
