#pragma once

// Where a linear axis has lines with labels.

#include <vector>

namespace emplace::bench {

/// Returns multiples of 1, 2 or 5 times a power of ten, of which at most `most_steps` or so lie
/// between the ends, from the last that is at most `least` to the first that is at least `most`.
/// Requires: least < most, both finite.
std::vector<double> round_steps(double least, double most, int most_steps);

}  // namespace emplace::bench
