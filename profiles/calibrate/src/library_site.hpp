#pragma once

// Dense convolutions and matrix products as libraries want them. Where a graph does not say the
// padding, it follows from sizes: what the windows reach beyond the map is shared by both sides,
// the last getting more. Which sides of a product are stored transposed, the op's attributes say.
// Third-party graphs may not fit.

#include <emplace/calibrate/op_site.hpp>

#include <cstdint>
#include <optional>

namespace emplace::calibrate {

/// Says which of maps x, filters and results y a convolution makes of the other two.
enum class ConvolutionPass : std::uint8_t {
  kForward,         ///< reads x and filters
  kBackwardData,    ///< reads dy and filters, makes dx; a transposed convolution is the same
  kBackwardFilter,  ///< reads dy and x
};

/// Describes a convolution: N maps of C x H x W, K filters of R x S, results P x Q, all NCHW.
struct ConvolutionSite {
  ConvolutionPass pass = ConvolutionPass::kForward;
  DataType type = DataType::kFloat32;
  std::int64_t n = 1, c = 1, h = 1, w = 1;
  std::int64_t k = 1, r = 1, s = 1;
  std::int64_t p = 1, q = 1;
  std::int64_t stride_down = 1, stride_across = 1, dilation = 1;
  std::int64_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
};

/// Returns the convolution that the op of a site is; none if it is not one, or its tensors do not
/// fit its shape.
std::optional<ConvolutionSite> convolution_site(const OpSite& site);

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
