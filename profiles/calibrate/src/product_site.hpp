#pragma once

// Matrix products as libraries want them. A graph does not tell which sides are stored transposed,
// nor, of gradients, which input is the left side; both follow from shapes. Where dimensions are
// equal several readings fit, which cost the same: a forward op is read with as little transposed
// as possible; a backward op, whose first input is the result's gradient, as the gradient of a side
// of such a product. Only where all dimensions are equal may the gradient of the right side be
// taken for that of the left.

#include <emplace/calibrate/op_site.hpp>

#include <cstdint>
#include <optional>

namespace emplace::calibrate {

/// Describes products of row-major matrices: result[b] = left[b] right[b], M x K times K x N, for b
/// up to `batch`.
struct ProductSite {
  DataType type = DataType::kFloat32;
  std::int64_t batch = 1, m = 1, n = 1, k = 1;
  std::size_t left_input = 0;     ///< which input is the left side; the right side is the other
  bool left_transposed = false;   ///< stored as K x M
  bool right_transposed = false;  ///< stored as N x K
  bool accumulates = false;       ///< adds to the result
};

/// Returns the product that the op of a site is, a matmul or batch_matmul; none if it is not one,
/// or its tensors do not fit its shape.
std::optional<ProductSite> product_site(const OpSite& site);

}  // namespace emplace::calibrate
