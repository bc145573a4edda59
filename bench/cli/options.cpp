#include "options.hpp"

#include "help_text.hpp"
#include "numbers.hpp"
#include "terminal.hpp"

#include <emplace/base/error.hpp>
#include <emplace/base/params.hpp>
#include <emplace/base/text_file.hpp>
#include <emplace/bench/cell.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/side_by_side.hpp>
#include <emplace/profiles/cluster.hpp>
#include <emplace/profiles/what_if.hpp>
#include <emplace/sim/throughput.hpp>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Validators.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>
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
  throw Error(ErrorCode::kUsage,
              fmt::format("unknown command '{}'{} (see {} --help)", excerpt(name),
                          nearest_names(name, names).empty() ? "; known: " + listed(names)
                                                             : suggest_names(name, names),
                          full_name(app)));
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

// Fails at an option before the command if only commands take it: CLI11 would take its value for
// the command. `later` are the arguments that follow.
void refuse_before_command(const CLI::App& app, std::string_view argument,
                           std::span<const char* const> later) {
  const std::string option(argument.substr(0, argument.find('=')));
  const std::vector<std::string> takers = commands_with(app, option);
  if (takers.empty()) {
    return;
  }
  const std::vector<std::string> names = command_names(app);
  const auto command = std::ranges::find_if(later, [&](const std::string& other) {
    return std::ranges::find(names, other) != names.end();
  });
  throw Error(ErrorCode::kUsage,
              fmt::format("'{}' goes after the command{}", option,
                          command == later.end() ? ", one of " + listed(takers)
                                                 : fmt::format(": {} {} ... {} ...", full_name(app),
                                                               *command, option)));
}

// CLI11 would take a mistyped command for a value too many; say what it is.
void check_command(const CLI::App& app, int argc, const char* const* argv) {
  const CLI::App* level = &app;
  for (int i = 1; i < argc && !level->get_subcommands({}).empty(); ++i) {
    const std::string argument = argv[i];
    const CLI::Option* const option =
        argument.starts_with("-") ? app.get_option_no_throw(argument) : nullptr;
    if (option == nullptr && level == &app && argument.starts_with("-")) {
      refuse_before_command(app, argument, {argv + i + 1, argv + argc});
    }
    if (option != nullptr && option->get_items_expected_max() > 0) {
      ++i;
    } else if (!argument.starts_with("-")) {
      level = &find_command(*level, argument);
    }
  }
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

void expect_writable(const std::string& path) {
  if (path.empty()) {
    return;
  }
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  const fs::path target = error ? fs::path(path) : real;
  const fs::path folder = target.has_parent_path() ? target.parent_path() : ".";
  const auto fail = [&](int number) {
    throw Error(ErrorCode::kIo, fmt::format("cannot write '{}': {}", path, std::strerror(number)));
  };
  if (::access(target.c_str(), F_OK) != 0 && errno != ENOENT) {
    fail(errno);
  }
  if (!fs::is_directory(folder, error)) {
    throw Error(ErrorCode::kIo,
                fmt::format("cannot write '{}': there is no folder '{}'", path, folder.string()));
  }
  if (fs::is_directory(target, error)) {
    fail(EISDIR);
  }
  // A file is replaced by a new one in its folder; a device or a pipe is written to.
  const bool in_place = fs::exists(target, error) && !fs::is_regular_file(target, error);
  if (in_place ? ::access(target.c_str(), W_OK) != 0 : ::access(folder.c_str(), W_OK | X_OK) != 0) {
    fail(errno);
  }
}

void expect_ending(std::string_view option, std::string_view path,
                   std::span<const std::string_view> endings) {
  const std::string ending = std::filesystem::path(path).extension().string();
  if (!ending.empty() && std::ranges::none_of(endings, [&](std::string_view known) {
        return path.ends_with(known);
      })) {
    throw Error(ErrorCode::kUsage, fmt::format("{}: expected a name that ends in {}, found '{}'",
                                               option, fmt::join(endings, ", "), excerpt(path)));
  }
}

CLI::Option* add_graph(CLI::App& command, std::string& graph) {
  return command.add_option("GRAPH", graph, kGraphText)->type_name("GRAPH");
}

CLI::Option* add_graphs(CLI::App& command, std::vector<std::string>& graphs) {
  return command.add_option("GRAPH", graphs, kGraphText)->type_name("GRAPH");
}

CLI::Option* add_cluster(CLI::App& command, std::string& cluster) {
  return command.add_option("--cluster", cluster, kClusterText)
      ->type_name("CLUSTER")
      ->group("Problem");
}

namespace {

// Returns `graph`, one or several, with a parameter "KEY=VALUE", which replaces the one that it
// has.
std::string with_parameter(const std::string& graph, const std::string& parameter) {
  const std::size_t equals = parameter.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw Error(
        ErrorCode::kUsage,
        fmt::format("--set '{}': expected link:NAME.FIELD=VALUE, device:NAME.FIELD=VALUE or "
                    "a parameter of the graph, KEY=VALUE",
                    excerpt(parameter)));
  }
  if (names_several_graphs(graph)) {
    std::vector<std::string> graphs = split_graphs(graph);
    for (std::string& one : graphs) {
      one = with_parameter(one, parameter);
    }
    return join_graphs(graphs);
  }
  Spec spec;
  if (names_graph_file(graph)) {
    const GraphFile file = find_graph_file(graph);
    if (!file.parameters.empty()) {
      spec = Spec::parse("graph:" + file.parameters);
    }
    spec.name = file.parameters.empty()
                    ? graph
                    : graph.substr(0, graph.size() - file.parameters.size() - 1);
  } else {
    spec = Spec::parse(graph);
  }
  spec.set(parameter.substr(0, equals), parameter.substr(equals + 1));
  return spec.text();
}

}  // namespace

void ProblemOptions::add_parameters() {
  if (!graph.empty()) {
    std::erase_if(changes, [&](const std::string& change) {
      const bool is_of_graph = !changes_cluster(change);
      if (is_of_graph) {
        graph = with_parameter(graph, change);
      }
      return is_of_graph;
    });
  }
  if (cluster.empty()) {
    return;
  }
  std::erase_if(changes, [&](const std::string& change) {
    const bool is_of_cluster = changes_cluster(change);
    if (is_of_cluster) {
      cluster = with_changes(cluster, {change});
    }
    return is_of_cluster;
  });
  if (std::exchange(no_framework, false)) {
    cluster = without_framework(cluster);
  }
  if (!constraints_file.empty()) {
    const std::string path = std::exchange(constraints_file, {});
    cluster = with_constraints(cluster, read_constraints(read_text_file(path), path));
  }
  cluster = with_constraints(cluster, std::exchange(constraints, {}));
}

void add_constraint_options(CLI::App& command, ProblemOptions& options) {
  const auto add = [&command](const std::string& name, std::vector<std::string>& values,
                              const std::string& text, const std::string& type) {
    command.add_option(name, values, text + "; may be given again")
        ->allow_extra_args(false)
        ->type_name(type)
        ->group("Constraints");
  };
  add("--pin", options.constraints.pins,
      "Ops of this scope or name, * is any text, run on this device", "SCOPE=DEVICE");
  add("--together", options.constraints.together, "Ops of this scope or name share a device",
      "SCOPE");
  add("--exclude", options.constraints.excluded, "This device takes no ops", "DEVICE");
  add("--memory-limit", options.constraints.memory,
      "As if the device had no more memory, or, below 0, as much less: gpu:0=20GB, gpu:*=-2GB",
      "DEVICE=SIZE");
  command
      .add_option("--granularity", options.constraints.granularity,
                  "Ops share a device whose scopes begin with the same N elements: 1 for whole "
                  "layers, more for their parts")
      ->transform(whole_number_from(1, kMaxGranularity))
      ->type_name("N")
      ->group("Constraints")
      ->default_str("none do");
  command
      .add_option("--constraints", options.constraints_file,
                  "JSON file of constraints (emplace-constraints)")
      ->type_name("FILE")
      ->group("Constraints");
}

void add_grouping_options(CLI::App& command, ProblemOptions& options) {
  command
      .add_option(
          "--groups", options.groups,
          fmt::format("Approximate number of op groups (grouping {} unless --grouping is set)",
                      kTargetGrouping))
      ->transform(whole_number_from(1, kMaxGroups))
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
  command
      .add_option_function<std::vector<std::string>>(
          "GRAPH",
          [&graph = options.graph](const std::vector<std::string>& graphs) {
            graph = join_graphs(graphs);
          },
          std::string(kGraphText) + "; several run side by side, \"A + B\" in files")
      ->type_name("GRAPH");
  add_cluster(command, options.cluster);
  command
      .add_flag("--no-framework", options.no_framework,
                "Ops take what they took alone, not what they take in a framework's step")
      ->group("Problem");
  command
      .add_option("--set", options.changes,
                  "What if: link:NAME.bandwidth=2x, link:NAME.latency=5us, "
                  "device:NAME.memory=40GB, device:NAME.speed=2x, batch=64 or another parameter of "
                  "GRAPH; may be given again")
      ->allow_extra_args(false)
      ->type_name("CHANGE")
      ->group("Problem");
  add_grouping_options(command, options);
  add_constraint_options(command, options);
}

void add_objective_options(CLI::App& command, ProblemOptions& options) {
  CLI::Option* objective =
      command
          .add_option("--objective", options.objective,
                      "What is to be short: one step alone, or the time between the ends of steps "
                      "that overlap without end")
          ->check(CLI::IsMember({"step", "throughput"}))
          ->type_name("OBJECTIVE")
          ->group("Problem")
          ->default_str(options.objective);
  command
      .add_option("--steps-in-flight", options.steps_in_flight,
                  "With --objective throughput: how many steps overlap. A step reads the weights "
                  "that so many steps earlier left, so 1 means none is stale")
      ->needs(objective)
      ->transform(whole_number_from(1, kMaxStepsInFlight))
      ->type_name("N")
      ->group("Problem")
      ->default_str("a micro-batch for each device, at least 2");
}

CLI::Option* add_evaluations(CLI::App& command, std::int64_t& evaluations) {
  return command
      .add_option("--evaluations", evaluations,
                  "How many placements an agent may simulate, such as 1e4")
      ->transform(whole_number_from(1, kMaxEvaluations))
      ->type_name("N")
      ->default_str(std::to_string(evaluations));
}

CLI::Option* add_seed(CLI::App& command, std::int64_t& seed) {
  return command.add_option("--seed", seed, "Seed of all random numbers")
      ->transform(whole_number_from(0, bench::kMaxRootSeed))
      ->type_name("N")
      ->default_str(std::to_string(seed));
}

CLI::Option* add_output(CLI::App& command, std::string& output, const std::string& what,
                        const std::string& type) {
  return command.add_option("-o,--output", output, what)->type_name(type)->group("Output");
}

void add_format(CLI::App& command, std::string& format, std::span<const AnswerFormat> formats) {
  std::vector<std::string> names = {"terminal"};
  for (const AnswerFormat& each : formats) {
    names.emplace_back(each.name);
  }
  const std::span<const std::string> first(names.data(), names.size() - 1);
  command
      .add_option("--format", format, fmt::format("{} or {}", fmt::join(first, ", "), names.back()))
      ->check(CLI::IsMember(names))
      ->type_name("FORMAT")
      ->default_str("by the ending of --output, else terminal")
      ->group("Output");
}

std::string choose_format(bool json, const std::string& given, std::string_view output,
                          std::span<const AnswerFormat> formats) {
  if (json || (given.empty() && output.ends_with(".json"))) {
    return "json";
  }
  const auto named = std::ranges::find(formats, given, &AnswerFormat::name);
  if (named != formats.end() && named->needs_file && output.empty()) {
    throw Error(ErrorCode::kUsage, fmt::format("--format {} needs --output FILE", given));
  }
  if (!given.empty()) {
    return given;
  }
  std::vector<std::string_view> endings = {".txt", ".json"};
  std::ranges::transform(formats, std::back_inserter(endings), &AnswerFormat::ending);
  expect_ending("--output", output, endings);
  const auto implied = std::ranges::find_if(
      formats, [&](const AnswerFormat& format) { return output.ends_with(format.ending); });
  return implied == formats.end() ? "terminal" : std::string(implied->name);
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
          "How long the agent may search (90, 90s, 2m, 1h), instead of a number of evaluations; "
          "the placement then differs from run to run")
      ->needs(agent)
      ->excludes(evaluations)
      ->transform(duration())
      ->type_name("TIME")
      ->group("Placement");
  add_seed(command, options.seed)->needs(agent)->group("Placement");
}

CLI::Option* add_placement(CLI::App& command, std::string& placement) {
  return command
      .add_option("--placement", placement,
                  "Placement file, or the results of a run: DIR takes the fastest placement of "
                  "GRAPH and --cluster, DIR:CELL that of a cell (emplace report DIR --table cells)")
      ->type_name("FILE")
      ->group("Placement");
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
