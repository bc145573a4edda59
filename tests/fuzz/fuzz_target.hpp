#pragma once

// A fuzz target is given any bytes at all. What it reads must be a value or an emplace::Error;
// everything else, and what a sanitizer finds, is a defect. The preset `fuzz` lets libFuzzer invent
// inputs; in the other presets the corpus is a test.

#include <cstddef>
#include <cstdint>

/// Tries one input; returns 0.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
