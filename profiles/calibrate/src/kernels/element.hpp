#pragma once

// Numbers as kernels read and write them, on the CPU and on GPUs: computed in float32, stored as
// float32 or bfloat16.

#include <emplace/graphs/op.hpp>

#include <cstdint>

// Marks functions that kernels call, and bodies of kernels (lambdas).
#ifdef __CUDACC__
#define EMPLACE_DEVICE __host__ __device__
#define EMPLACE_BODY __device__
#else
#define EMPLACE_DEVICE
#define EMPLACE_BODY
#endif

namespace emplace::calibrate::kernels {

/// Holds a number of 16 bits: the upper half of a float32.
struct Bfloat16 {
  std::uint16_t bits = 0;

  Bfloat16() = default;

  /// Rounds to the nearest, ties to even.
  EMPLACE_DEVICE explicit Bfloat16(float value) {
    const auto whole = __builtin_bit_cast(std::uint32_t, value);
    const bool is_nan = (whole & 0x7fffffffU) > 0x7f800000U;
    const std::uint32_t rounded = whole + 0x7fffU + ((whole >> 16U) & 1U);
    bits = static_cast<std::uint16_t>((is_nan ? whole | 0x400000U : rounded) >> 16U);
  }

  // NOLINTNEXTLINE(google-explicit-constructor): bodies of ops compute in float
  EMPLACE_DEVICE operator float() const {
    return __builtin_bit_cast(float, static_cast<std::uint32_t>(bits) << 16U);
  }
};

/// Tells the type of elements by which graphs know `T`.
template <class T>
inline constexpr DataType kDataTypeOf = DataType::kFloat32;
template <>
inline constexpr DataType kDataTypeOf<Bfloat16> = DataType::kBfloat16;

/// Reads integers of 32 or 64 bits that choose among `range` things. What is out of range, as
/// random data of a calibration is, is folded into it.
struct Ids {
  const void* data = nullptr;
  bool is_wide = false;
  std::int64_t range = 1;

  EMPLACE_DEVICE std::int64_t operator[](std::int64_t i) const {
    const std::int64_t id = is_wide ? static_cast<const std::int64_t*>(data)[i]
                                    : static_cast<const std::int32_t*>(data)[i];
    if (id >= 0 && id < range) {
      return id;
    }
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(id) %
                                     static_cast<std::uint64_t>(range));
  }
};

}  // namespace emplace::calibrate::kernels
