#include "gemm_site.hpp"

#include "site_reader.hpp"

#include <variant>
#include <vector>

namespace emplace::calibrate {
namespace {

// Says whether matrices of these rows and columns are stored in a tensor of this shape. One matrix
// may be stored as a tensor of more axes, of which the last are the columns.
bool is_stored(const std::vector<std::int64_t>& shape, bool is_batch, std::int64_t rows,
               std::int64_t columns) {
  if (shape.empty() || shape.back() != columns) {
    return false;
  }
  return !is_batch || (shape.size() >= 2 && shape[shape.size() - 2] == rows);
}

}  // namespace

std::optional<GemmSite> gemm_site(const OpSite& site) {
  const auto* attributes = std::get_if<GemmAttributes>(&site.op.attributes);
  const bool is_batch = site.op.kind == "batch_matmul";
  if (attributes == nullptr || site.inputs.size() != 2) {
    return std::nullopt;
  }
  SiteReader reader(site);
  const std::size_t first = is_batch ? 1 : 0;
  const GemmSite found{.type = element_type(site).value_or(DataType::kBool),
                       .batch = is_batch ? reader.dimension(0) : 1,
                       .m = reader.dimension(first),
                       .n = reader.dimension(first + 1),
                       .k = reader.dimension(first + 2),
                       .left_transposed = attributes->trans_a,
                       .right_transposed = attributes->trans_b};
  const auto& [type, batch, m, n, k, trans_a, trans_b] = found;
  reader.expect_output(0, type, batch * m * n);
  reader.expect_input(0, type, batch * m * k);
  reader.expect_input(1, type, batch * k * n);
  const bool fits = reader.fits() &&
                    is_stored(site.inputs[0].shape, is_batch, trans_a ? k : m, trans_a ? m : k) &&
                    is_stored(site.inputs[1].shape, is_batch, trans_b ? n : k, trans_b ? k : n);
  return fits ? std::optional(found) : std::nullopt;
}

}  // namespace emplace::calibrate
