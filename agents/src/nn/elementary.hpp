#pragma once

// Elementary functions from basic operations only, within 1e-15 of the true value. Those of the C
// library may differ in the last bit between processors, and one bit can change an action.

namespace emplace::agents::nn {

/// Returns e^x.
double exp_of(double x);

/// Returns the natural logarithm of x. Requires: x > 0, not denormal.
double log_of(double x);

/// Returns the hyperbolic tangent of x.
double tanh_of(double x);

/// Returns 1 / (1 + e^-x).
double sigmoid_of(double x);

}  // namespace emplace::agents::nn
