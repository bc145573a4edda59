#pragma once

// The tree of all commands. Parsing walks it, and so do the help texts, the reference pages and
// shell completion; help_text.hpp has what they show about each command and option.

#include "command.hpp"

#include <CLI/App.hpp>

#include <memory>

namespace emplace::cli {

/// Builds the program with all its commands. Parsing fills `invocation` and sets `action` to that
/// of the chosen command. Requires: both outlive the program.
std::unique_ptr<CLI::App> make_program(Invocation& invocation, Action& action);

/// Returns the program's version, git revision, build type and compiler in one line.
std::string version_text();

}  // namespace emplace::cli
