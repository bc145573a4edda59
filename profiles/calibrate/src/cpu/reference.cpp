// Plain loops for what a library should do. Sums are taken in float32, in an order that follows
// from sizes alone.

#include "library.hpp"

#include <algorithm>
#include <bit>
#include <vector>

namespace emplace::calibrate {
namespace {

// A number of 16 bits: the upper half of a float32.
struct Bfloat16 {
  std::uint16_t bits = 0;

  // Rounds to the nearest, ties to even.
  explicit Bfloat16(float value) {
    const auto whole = std::bit_cast<std::uint32_t>(value);
    const bool is_nan = (whole & 0x7fffffffU) > 0x7f800000U;
    const std::uint32_t rounded = whole + 0x7fffU + ((whole >> 16U) & 1U);
    bits = static_cast<std::uint16_t>((is_nan ? whole | 0x400000U : rounded) >> 16U);
  }

  explicit operator float() const { return std::bit_cast<float>(std::uint32_t{bits} << 16U); }
};

// Results of one window's axis under which a tap lies on the map.
struct Span {
  std::int64_t begin, end;
};

Span results_of_tap(std::int64_t results, std::int64_t extent, std::int64_t stride,
                    std::int64_t offset) {
  const std::int64_t begin = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
  const std::int64_t last = extent - 1 - offset;
  return {begin, last < 0 ? 0 : std::min(results, last / stride + 1)};
}

template <class T>
class ReferenceConvolution final : public BinaryOp {
 public:
  explicit ReferenceConvolution(const ConvolutionSite& site) : a_(site) {}

  std::int64_t workspace_bytes() const override { return 0; }
  std::string_view library() const override { return "reference"; }

  void run(const CoreTeam& team, const void* first, const void* second, void* result,
           void*) override {
    const T* x = static_cast<const T*>(first);
    const T* y = static_cast<const T*>(second);
    T* z = static_cast<T*>(result);
    switch (a_.pass) {
      case ConvolutionPass::kForward:
        return team.share(a_.n * a_.k * a_.p,
                          [&](std::int64_t row) { make_result_row(x, y, z, row); });
      case ConvolutionPass::kBackwardData:
        return team.share(a_.n * a_.c * a_.h,
                          [&](std::int64_t row) { make_map_row(x, y, z, row); });
      case ConvolutionPass::kBackwardFilter:
        return team.share(a_.k * a_.c, [&](std::int64_t pair) { make_filter(x, y, z, pair); });
    }
  }

 private:
  // Columns under tap s: that of result q is q * stride_across + left_of(s).
  std::int64_t left_of(std::int64_t s) const { return s * a_.dilation - a_.pad_left; }
  std::int64_t top_of(std::int64_t r) const { return r * a_.dilation - a_.pad_top; }
  Span across(std::int64_t s) const {
    return results_of_tap(a_.q, a_.w, a_.stride_across, left_of(s));
  }

  void make_result_row(const T* x, const T* filters, T* y, std::int64_t row) const {
    const std::int64_t p = row % a_.p;
    const std::int64_t k = row / a_.p % a_.k;
    const std::int64_t n = row / a_.p / a_.k;
    std::vector<float> sums(static_cast<std::size_t>(a_.q), 0.0F);
    for (std::int64_t c = 0; c < a_.c; ++c) {
      for (std::int64_t r = 0; r < a_.r; ++r) {
        const std::int64_t h = p * a_.stride_down + top_of(r);
        if (h < 0 || h >= a_.h) {
          continue;
        }
        const T* map_row = x + ((n * a_.c + c) * a_.h + h) * a_.w;
        for (std::int64_t s = 0; s < a_.s; ++s) {
          const float weight = float(filters[((k * a_.c + c) * a_.r + r) * a_.s + s]);
          const auto [begin, end] = across(s);
          const std::int64_t left = left_of(s);
          for (std::int64_t q = begin; q < end; ++q) {
            sums[static_cast<std::size_t>(q)] +=
                weight * float(map_row[q * a_.stride_across + left]);
          }
        }
      }
    }
    std::transform(sums.begin(), sums.end(), y + row * a_.q, [](float sum) { return T(sum); });
  }

  void make_map_row(const T* dy, const T* filters, T* dx, std::int64_t row) const {
    const std::int64_t h = row % a_.h;
    const std::int64_t c = row / a_.h % a_.c;
    const std::int64_t n = row / a_.h / a_.c;
    std::vector<float> sums(static_cast<std::size_t>(a_.w), 0.0F);
    for (std::int64_t r = 0; r < a_.r; ++r) {
      const std::int64_t distance = h - top_of(r);
      const std::int64_t p = distance / a_.stride_down;
      if (distance < 0 || distance % a_.stride_down != 0 || p >= a_.p) {
        continue;
      }
      for (std::int64_t k = 0; k < a_.k; ++k) {
        const T* result_row = dy + ((n * a_.k + k) * a_.p + p) * a_.q;
        for (std::int64_t s = 0; s < a_.s; ++s) {
          const float weight = float(filters[((k * a_.c + c) * a_.r + r) * a_.s + s]);
          const auto [begin, end] = across(s);
          const std::int64_t left = left_of(s);
          for (std::int64_t q = begin; q < end; ++q) {
            sums[static_cast<std::size_t>(q * a_.stride_across + left)] +=
                weight * float(result_row[q]);
          }
        }
      }
    }
    std::transform(sums.begin(), sums.end(), dx + row * a_.w, [](float sum) { return T(sum); });
  }

  void make_filter(const T* dy, const T* x, T* dfilters, std::int64_t pair) const {
    const std::int64_t c = pair % a_.c;
    const std::int64_t k = pair / a_.c;
    for (std::int64_t r = 0; r < a_.r; ++r) {
      const auto [top, bottom] = results_of_tap(a_.p, a_.h, a_.stride_down, top_of(r));
      for (std::int64_t s = 0; s < a_.s; ++s) {
        const auto [begin, end] = across(s);
        const std::int64_t left = left_of(s);
        float sum = 0;
        for (std::int64_t n = 0; n < a_.n; ++n) {
          for (std::int64_t p = top; p < bottom; ++p) {
            const T* result_row = dy + ((n * a_.k + k) * a_.p + p) * a_.q;
            const T* map_row = x + ((n * a_.c + c) * a_.h + p * a_.stride_down + top_of(r)) * a_.w;
            for (std::int64_t q = begin; q < end; ++q) {
              sum += float(result_row[q]) * float(map_row[q * a_.stride_across + left]);
            }
          }
        }
        dfilters[(pair * a_.r + r) * a_.s + s] = T(sum);
      }
    }
  }

  ConvolutionSite a_;
};

template <class T>
class ReferenceGemm final : public BinaryOp {
 public:
  explicit ReferenceGemm(const GemmSite& site) : a_(site) {}

  std::int64_t workspace_bytes() const override { return 0; }
  std::string_view library() const override { return "reference"; }

  void run(const CoreTeam& team, const void* first, const void* second, void* result,
           void*) override {
    team.share(a_.batch * a_.m, [&](std::int64_t row) {
      const std::int64_t b = row / a_.m;
      make_row(static_cast<const T*>(first) + b * a_.m * a_.k,
               static_cast<const T*>(second) + b * a_.k * a_.n, row % a_.m,
               static_cast<T*>(result) + row * a_.n);
    });
  }

 private:
  void make_row(const T* left, const T* right, std::int64_t i, T* row) const {
    std::vector<float> sums(static_cast<std::size_t>(a_.n), 0.0F);
    for (std::int64_t l = 0; l < a_.k; ++l) {
      const float factor = float(left[a_.left_transposed ? l * a_.m + i : i * a_.k + l]);
      const T* from = right + (a_.right_transposed ? l : l * a_.n);
      const std::int64_t step = a_.right_transposed ? a_.k : 1;
      for (std::int64_t j = 0; j < a_.n; ++j) {
        sums[static_cast<std::size_t>(j)] += factor * float(from[j * step]);
      }
    }
    for (std::int64_t j = 0; j < a_.n; ++j) {
      row[j] = T(sums[static_cast<std::size_t>(j)]);
    }
  }

  GemmSite a_;
};

template <template <class> class Op, class Site>
std::unique_ptr<BinaryOp> make(const Site& site) {
  switch (site.type) {
    case DataType::kFloat32:
      return std::make_unique<Op<float>>(site);
    case DataType::kBfloat16:
      return std::make_unique<Op<Bfloat16>>(site);
    default:
      return nullptr;
  }
}

}  // namespace

std::unique_ptr<BinaryOp> make_reference_convolution(const ConvolutionSite& site) {
  return make<ReferenceConvolution>(site);
}

std::unique_ptr<BinaryOp> make_reference_gemm(const GemmSite& site) {
  return make<ReferenceGemm>(site);
}

}  // namespace emplace::calibrate
