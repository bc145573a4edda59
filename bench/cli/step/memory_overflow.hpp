#pragma once

// How it is told that a placement does not fit, and what could be done.

#include "placed_step.hpp"

#include <emplace/sim/memory_curve.hpp>

#include <string>

namespace emplace::cli {

/// Returns a size in 10^9 bytes: "1.234".
std::string gigabytes(std::int64_t bytes);

/// Returns the name of the tensor, or of the op, that took memory.
std::string tensor_name(const PlacedStep& step, const Allocation& allocation);

/// Returns a sentence: when and where memory is exceeded, and by how much.
std::string to_text(const PlacedStep& step, const MemoryOverflow& overflow);

/// Returns a sentence: what would have to move to another device, and where there is room.
std::string advice(const PlacedStep& step, const MemoryOverflow& overflow);

/// Says on standard error, if the step runs out of memory, what overflowed and what to try.
void note_out_of_memory(const PlacedStep& step);

}  // namespace emplace::cli
