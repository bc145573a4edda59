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
#include <filesystem>
#include <iterator>
#include <string_view>
#include <system_error>
#include <vector>

namespace emplace::cli {
namespace {

constexpr std::int64_t kMaxGroups = 1'000'000;
constexpr std::int64_t kMaxEvaluations = 1'000'000'000;
constexpr const char* kGraphText =
    "NAME[:key=value,...] (emplace list graphs), or FILE[:key=value,...]";
constexpr const char* kClusterText = "Name (emplace list clusters), or a cluster file";

bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code ignored;
  return std::filesystem::weakly_canonical(std::filesystem::absolute(a, ignored), ignored) ==
         std::filesystem::weakly_canonical(std::filesystem::absolute(b, ignored), ignored);
}

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
  if (names.empty()) {
    throw Error(ErrorCode::kUsage,
                fmt::format("{} has no command '{}'", full_name(app), excerpt(name)));
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
    if (argument == "--color" || argument == "--plugin") {
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

// Names all that is missing at once.
[[noreturn]] void fail_incomplete(const CLI::App& command) {
  if (const std::vector<std::string> names = command_names(command); !names.empty()) {
    fail_usage(command, "missing COMMAND; known: " + listed(names));
  }
  std::vector<std::string> missing;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_required() && option->count() == 0) {
      missing.push_back(signature_of(*option));
    }
  }
  fail_usage(command, "missing " + listed(missing));
}

// Names an option that is given too often; `otherwise` tells of other mismatches.
[[noreturn]] void fail_mismatch(const CLI::App& command, const std::string& otherwise) {
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_items_expected_max() == 1 && option->count() > 1) {
      fail_usage(command, fmt::format("{} is given {} times", option->get_name(), option->count()));
    }
  }
  fail_usage(command, otherwise);
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

void refuse_same_files(std::span<const std::pair<std::string_view, std::string>> files) {
  for (std::size_t i = 0; i < files.size(); ++i) {
    const auto& [name, path] = files[i];
    for (std::size_t other = 0; other < i; ++other) {
      if (!path.empty() && is_same_file(path, files[other].second)) {
        throw Error(ErrorCode::kUsage, fmt::format("{} and {} are one file: '{}'",
                                                   files[other].first, name, excerpt(path)));
      }
    }
  }
}

CLI::Option* add_graph(CLI::App& command, std::string& graph) {
  return command.add_option("GRAPH,--graph", graph, kGraphText)->type_name("GRAPH");
}

CLI::Option* add_graphs(CLI::App& command, std::vector<std::string>& graphs) {
  return command.add_option("GRAPH,--graph", graphs, kGraphText)->type_name("GRAPH");
}

CLI::Option* add_cluster(CLI::App& command, std::string& cluster) {
  return command.add_option("--cluster", cluster, kClusterText)
      ->type_name("CLUSTER")
      ->group("Problem");
}

void add_grouping_options(CLI::App& command, ProblemOptions& options) {
  command
      .add_option(
          "--groups", options.groups,
          fmt::format("Approximate number of op groups (grouping {} unless --grouping is set)",
                      kTargetGrouping))
      ->check(CLI::Range(std::int64_t{0}, kMaxGroups))
      ->type_name("N")
      ->group("Problem")
      ->default_str("the finest");
  command
      .add_option("--grouping", options.given_grouping,
                  "How ops are grouped (emplace list groupings)")
      ->type_name("GROUPING")
      ->group("Problem")
      ->default_str(std::string(kDefaultGrouping));
}

void add_problem_options(CLI::App& command, ProblemOptions& options) {
  add_graph(command, options.graph);
  add_cluster(command, options.cluster);
  // Runs after that of --cluster, since it is added later.
  command
      .add_option_function<std::string>(
          "--math",
          [&cluster = options.cluster](const std::string& math) { cluster += ":math=" + math; },
          "Arithmetic of float32 convolutions and matrix products: float32, or tf32 on devices "
          "that have it")
      ->needs(command.get_option("--cluster"))
      ->check(CLI::IsMember({"float32", "tf32"}))
      ->type_name("MODE")
      ->group("Problem")
      ->default_str("as frameworks: convolutions tf32, products float32");
  add_grouping_options(command, options);
}

CLI::Option* add_evaluations(CLI::App& command, std::int64_t& evaluations) {
  return command
      .add_option("--evaluations", evaluations, "How many placements an agent may simulate")
      ->check(CLI::Range(std::int64_t{1}, kMaxEvaluations))
      ->type_name("N")
      ->default_str(std::to_string(evaluations));
}

CLI::Option* add_seed(CLI::App& command, std::int64_t& seed) {
  return command.add_option("--seed", seed, "Seed of all random numbers")
      ->check(CLI::Range(std::int64_t{0}, bench::kMaxRootSeed))
      ->type_name("N")
      ->default_str(std::to_string(seed));
}

CLI::Option* add_threads(CLI::App& command, int& threads) {
  return command.add_option("-j,--threads", threads, "Number of threads; results are the same")
      ->check(CLI::Range(1, 1024))
      ->type_name("N")
      ->default_str("all cores");
}

CLI::Option* add_output(CLI::App& command, std::string& output, const std::string& what,
                        const std::string& type) {
  return command.add_option("-o,--output", output, what)->type_name(type)->group("Output");
}

CLI::Option* add_format(CLI::App& command, std::string& format,
                        const std::vector<std::string>& formats) {
  const std::span<const std::string> first(formats.data(), formats.size() - 1);
  CLI::Option* option =
      command
          .add_option("--format", format,
                      fmt::format("{} or {}", fmt::join(first, ", "), formats.back()))
          ->check(CLI::IsMember(formats))
          ->type_name("FORMAT")
          ->capture_default_str()
          ->group("Output");
  command
      .add_flag_callback(
          "--json", [&format] { format = "json"; }, "Same as --format json")
      ->excludes(option)
      ->group("Output");
  return option;
}

CLI::Option* add_json(CLI::App& command, bool& json, const std::string& what) {
  return command.add_flag("--json", json, what)->group("Output");
}

CLI::Option* add_cell(CLI::App& command, std::string& cell) {
  return command
      .add_option("--cell", cell, "Id of a cell, or its first digits (emplace result DIR --list)")
      ->type_name("ID");
}

void add_agent_options(CLI::App& command, AgentOptions& options) {
  CLI::Option* agent = command
                           .add_option("--agent", options.agent,
                                       "The agent that places: NAME[:key=value,...] (emplace list "
                                       "agents)")
                           ->type_name("AGENT")
                           ->group("Placement");
  CLI::Option* evaluations =
      add_evaluations(command, options.evaluations)->needs(agent)->group("Placement");
  command
      .add_option(
          "--time-limit", options.time_limit_s,
          "How long the agent may search, instead of a number of evaluations; the placement "
          "then differs from run to run")
      ->needs(agent)
      ->excludes(evaluations)
      ->check(CLI::PositiveNumber)
      ->type_name("SECONDS")
      ->group("Placement");
  add_seed(command, options.seed)->needs(agent)->group("Placement");
}

CLI::Option* add_step_options(CLI::App& command, StepOptions& options) {
  add_problem_options(command, options.problem);
  add_agent_options(command, options.agent);
  CLI::Option* placement =
      command.add_option("--placement", options.placement, "Placement file instead of an agent")
          ->type_name("FILE")
          ->group("Placement");
  for (const char* other : {"--agent", "--groups", "--grouping"}) {
    placement->excludes(command.get_option(other));
  }
  CLI::Option* run =
      command
          .add_option("--result", options.run,
                      "Folder of a run instead of an agent: the fastest placement of "
                      "GRAPH and --cluster, or that of --cell")
          ->type_name("DIR")
          ->group("Placement");
  for (const char* other : {"--agent", "--placement", "--groups", "--grouping"}) {
    run->excludes(command.get_option(other));
  }
  CLI::Option* cell = add_cell(command, options.cell)->needs(run)->group("Placement");
  for (const char* other : {"--graph", "--cluster", "--math"}) {
    cell->excludes(command.get_option(other));
  }
  add_threads(command, options.threads)->group("Placement");
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
  } catch (const CLI::RequiredError&) {
    fail_incomplete(chosen_command(app));
  } catch (const CLI::ArgumentMismatch& error) {
    fail_mismatch(chosen_command(app), error.what());
  } catch (const CLI::ParseError& error) {
    fail_usage(chosen_command(app), error.what());
  }
  return false;
}

}  // namespace emplace::cli
