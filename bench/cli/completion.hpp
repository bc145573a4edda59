#pragma once

// What a shell offers for the word at the cursor. The scripts of package/completions ask
// `emplace __complete WORD...` at each tab, so that all shells offer the same.

#include <CLI/App.hpp>

#include <span>
#include <string>

namespace emplace::cli {

/// Returns the candidates for the last of `words`, which follow the program's name: one a line,
/// with a tab and a description where there is one. The last line is ":files", ":folders" or
/// ":none": which paths the shell offers in addition.
std::string completions(const CLI::App& program, std::span<const std::string> words);

}  // namespace emplace::cli
