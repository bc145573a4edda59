#include "library_site.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace emplace::calibrate {
namespace {

// Shows a site to a reader, which says what it expects.
class SiteReader {
 public:
  explicit SiteReader(const OpSite& site) : site_(site) {}

  // Says whether all that was expected is so.
  bool fits() const { return fits_; }

  // Returns an entry of the op's shape, at least 1; expects that there is one.
  std::int64_t dimension(std::size_t index) {
    const auto& shape = site_.op.shape;
    fits_ = fits_ && index < shape.size() && shape[index] >= 1;
    return fits_ ? shape[index] : 1;
  }

  // Expects that an input or output has so many elements of a type.
  void expect_input(std::size_t index, DataType type, std::int64_t elements) {
    fits_ = fits_ && has(site_.inputs, index, type, elements);
  }
  void expect_output(std::size_t index, DataType type, std::int64_t elements) {
    fits_ = fits_ && has(site_.op.outputs, index, type, elements);
  }

 private:
  static bool has(const std::vector<Output>& tensors, std::size_t index, DataType type,
                  std::int64_t elements) {
    if (index >= tensors.size() || elements < 1) {
      return false;
    }
    const Output& tensor = tensors[index];
    std::int64_t found = 1;
    for (const std::int64_t extent : tensor.shape) {
      if (extent < 1 || __builtin_mul_overflow(found, extent, &found)) {
        return false;
      }
    }
    return tensor.type == type && found == elements && tensor.bytes / size_of(type) == elements;
  }

  const OpSite& site_;
  bool fits_ = true;
};

// Returns the type by which the op of a site is chosen: that of its first input if these are real
// numbers, else that of its first output; kBool, which no library computes, if it has neither.
DataType element_type(const OpSite& site) {
  if (!site.inputs.empty() && site.inputs[0].type != DataType::kInt32 &&
      site.inputs[0].type != DataType::kInt64) {
    return site.inputs[0].type;
  }
  return site.op.outputs.empty() ? DataType::kBool : site.op.outputs[0].type;
}

std::optional<ConvolutionPass> pass_of(const Op& op) {
  if (op.kind == "conv2d") {
    return ConvolutionPass::kForward;
  }
  if (op.kind == "conv2d_backward_data" || op.kind == "conv2d_transpose") {
    return ConvolutionPass::kBackwardData;
  }
  if (op.kind == "conv2d_backward_filter") {
    return ConvolutionPass::kBackwardFilter;
  }
  return std::nullopt;
}

// What windows reach beyond the map, before and after it.
std::pair<std::int64_t, std::int64_t> padding_of(std::int64_t extent, std::int64_t results,
                                                 std::int64_t taps, std::int64_t stride,
                                                 std::int64_t dilation) {
  const std::int64_t overhang = (results - 1) * stride + (taps - 1) * dilation + 1 - extent;
  const std::int64_t all = std::max(overhang, std::int64_t{0});
  return {all / 2, all - all / 2};
}

// The padding above, left, below and right, where the graph says it; one dimension is a map of
// height 1. Less than none has no library.
std::optional<std::array<std::int64_t, 4>> padding_of(const Op& op) {
  const auto* attributes = std::get_if<ConvAttributes>(&op.attributes);
  if (attributes == nullptr ||
      std::ranges::any_of(attributes->window.pads, [](auto pad) { return pad < 0; })) {
    return std::nullopt;
  }
  const auto& pads = attributes->window.pads;
  switch (pads.size()) {
    case 2:
      return std::array<std::int64_t, 4>{0, pads[0], 0, pads[1]};
    case 4:
      return std::array<std::int64_t, 4>{pads[0], pads[1], pads[2], pads[3]};
    default:
      return std::nullopt;
  }
}

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

std::optional<ConvolutionSite> convolution_site(const OpSite& site) {
  const auto pass = pass_of(site.op);
  if (!pass) {
    return std::nullopt;
  }
  SiteReader reader(site);
  ConvolutionSite found{.pass = *pass,
                        .type = element_type(site),
                        .n = reader.dimension(0),
                        .c = reader.dimension(1),
                        .h = reader.dimension(2),
                        .w = reader.dimension(3),
                        .k = reader.dimension(4),
                        .r = reader.dimension(5),
                        .s = reader.dimension(6),
                        .p = reader.dimension(10),
                        .q = reader.dimension(11),
                        .stride_down = reader.dimension(7),
                        .stride_across = reader.dimension(8),
                        .dilation = reader.dimension(9)};
  const std::int64_t maps = found.n * found.c * found.h * found.w;
  const std::int64_t filters = found.k * found.c * found.r * found.s;
  const std::int64_t results = found.n * found.k * found.p * found.q;
  const bool reads_maps = *pass == ConvolutionPass::kForward;
  const bool makes_filters = *pass == ConvolutionPass::kBackwardFilter;
  reader.expect_input(0, found.type, reads_maps ? maps : results);
  reader.expect_input(1, found.type, makes_filters ? maps : filters);
  reader.expect_output(0, found.type, reads_maps ? results : makes_filters ? filters : maps);
  if (const auto padding = padding_of(site.op)) {
    std::tie(found.pad_top, found.pad_left, found.pad_bottom, found.pad_right) =
        std::tuple_cat(*padding);
  } else {
    std::tie(found.pad_top, found.pad_bottom) =
        padding_of(found.h, found.p, found.r, found.stride_down, found.dilation);
    std::tie(found.pad_left, found.pad_right) =
        padding_of(found.w, found.q, found.s, found.stride_across, found.dilation);
  }
  return reader.fits() ? std::optional(found) : std::nullopt;
}

std::optional<GemmSite> gemm_site(const OpSite& site) {
  const auto* attributes = std::get_if<GemmAttributes>(&site.op.attributes);
  const bool is_batch = site.op.kind == "batch_matmul";
  if (attributes == nullptr || site.inputs.size() != 2) {
    return std::nullopt;
  }
  SiteReader reader(site);
  const std::size_t first = is_batch ? 1 : 0;
  const GemmSite found{.type = element_type(site),
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
