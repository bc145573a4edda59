#pragma once

// Lists of numbers as JSON that reads back as the same bits: in the fewest digits that identify a
// number among those of its type, and -0 as "-0.0", since "-0" would be the integer 0.

#include <emplace/base/json_cursor.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace emplace::agents::nn {

/// Returns `numbers`, all finite, as a JSON array. For float and double.
template <class Scalar>
std::string write_numbers(std::span<const Scalar> numbers);

/// Reads what write_numbers() wrote; throws kFormat unless it is an array of `count` numbers that a
/// Scalar holds.
template <class Scalar>
std::vector<Scalar> read_numbers(const JsonCursor& json, std::size_t count);

}  // namespace emplace::agents::nn
