#pragma once

// How long an op takes for what it computes and moves: the forms that a device profile may use;
// each class of ops (or each case of a class) has one. With the peak P in FLOP/us of the op's
// precision, the bandwidth W in bytes/us, F FLOPs and B bytes,
//
//     a = F / (e_c P)        b = B / (e_m W)
//
//     maximum   t = t0 + max(a, b)             (Williams, Waterman and Patterson 2009)
//     smooth    t = t0 + sqrt(a^2 + b^2)       compute and memory hide each other in part
//     tiles     as smooth, with a of the tiles that a matrix product is computed in
//
// A product of M x K by K x N matrices, B of them, is computed in squares of T x T results, one at
// a time on each of S multiprocessors. There are n = ceil(M / T) ceil(N / T) B / S rounds of tiles;
// at least one, although a deep product is cut along K if there are fewer tiles than
// multiprocessors. So
//
//     a = min over T = 128, 64, 32 of  sqrt(n^2 + min(1, 256 / K)^2) 2 T^2 K S / (e_T e_c P)
//
// with e_128 = 1: small tiles waste less on edges, but read each number more often. Ops that are
// not products use the smooth form.
//
// e_c may exceed 1 where an algorithm saves multiplications (Winograd's convolutions), and P
// depends on the precision: float32, TF32 or float16. All functions are thread-safe and O(1).

#include <emplace/graphs/op.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace emplace {

/// Names the precision in which an op multiplies; each has its peak.
enum class Precision : std::uint8_t {
  kFloat32,  ///< of the plain cores
  kTf32,     ///< of the tensor cores, which keep 10 bits of each factor's fraction
  kFloat16,  ///< float16 or bfloat16, of the tensor cores where there are any
};

/// The names of the precisions, in the order of Precision.
inline constexpr std::array<std::string_view, 3> kPrecisions = {"float32", "tf32", "float16"};

/// Returns the name.
inline std::string_view to_string(Precision precision) {
  return kPrecisions[static_cast<std::size_t>(precision)];
}

/// A factor for each Precision.
using StepFactors = std::array<double, kPrecisions.size()>;

/// In which precision ops on float32 tensors multiply, on devices that have TF32.
enum class MathMode : std::uint8_t {
  kFramework,  ///< as frameworks do by default: convolutions in TF32, products in float32
  kFloat32,    ///< all in float32
  kTf32,       ///< convolutions and products in TF32
};

/// The names of the modes, in the order of MathMode.
inline constexpr std::array<std::string_view, 3> kMathModes = {"framework", "float32", "tf32"};

/// Returns the name.
inline std::string_view to_string(MathMode math) {
  return kMathModes[static_cast<std::size_t>(math)];
}

/// The sizes of matrix products: `batches` of rows x depth times depth x columns.
struct Gemm {
  std::int64_t batches = 0;  ///< 0: the op is no matrix product
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t depth = 0;
};

/// What an op does.
struct OpWork {
  double flops = 0;
  double bytes = 0;  ///< read and written
  Gemm product{};
};

/// Returns the work of an op of `kind` and `shape` (op_kind.hpp) with these FLOPs and bytes.
OpWork op_work(std::string_view kind, std::span<const std::int64_t> shape, double flops,
               double bytes);

/// Returns the work of `op`.
OpWork op_work(const Op& op);

/// The peak rates of a device in some precision.
struct DeviceRates {
  double flops_per_us = 0;           ///< P
  double bytes_per_us = 0;           ///< W
  std::int32_t multiprocessors = 0;  ///< S; 0 if unknown: products are of the smooth form
};

/// Names a form; see the head of this file.
enum class CostForm : std::uint8_t { kMaximum, kSmooth, kTiles };

/// The names of the forms, in the order of CostForm.
inline constexpr std::array<std::string_view, 3> kCostForms = {"maximum", "smooth", "tiles"};

/// Returns the name.
inline std::string_view to_string(CostForm form) {
  return kCostForms[static_cast<std::size_t>(form)];
}

/// The largest compute efficiency: a 3x3 convolution by Winograd's F(4x4, 3x3) multiplies a quarter
/// as often.
inline constexpr double kMaxComputeEfficiency = 4;

/// The least efficiency and the longest fixed time of any op. No real device comes near: a value
/// outside has a wrong unit.
inline constexpr double kMinEfficiency = 1e-6;
inline constexpr double kMaxFixedUs = 1e6;

/// The numbers of a form for one class of ops, and how far they may be wrong.
struct Roofline {
  double fixed_us = 0;            ///< t0, in [0, kMaxFixedUs]
  double compute_efficiency = 1;  ///< e_c, in [kMinEfficiency, kMaxComputeEfficiency]
  double memory_efficiency = 1;   ///< e_m, in [kMinEfficiency, 1]
  double relative_deviation =
      0;  ///< of its costs: see Cost::relative deviation; 0 to kMaxRelativeDeviation
  CostForm form = CostForm::kMaximum;
  std::array<double, 2> tile_efficiencies = {1, 1};  ///< e_64 and e_32, in (0, 1]; for `tiles`

  bool operator==(const Roofline&) const = default;
};

/// Returns the time that `roofline` predicts for `work` on a device of `rates`: microseconds.
double roofline_us(const Roofline& roofline, const OpWork& work, const DeviceRates& rates);

}  // namespace emplace
