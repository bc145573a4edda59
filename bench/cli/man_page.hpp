#pragma once

// The man page emplace(1), from the tree of commands.

#include <CLI/App.hpp>

#include <string>

namespace emplace::cli {

/// Returns the page in the macros of man(7). It has no date, so that it is the same for one version
/// whenever it is written.
std::string man_page(const CLI::App& program);

}  // namespace emplace::cli
