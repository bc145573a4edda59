#pragma once

// Folders of results, and what goes wrong with them.

#include <string>
#include <string_view>

namespace emplace::bench {

/// Throws kIo: "<path>: <what>: <the system's words for errno `error`>".
[[noreturn]] void fail_io(const std::string& path, std::string_view what, int error);

/// Makes a folder and those above it; throws kIo.
void make_folder(const std::string& path);

}  // namespace emplace::bench
