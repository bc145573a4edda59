#pragma once

// Which of an op's inputs is which side of its matrix product, and stored how. An op says only that
// M x K times K x N is computed (op_kind.hpp); whether a side is stored transposed follows from the
// shapes of the inputs. Gradients read the gradient of the result first, whichever side it is.

#include <emplace/calibrate/op_site.hpp>

#include <cstdint>
#include <optional>

namespace emplace::calibrate {

/// Describes one side of a product.
struct ProductSide {
  std::size_t input = 0;    ///< which of the op's inputs
  bool transposed = false;  ///< stored with rows for columns

  bool operator==(const ProductSide&) const = default;
};

/// Describes `batch` products of M x K times K x N, row by row in memory.
struct MatrixProduct {
  std::int64_t batch = 1;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  ProductSide left{};
  ProductSide right{};
};

/// Returns the product that a matmul or batch_matmul computes, or nothing if its inputs have not the
/// sizes of its sides. Where several ways fit, as of square matrices, the one that its phase makes
/// likelier: forward, as little transposed as possible; backward, the gradient of the result
/// times the transposed other side, then the transposed other side times the gradient.
std::optional<MatrixProduct> matrix_product(const OpSite& site);

}  // namespace emplace::calibrate
