#pragma once

// Elementary functions that return the same value, to the last bit, on every machine. They use only
// basic operations (+ - * /), which IEEE 754 defines exactly; those of the C library differ in the
// last bits between versions and processors, and one bit can change a decision. The relative error
// is below 2e-15. Thread-safe.

namespace emplace {

/// Returns e^x.
double exp_of(double x);

/// Returns the natural logarithm of x. Requires: x > 0, not denormal.
double log_of(double x);

}  // namespace emplace
