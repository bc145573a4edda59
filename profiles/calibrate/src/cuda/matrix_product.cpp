#include "matrix_product.hpp"

#include <array>
#include <functional>
#include <numeric>

namespace emplace::calibrate {
namespace {

// Rows and columns of each of a batch of matrices.
struct Extents {
  std::int64_t rows, columns;

  bool operator==(const Extents&) const = default;
};

// A way to take two inputs as sides.
struct Way {
  ProductSide left, right;
};

constexpr std::array kForward = {
    Way{{0, false}, {1, false}}, Way{{0, false}, {1, true}}, Way{{0, true}, {1, false}},
    Way{{0, true}, {1, true}},
};

// Of C = A B: dC B', A' dC; with B stored transposed dC B, dC' A; with A stored transposed B dC'.
constexpr std::array kBackward = {
    Way{{0, false}, {1, true}},  Way{{1, true}, {0, false}}, Way{{0, false}, {1, false}},
    Way{{0, true}, {1, false}},  Way{{1, false}, {0, true}}, Way{{1, false}, {0, false}},
    Way{{0, true}, {1, true}},   Way{{1, true}, {0, true}},
};

bool fits(const ProductSide& side, const std::array<Extents, 2>& stored, const Extents& wanted) {
  const Extents& found = stored[side.input];
  return (side.transposed ? Extents{found.columns, found.rows} : found) == wanted;
}

}  // namespace

std::optional<MatrixProduct> matrix_product(const OpSite& site) {
  const bool is_batch = site.op.kind == "batch_matmul";
  const std::vector<std::int64_t>& shape = site.op.shape;
  const std::size_t first = is_batch ? 1 : 0;
  if (shape.size() != first + 3 || site.inputs.size() != 2) {
    return std::nullopt;
  }
  MatrixProduct product{.batch = is_batch ? shape[0] : 1,
                        .m = shape[first],
                        .n = shape[first + 1],
                        .k = shape[first + 2]};
  std::array<Extents, 2> stored{};
  for (std::size_t i = 0; i < stored.size(); ++i) {
    const std::vector<std::int64_t>& input = site.inputs[i].shape;
    if (input.empty()) {
      return std::nullopt;
    }
    const std::int64_t elements =
        std::accumulate(input.begin(), input.end(), std::int64_t{1}, std::multiplies<>{});
    const std::int64_t rows = elements / (product.batch * input.back());
    stored[i] = {rows, input.back()};
  }
  const std::span<const Way> ways = site.op.phase == Phase::kBackward ? std::span<const Way>(kBackward)
                                                                      : std::span<const Way>(kForward);
  for (const Way& way : ways) {
    if (fits(way.left, stored, {product.m, product.k}) &&
        fits(way.right, stored, {product.k, product.n})) {
      product.left = way.left;
      product.right = way.right;
      return product;
    }
  }
  return std::nullopt;
}

}  // namespace emplace::calibrate
