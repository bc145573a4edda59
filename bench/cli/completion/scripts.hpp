#pragma once

// Scripts that let a shell complete command lines of emplace. Names of agents, graphs and so on are
// written into them, so that a shell starts no program to complete a word.

#include <CLI/App.hpp>

#include <string>

namespace emplace::cli {

/// Returns a script for bash.
std::string bash_completion(const CLI::App& program);

/// Returns a script for zsh.
std::string zsh_completion(const CLI::App& program);

/// Returns a script for fish.
std::string fish_completion(const CLI::App& program);

}  // namespace emplace::cli
