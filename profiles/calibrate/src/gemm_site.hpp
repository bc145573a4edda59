#pragma once

// Matrix products as libraries want them: which sides are stored transposed, the op's attributes
// say.

#include <emplace/calibrate/op_site.hpp>

#include <cstdint>
#include <optional>

namespace emplace::calibrate {

/// Describes products of row-major matrices: result[b] = left[b] right[b], M x K times K x N, for b
/// up to `batch`.
struct GemmSite {
  DataType type = DataType::kFloat32;
  std::int64_t batch = 1, m = 1, n = 1, k = 1;
  bool left_transposed = false;   ///< stored as K x M
  bool right_transposed = false;  ///< stored as N x K
};

/// Returns the product that the op of a site is, a matmul or batch_matmul; none if it is not one,
/// or its tensors do not fit its shape.
std::optional<GemmSite> gemm_site(const OpSite& site);

}  // namespace emplace::calibrate
