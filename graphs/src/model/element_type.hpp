#pragma once

// Types of elements: of which size, and which have derivatives.

#include <emplace/graphs/op_graph.hpp>

#include <cstdint>

namespace emplace {

/// Says whether elements are real numbers, which have derivatives.
inline bool is_floating(DataType type) {
  return type == DataType::kFloat32 || type == DataType::kFloat16 || type == DataType::kBfloat16 ||
         type == DataType::kFloat64;
}

/// Returns a type whose elements have so many bytes, where a file tells no more; float32 for a size
/// that no type has.
inline DataType type_of_size(std::int64_t element_bytes) {
  switch (element_bytes) {
    case 1:
      return DataType::kInt8;
    case 2:
      return DataType::kFloat16;
    case 8:
      return DataType::kInt64;
    default:
      return DataType::kFloat32;
  }
}

}  // namespace emplace
