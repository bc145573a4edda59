#include "product_site.hpp"

#include "kernels/skeleton.hpp"

#include <array>
#include <span>
#include <tuple>

namespace emplace::calibrate {
namespace {

using kernels::SiteReader;

// Says whether matrices of these rows and columns are stored in a tensor of this shape. One matrix
// may be stored as a tensor of more axes, of which the last are the columns.
bool is_stored(const std::vector<std::int64_t>& shape, bool is_batch, std::int64_t rows,
               std::int64_t columns) {
  if (shape.empty() || shape.back() != columns) {
    return false;
  }
  return !is_batch || (shape.size() >= 2 && shape[shape.size() - 2] == rows);
}

// One way to read a product: which input is the left side, and which sides are stored transposed.
struct Reading {
  std::size_t left;
  bool left_transposed;
  bool right_transposed;
};

constexpr std::array kForwardReadings{
    Reading{0, false, false},
    Reading{0, false, true},
    Reading{0, true, false},
    Reading{0, true, true},
};

// The gradient times the other side, or the other side times the gradient.
constexpr std::array kBackwardReadings{
    Reading{0, false, true}, Reading{1, true, false},  Reading{0, false, false},
    Reading{0, true, false}, Reading{1, false, false}, Reading{1, false, true},
    Reading{0, true, true},  Reading{1, true, true},
};

}  // namespace

std::optional<ProductSite> product_site(const OpSite& site) {
  const bool is_batch = site.op.kind == "batch_matmul";
  if (!is_batch && site.op.kind != "matmul") {
    return std::nullopt;
  }
  SiteReader reader(site);
  const std::size_t first = is_batch ? 1 : 0;
  ProductSite found{.type = kernels::element_type(site).value_or(DataType::kBool),
                    .batch = is_batch ? reader.dimension(0) : 1,
                    .m = reader.dimension(first),
                    .n = reader.dimension(first + 1),
                    .k = reader.dimension(first + 2)};
  const auto [m, n, k] = std::tuple(found.m, found.n, found.k);
  reader.expect_output(0, found.type, found.batch * m * n);
  const bool is_backward = site.op.phase == Phase::kBackward;
  for (const auto& [left, left_transposed, right_transposed] :
       is_backward ? std::span<const Reading>(kBackwardReadings) : kForwardReadings) {
    SiteReader sides = reader;
    sides.expect_input(static_cast<std::int64_t>(left), found.type, found.batch * m * k);
    sides.expect_input(static_cast<std::int64_t>(1 - left), found.type, found.batch * k * n);
    if (sides.fits() &&
        is_stored(site.inputs[left].shape, is_batch, left_transposed ? k : m,
                  left_transposed ? m : k) &&
        is_stored(site.inputs[1 - left].shape, is_batch, right_transposed ? n : k,
                  right_transposed ? k : n)) {
      found.left_input = left;
      found.left_transposed = left_transposed;
      found.right_transposed = right_transposed;
      return found;
    }
  }
  return std::nullopt;
}

}  // namespace emplace::calibrate
