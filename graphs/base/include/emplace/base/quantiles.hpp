#pragma once

// The order statistics of the project, one definition each. They differ only in which value they
// take if the count of values leaves a choice. All are exact: no value is rounded on the way.
// Thread-safe.

#include <cstddef>
#include <span>
#include <vector>

namespace emplace {

/// Returns the median; of an even count the mean of the two in the middle. Requires: not empty.
/// O(n).
double median(std::vector<double> values);

/// Returns the larger of the two in the middle of an even count, otherwise the median: a value that
/// occurs. Requires: not empty. O(n).
double upper_median(std::vector<double> values);

/// Returns the quantile of `percent` % by nearest rank: the ceil(percent / 100 * n)-th least of the
/// n values, one that occurs. Requires: `ascending` is sorted and not empty, 1 <= percent <= 100.
double nearest_rank(std::span<const double> ascending, std::size_t percent);

}  // namespace emplace
