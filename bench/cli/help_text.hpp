#pragma once

// What is told of a command and its options, wherever it is told. All of it is read from the tree
// of program.hpp: a command's summary is its description there.

#include <CLI/App.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace emplace::cli {

/// Columns of help and of lists.
inline constexpr std::size_t kColumns = 80;

/// Sets the command lines that examples_of() returns.
void set_examples(CLI::App& command, const std::vector<std::string>& examples);

/// Returns command lines to copy: at least one for each command that does something.
std::vector<std::string> examples_of(const CLI::App& command);

/// Returns the command as it is typed: "emplace dev fit".
std::string full_name(const CLI::App& command);

/// Returns how the command is called: "emplace train AGENT GRAPH... --cluster CLUSTER...
/// [options]". Required options are named.
std::string usage_of(const CLI::App& command);

/// Returns an option's names and value: "-o, --output FILE"; of an argument "GRAPH".
std::string signature_of(const CLI::Option& option);

/// Returns what an option does, with its default value: "Root of all random streams [default: 0]".
std::string description_of(const CLI::Option& option);

/// Holds options under a title.
struct OptionGroup {
  std::string title{};
  std::vector<const CLI::Option*> options{};
};

/// Returns the arguments and options of a command by group, in the order of the help; last those of
/// the program, which every command takes too.
std::vector<OptionGroup> option_groups_of(const CLI::App& command);

/// Holds commands under a title.
struct CommandGroup {
  std::string title{};
  std::vector<const CLI::App*> commands{};
};

/// Returns the commands of the program, or of a command that has its own, by group.
std::vector<CommandGroup> command_groups_of(const CLI::App& command);

/// Returns the help of a command for a terminal of 80 columns.
std::string help_of(const CLI::App& command);

}  // namespace emplace::cli
