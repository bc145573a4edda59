#pragma once

// What the program's exit codes mean, for the reference, from which the man page has them; main.cpp
// returns them.

#include <array>
#include <string_view>

namespace emplace::cli {

/// Says what one code means.
struct ExitCode {
  int code;
  std::string_view meaning;
};

/// Holds all codes that the program returns.
inline constexpr std::array kExitCodes = {
    ExitCode{0, "All went well."},
    ExitCode{1, "The program failed: an internal error, or no memory was left."},
    ExitCode{2, "The command line is wrong."},
    ExitCode{3, "An input cannot be used: a file, or a name that does not exist."},
    ExitCode{4, "Some cells of a suite failed; the others have results."},
    ExitCode{5, "`compare` found a significant slowdown beyond the threshold."},
    ExitCode{6, "`place` found no placement that fits into memory, and wrote none."},
    ExitCode{130, "The run was interrupted; what it finished is kept."},
};

}  // namespace emplace::cli
