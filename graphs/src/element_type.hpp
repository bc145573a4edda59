#pragma once

// Types of elements where a file tells their size and no more.

#include <emplace/graphs/op_graph.hpp>

#include <cstdint>

namespace emplace {

/// Returns a type whose elements have so many bytes; float32 for a size that no type has.
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
