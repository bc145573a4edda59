#pragma once

// When many hypotheses are tested at once, some p-values are small by chance. Holm's correction
// (1979) raises them so that the chance of any false rejection among all tests stays below the
// level at which they are compared, whatever the tests have to do with one another:
//
//     adjusted p of the i-th least of m = max over j <= i of min(1, (m - j + 1) p of the j-th)

#include <span>
#include <vector>

namespace emplace::bench {

/// Returns the adjusted p-values, in the order of `p`. O(m log m). Thread-safe.
std::vector<double> holm(std::span<const double> p);

}  // namespace emplace::bench
