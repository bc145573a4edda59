#pragma once

// Kinds of ops that only imported graphs have. `emplace calibrate` does not run them, so profiles
// have no measurements of them: their costs follow from their class, which op_class_of() returns as
// for our own kinds (op_kind.hpp). The gradient of such a kind, "exp_backward", is not listed: it
// has its forward op's class and shape.

#include <emplace/graphs/op_kind.hpp>

#include <span>

namespace emplace {

/// Returns the kinds that only imported graphs have, sorted by name.
std::span<const OpKind> imported_op_kinds();

}  // namespace emplace
