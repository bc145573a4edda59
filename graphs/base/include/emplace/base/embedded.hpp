#pragma once

// JSON files of the source tree (device profiles, clusters, suites) compiled into the libraries, so
// that a program works wherever it is copied. CMake writes one list for each data folder.

#include <span>

namespace emplace::embedded {

/// One file: its name without folder and ending, and its text.
struct Document {
  const char* name;
  const char* text;
};

}  // namespace emplace::embedded
