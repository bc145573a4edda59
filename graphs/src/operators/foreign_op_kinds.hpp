#pragma once

// Operators of other programs of which only the class is known: they are listed by the names that
// traces and files have for them, so that their costs follow from a class, and are no guess.

#include <emplace/graphs/op_kind.hpp>

#include <string_view>

namespace emplace {

/// Returns the class of such an operator; kOther if it is none of them.
OpClass foreign_op_class(std::string_view kind);

}  // namespace emplace
