#pragma once

// The key under which a profile keeps the measured cost of an op: ops of one key run the same
// kernels on tensors of the same sizes, whatever graph they are in.

#include <emplace/graphs/op_graph.hpp>

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace emplace {

/// Identifies what is run: the op's kind, what its kernel is chosen by, and the type of numbers.
struct OpKey {
  std::string kind{};                  ///< as in Op::kind
  std::vector<std::int64_t> shape{};   ///< as in Op::shape
  DataType type = DataType::kFloat32;  ///< of the first output; kFloat32 if there is none
  std::string attributes{};            ///< attributes_text() of Op::attributes

  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 15 takes the 0 behind <=> for a pointer
  auto operator<=>(const OpKey&) const = default;
};

/// Returns OpKey::type of `op`.
DataType key_type(const Op& op);

/// Returns the key of `op`.
OpKey key_of(const Op& op);

/// Returns a key as people read it: `matmul [8, 4, 2] float32 {"transB": true}`.
std::string to_string(const OpKey& key);

}  // namespace emplace
