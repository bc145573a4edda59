#pragma once

// Convolutions of each channel on its own.

#include "window.hpp"

#include <span>

namespace emplace::calibrate::kernels {

/// [N, C, H, W, R, S, U, V, P, Q].
struct Depthwise {
  std::int64_t n;
  std::int64_t channels;
  WindowAxis down;
  WindowAxis across;

  explicit Depthwise(SiteReader& site)
      : n(site.dimension(0)),
        channels(site.dimension(1)),
        down(site.dimension(2), site.dimension(4), site.dimension(6), site.dimension(8)),
        across(site.dimension(3), site.dimension(5), site.dimension(7), site.dimension(9)) {}

  std::int64_t map_elements() const { return n * channels * down.extent * across.extent; }
  std::int64_t result_elements() const { return n * channels * down.results * across.results; }
  std::int64_t filter_elements() const { return channels * down.taps * across.taps; }
};

template <class T>
struct DepthwiseConv2d : Depthwise {
  explicit DepthwiseConv2d(SiteReader& site) : Depthwise(site) {
    site.expect_input<T>(0, map_elements());
    site.expect_input<T>(1, filter_elements());
    site.expect_output<T>(0, result_elements());
  }

  template <class Launcher>
  void operator()(Launcher& launcher, const OpBuffers& buffers) const {
    const T* x = input<T>(buffers, 0);
    const T* filters = input<T>(buffers, 1);
    T* y = output<T>(buffers, 0);
    launcher.map(n * channels * down.results, across.results,
                 [=, *this] EMPLACE_BODY(std::int64_t row, std::int64_t q) {
                   const std::int64_t map = row / down.results;
                   const std::int64_t top = row % down.results * down.stride - down.padding;
                   const std::int64_t left = q * across.stride - across.padding;
                   const Range rows = down.under(row % down.results);
                   const Range columns = across.under(q);
                   const T* filter = filters + map % channels * down.taps * across.taps;
                   float sum = 0;
                   for (std::int64_t h = rows.begin; h < rows.end; ++h) {
                     for (std::int64_t w = columns.begin; w < columns.end; ++w) {
                       sum += float(x[(map * down.extent + h) * across.extent + w]) *
                              float(filter[(h - top) * across.taps + w - left]);
                     }
                   }
                   y[row * across.results + q] = T(sum);
                 });
  }
};

/// Reads the result's gradient and the filters.
template <class T>
struct DepthwiseBackwardData : Depthwise {
  explicit DepthwiseBackwardData(SiteReader& site) : Depthwise(site) {
    site.expect_input<T>(0, result_elements());
    site.expect_input<T>(1, filter_elements());
    site.expect_output<T>(0, map_elements());
  }

  template <class Launcher>
  void operator()(Launcher& launcher, const OpBuffers& buffers) const {
    const T* dy = input<T>(buffers, 0);
    const T* filters = input<T>(buffers, 1);
    T* dx = output<T>(buffers, 0);
    launcher.map(n * channels * down.extent, across.extent,
                 [=, *this] EMPLACE_BODY(std::int64_t row, std::int64_t w) {
                   const std::int64_t map = row / down.extent;
                   const std::int64_t h = row % down.extent;
                   const Range rows = down.covering(h);
                   const Range columns = across.covering(w);
                   const T* filter = filters + map % channels * down.taps * across.taps;
                   float sum = 0;
                   for (std::int64_t p = rows.begin; p < rows.end; ++p) {
                     const std::int64_t r = h + down.padding - p * down.stride;
                     for (std::int64_t q = columns.begin; q < columns.end; ++q) {
                       const std::int64_t s = w + across.padding - q * across.stride;
                       sum += float(dy[(map * down.results + p) * across.results + q]) *
                              float(filter[r * across.taps + s]);
                     }
                   }
                   dx[row * across.extent + w] = T(sum);
                 });
  }
};

/// Reads the result's gradient and the input.
template <class T>
struct DepthwiseBackwardFilter : Depthwise {
  explicit DepthwiseBackwardFilter(SiteReader& site) : Depthwise(site) {
    site.expect_input<T>(0, result_elements());
    site.expect_input<T>(1, map_elements());
    site.expect_output<T>(0, filter_elements());
  }

  template <class Launcher>
  std::int64_t workspace_bytes() const {
    return Launcher::template reduce_bytes<Total>(filter_elements(),
                                                  n * down.results * across.results);
  }

  template <class Launcher>
  void operator()(Launcher& launcher, const OpBuffers& buffers) const {
    const T* dy = input<T>(buffers, 0);
    const T* x = input<T>(buffers, 1);
    T* dfilter = output<T>(buffers, 0);
    launcher.template reduce<Total>(
        filter_elements(), n * down.results, across.results,
        [=, *this] EMPLACE_BODY(std::int64_t tap, std::int64_t o, std::int64_t q) {
          const std::int64_t s = tap % across.taps;
          const std::int64_t r = tap / across.taps % down.taps;
          const std::int64_t map = o / down.results * channels + tap / (down.taps * across.taps);
          const std::int64_t p = o % down.results;
          const std::int64_t h = p * down.stride - down.padding + r;
          const std::int64_t w = q * across.stride - across.padding + s;
          if (h < 0 || h >= down.extent || w < 0 || w >= across.extent) {
            return Total{};
          }
          return Total{float(dy[(map * down.results + p) * across.results + q]) *
                       float(x[(map * down.extent + h) * across.extent + w])};
        },
        [=] EMPLACE_BODY(std::int64_t tap, const Total& sum) { dfilter[tap] = T(sum.value); },
        buffers.workspace);
  }
};

template <class Launcher>
std::span<const NamedKernel<Launcher>> depthwise_kernels() {
  static constexpr NamedKernel<Launcher> kKernels[] = {
      {"depthwise_conv2d", make<Launcher, DepthwiseConv2d>},
      {"depthwise_conv2d_backward_data", make<Launcher, DepthwiseBackwardData>},
      {"depthwise_conv2d_backward_filter", make<Launcher, DepthwiseBackwardFilter>},
  };
  return kKernels;
}

}  // namespace emplace::calibrate::kernels
