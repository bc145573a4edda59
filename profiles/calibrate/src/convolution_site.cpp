#include "convolution_site.hpp"

#include "site_reader.hpp"

#include <algorithm>
#include <array>
#include <tuple>
#include <variant>

namespace emplace::calibrate {
namespace {

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

// What windows reach beyond the map.
std::int64_t overhang(std::int64_t extent, std::int64_t results, std::int64_t taps,
                      std::int64_t stride, std::int64_t dilation) {
  return std::max((results - 1) * stride + (taps - 1) * dilation + 1 - extent, std::int64_t{0});
}

std::int64_t padding_before(std::int64_t extent, std::int64_t results, std::int64_t taps,
                            std::int64_t stride, std::int64_t dilation) {
  return overhang(extent, results, taps, stride, dilation) / 2;
}

std::int64_t padding_after(std::int64_t extent, std::int64_t results, std::int64_t taps,
                           std::int64_t stride, std::int64_t dilation) {
  return overhang(extent, results, taps, stride, dilation) -
         padding_before(extent, results, taps, stride, dilation);
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

}  // namespace

std::optional<ConvolutionSite> convolution_site(const OpSite& site) {
  const auto pass = pass_of(site.op);
  if (!pass) {
    return std::nullopt;
  }
  SiteReader reader(site);
  ConvolutionSite found{.pass = *pass,
                        .type = element_type(site).value_or(DataType::kBool),
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
    const auto& [h, w, p, q] = std::tie(found.h, found.w, found.p, found.q);
    found.pad_top = padding_before(h, p, found.r, found.stride_down, found.dilation);
    found.pad_left = padding_before(w, q, found.s, found.stride_across, found.dilation);
    found.pad_bottom = padding_after(h, p, found.r, found.stride_down, found.dilation);
    found.pad_right = padding_after(w, q, found.s, found.stride_across, found.dilation);
  }
  return reader.fits() ? std::optional(found) : std::nullopt;
}

}  // namespace emplace::calibrate
