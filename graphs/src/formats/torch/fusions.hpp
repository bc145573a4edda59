#pragma once

// Layers that models write by hand, as one operator each, as importers of other formats see them.

#include "program.hpp"

namespace emplace::torch_program {

/// Replaces root mean square normalization, x / sqrt(mean(x x) + e) and a product with the scale,
/// by one call. O(calls log calls).
void fuse_rms_norms(Program& program);

}  // namespace emplace::torch_program
