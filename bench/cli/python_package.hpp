#pragma once

// The Python package beside this program, for what needs an interpreter.

#include <string>
#include <vector>

namespace emplace::cli {

/// Whether there is one: in this build, or around a program that pip installed.
bool has_python_package();

/// Becomes `python3 -m emplace` with the same arguments. Finds the package of this build, or that
/// which was installed with this program, or one on Python's path. Returns only by throwing
/// kUnsupported: this build has no package, or there is no interpreter.
[[noreturn]] void run_in_python(const std::vector<std::string>& arguments);

}  // namespace emplace::cli
