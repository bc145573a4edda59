#pragma once

// A fuzz target is given any bytes at all. What it reads must be a value or an emplace::Error;
// everything else, and what a sanitizer finds, is a defect. The preset `fuzz` lets libFuzzer invent
// inputs; in the other presets the corpus is a test.

#include <string_view>

namespace emplace::fuzz {

/// Tries one input, which each target does in its own way. Throws Error for bad input.
void try_input(std::string_view input);

}  // namespace emplace::fuzz
