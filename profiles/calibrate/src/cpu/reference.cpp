// Plain loops for what a library should do. Sums are taken in float32, in an order that follows
// from sizes alone.

#include "cpu_program.hpp"

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
class ReferenceConvolution final : public CpuProgram {
 public:
  explicit ReferenceConvolution(const ConvolutionSite& site) : a_(site) {}

  std::string_view library() const override { return "reference"; }

  // All passes are the same sum over taps, taken by results y, by pixels x or by the taps of
  // filters w.
  void run(const CoreTeam& team, const OpBuffers& buffers) override {
    const std::int64_t xs = a_.h * a_.w;
    const std::int64_t ws = a_.r * a_.s;
    const std::int64_t ys = a_.p * a_.q;
    const T* first = static_cast<const T*>(buffers.inputs[0]);
    const T* second = static_cast<const T*>(buffers.inputs[1]);
    T* made = static_cast<T*>(buffers.outputs[0]);
    switch (a_.pass) {
      case ConvolutionPass::kForward:
        return make_maps(team, a_.n * a_.k, ys, made, [&](std::int64_t map, float* sums) {
          const std::int64_t n = map / a_.k;
          const std::int64_t k = map % a_.k;
          for (std::int64_t c = 0; c < a_.c; ++c) {
            for_taps([&, x = first + (n * a_.c + c) * xs, w = second + (k * a_.c + c) * ws](
                         Place at) { sums[at.y] += float(w[at.w]) * float(x[at.x]); });
          }
        });
      case ConvolutionPass::kBackwardData:
        return make_maps(team, a_.n * a_.c, xs, made, [&](std::int64_t map, float* sums) {
          const std::int64_t n = map / a_.c;
          const std::int64_t c = map % a_.c;
          for (std::int64_t k = 0; k < a_.k; ++k) {
            for_taps([&, y = first + (n * a_.k + k) * ys, w = second + (k * a_.c + c) * ws](
                         Place at) { sums[at.x] += float(w[at.w]) * float(y[at.y]); });
          }
        });
      case ConvolutionPass::kBackwardFilter:
        return make_maps(team, a_.k * a_.c, ws, made, [&](std::int64_t map, float* sums) {
          const std::int64_t k = map / a_.c;
          const std::int64_t c = map % a_.c;
          for (std::int64_t n = 0; n < a_.n; ++n) {
            for_taps([&, y = first + (n * a_.k + k) * ys, x = second + (n * a_.c + c) * xs](
                         Place at) { sums[at.w] += float(y[at.y]) * float(x[at.x]); });
          }
        });
    }
  }

 private:
  // Where a result, a pixel under its window and the tap there lie in their maps.
  struct Place {
    std::int64_t y, x, w;
  };

  template <class Body>
  void for_taps(const Body& body) const {
    for (std::int64_t r = 0; r < a_.r; ++r) {
      const std::int64_t below = r * a_.dilation - a_.pad_top;
      const auto [top, bottom] = results_of_tap(a_.p, a_.h, a_.stride_down, below);
      for (std::int64_t s = 0; s < a_.s; ++s) {
        const std::int64_t right = s * a_.dilation - a_.pad_left;
        const auto [begin, end] = results_of_tap(a_.q, a_.w, a_.stride_across, right);
        for (std::int64_t p = top; p < bottom; ++p) {
          const std::int64_t row = (p * a_.stride_down + below) * a_.w + right;
          for (std::int64_t q = begin; q < end; ++q) {
            body(Place{p * a_.q + q, row + q * a_.stride_across, r * a_.s + s});
          }
        }
      }
    }
  }

  // Makes each of some maps of the sums that `add` leaves for it.
  template <class Add>
  static void make_maps(const CoreTeam& team, std::int64_t maps, std::int64_t size, T* made,
                        const Add& add) {
    team.share(maps, [&](std::int64_t map) {
      std::vector<float> sums(static_cast<std::size_t>(size));
      add(map, sums.data());
      std::ranges::transform(sums, made + map * size, [](float sum) { return T(sum); });
    });
  }

  ConvolutionSite a_;
};

template <class T>
class ReferenceGemm final : public CpuProgram {
 public:
  explicit ReferenceGemm(const GemmSite& site) : a_(site) {}

  std::string_view library() const override { return "reference"; }

  void run(const CoreTeam& team, const OpBuffers& buffers) override {
    team.share(a_.batch * a_.m, [&](std::int64_t row) {
      const std::int64_t b = row / a_.m;
      const std::int64_t i = row % a_.m;
      const T* left = static_cast<const T*>(buffers.inputs[0]) + b * a_.m * a_.k;
      const T* right = static_cast<const T*>(buffers.inputs[1]) + b * a_.k * a_.n;
      std::vector<float> sums(static_cast<std::size_t>(a_.n), 0.0F);
      for (std::int64_t l = 0; l < a_.k; ++l) {
        const float factor = float(left[a_.left_transposed ? l * a_.m + i : i * a_.k + l]);
        const T* from = right + (a_.right_transposed ? l : l * a_.n);
        const std::int64_t step = a_.right_transposed ? a_.k : 1;
        for (std::int64_t j = 0; j < a_.n; ++j) {
          sums[static_cast<std::size_t>(j)] += factor * float(from[j * step]);
        }
      }
      std::ranges::transform(sums, static_cast<T*>(buffers.outputs[0]) + row * a_.n,
                             [](float sum) { return T(sum); });
    });
  }

 private:
  GemmSite a_;
};

template <template <class> class Op, class Site>
std::unique_ptr<CpuProgram> make(const Site& site) {
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

std::unique_ptr<CpuProgram> make_reference_convolution(const ConvolutionSite& site) {
  return make<ReferenceConvolution>(site);
}

std::unique_ptr<CpuProgram> make_reference_gemm(const GemmSite& site) {
  return make<ReferenceGemm>(site);
}

}  // namespace emplace::calibrate
