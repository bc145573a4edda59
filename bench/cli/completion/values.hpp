#pragma once

// What may stand for the value of an option or for an argument, as a shell offers it.

#include <CLI/App.hpp>

#include <string>
#include <vector>

namespace emplace::cli {

/// Describes the values of an option or argument.
struct Values {
  std::string name{};                ///< as the help calls it: "GRAPH"; empty for a flag
  std::vector<std::string> words{};  ///< names that the program knows
  bool shared = false;               ///< the words are the same for all values of this name
  bool files = false;                ///< it may be the path of a file
  bool folders = false;              ///< it is the path of a folder
};

/// Returns the values of `option`, one of `program` or of its commands.
Values values_of(const CLI::Option& option, const CLI::App& program);

/// Returns the names of an option, with their dashes: {"-o", "--output"}.
std::vector<std::string> names_of(const CLI::Option& option);

/// Returns the options and arguments that stand on a command line after the name of `command`,
/// without those of the program itself.
std::vector<const CLI::Option*> own_options_of(const CLI::App& command);

}  // namespace emplace::cli
