#pragma once

// The inputs of an operator, which a Kineto trace has if it was recorded with `record_shapes=True`.

#include "pytorch_trace.hpp"

#include <emplace/base/json_cursor.hpp>

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace emplace::pytorch {

/// The bytes of an element whose type is not known.
inline constexpr std::int64_t kUnknownTypeBytes = 4;

/// Returns the first of the arguments of an event that has one of these names, or nothing.
std::optional<JsonCursor> find_argument(const JsonCursor& event,
                                        std::initializer_list<std::string_view> names);

/// Adds the tensors, lists of integers and truth values among the inputs of an operator to `node`.
/// Counts inputs whose type is not known in `unknown_types`. Throws kFormat.
void read_inputs(const JsonCursor& event, TracedNode& node,
                 std::map<std::string, int>& unknown_types);

}  // namespace emplace::pytorch
