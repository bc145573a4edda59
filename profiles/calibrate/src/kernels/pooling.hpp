#pragma once

// Pooling. Means are taken of what lies on the map.

#include "window.hpp"

#include <cmath>
#include <span>

namespace emplace::calibrate::kernels {

/// [N, C, H, W, R, S, stride, P, Q].
struct Pool {
  std::int64_t maps;
  WindowAxis down;
  WindowAxis across;

  explicit Pool(SiteReader& site)
      : maps(site.dimension(0) * site.dimension(1)),
        down(site.dimension(2), site.dimension(4), site.dimension(6), site.dimension(7)),
        across(site.dimension(3), site.dimension(5), site.dimension(6), site.dimension(8)) {}

  std::int64_t map_elements() const { return maps * down.extent * across.extent; }
  std::int64_t result_elements() const { return maps * down.results * across.results; }

  /// Says whether each map has one window, which covers it.
  bool is_global() const {
    return down.results == 1 && across.results == 1 && down.taps == down.extent &&
           across.taps == across.extent;
  }
};

template <class T>
struct MaxPool : Pool {
  explicit MaxPool(SiteReader& site) : Pool(site) {
    site.expect_input<T>(0, map_elements());
    site.expect_output<T>(0, result_elements());
  }

  template <class Launcher>
  void operator()(Launcher& launcher, const OpBuffers& buffers) const {
    const T* x = input<T>(buffers, 0);
    T* y = output<T>(buffers, 0);
    launcher.map(maps * down.results, across.results,
                 [=, *this] EMPLACE_BODY(std::int64_t row, std::int64_t q) {
                   const Range rows = down.under(row % down.results);
                   const Range columns = across.under(q);
                   const T* map = x + row / down.results * down.extent * across.extent;
                   float largest = -INFINITY;
                   for (std::int64_t h = rows.begin; h < rows.end; ++h) {
                     for (std::int64_t w = columns.begin; w < columns.end; ++w) {
                       largest = fmaxf(largest, float(map[h * across.extent + w]));
                     }
                   }
                   y[row * across.results + q] = T(largest);
                 });
  }
};

/// Reads the result's gradient, the input and the result. Each window's gradient goes to the first
/// of its largest elements.
template <class T>
struct MaxPoolBackward : Pool {
  explicit MaxPoolBackward(SiteReader& site) : Pool(site) {
    site.expect_input<T>(0, result_elements());
    site.expect_input<T>(1, map_elements());
    site.expect_input<T>(2, result_elements());
    site.expect_output<T>(0, map_elements());
  }

  /// Says whether the element at (h, w) is the first of its value under the window of (p, q).
  EMPLACE_DEVICE bool is_first(const T* map, std::int64_t h, std::int64_t w, std::int64_t p,
                               std::int64_t q) const {
    const Range columns = across.under(q);
    const float value = float(map[h * across.extent + w]);
    for (std::int64_t i = down.under(p).begin; i <= h; ++i) {
      const std::int64_t end = i == h ? w : columns.end;
      for (std::int64_t j = columns.begin; j < end; ++j) {
        if (float(map[i * across.extent + j]) == value) {
          return false;
        }
      }
    }
    return true;
  }

  template <class Launcher>
  void operator()(Launcher& launcher, const OpBuffers& buffers) const {
    const T* dy = input<T>(buffers, 0);
    const T* x = input<T>(buffers, 1);
    const T* y = input<T>(buffers, 2);
    T* dx = output<T>(buffers, 0);
    launcher.map(maps * down.extent, across.extent,
                 [=, *this] EMPLACE_BODY(std::int64_t row, std::int64_t w) {
                   const std::int64_t h = row % down.extent;
                   const std::int64_t map = row / down.extent;
                   const T* values = x + map * down.extent * across.extent;
                   const float value = float(x[row * across.extent + w]);
                   const Range rows = down.covering(h);
                   const Range columns = across.covering(w);
                   float gradient = 0;
                   for (std::int64_t p = rows.begin; p < rows.end; ++p) {
                     for (std::int64_t q = columns.begin; q < columns.end; ++q) {
                       const std::int64_t result = (map * down.results + p) * across.results + q;
                       if (float(y[result]) == value && is_first(values, h, w, p, q)) {
                         gradient += float(dy[result]);
                       }
                     }
                   }
                   dx[row * across.extent + w] = T(gradient);
                 });
  }
};

template <class T>
struct AvgPool : Pool {
  explicit AvgPool(SiteReader& site) : Pool(site) {
    site.expect_input<T>(0, map_elements());
    site.expect_output<T>(0, result_elements());
  }

  template <class Launcher>
  std::int64_t workspace_bytes() const {
    return is_global() ? Launcher::template reduce_bytes<Total>(maps, down.extent * across.extent)
                       : 0;
  }

  template <class Launcher>
  void operator()(Launcher& launcher, const OpBuffers& buffers) const {
    const T* x = input<T>(buffers, 0);
    T* y = output<T>(buffers, 0);
    if (is_global()) {
      const std::int64_t size = down.extent * across.extent;
      launcher.template reduce<Total>(
          maps, 1, size,
          [=] EMPLACE_BODY(std::int64_t map, std::int64_t, std::int64_t i) {
            return Total{float(x[map * size + i])};
          },
          [=] EMPLACE_BODY(std::int64_t map, const Total& sum) {
            y[map] = T(sum.value / float(size));
          },
          buffers.workspace);
      return;
    }
    launcher.map(maps * down.results, across.results,
                 [=, *this] EMPLACE_BODY(std::int64_t row, std::int64_t q) {
                   const Range rows = down.under(row % down.results);
                   const Range columns = across.under(q);
                   const T* map = x + row / down.results * down.extent * across.extent;
                   float sum = 0;
                   for (std::int64_t h = rows.begin; h < rows.end; ++h) {
                     for (std::int64_t w = columns.begin; w < columns.end; ++w) {
                       sum += float(map[h * across.extent + w]);
                     }
                   }
                   const std::int64_t size =
                       (rows.end - rows.begin) * (columns.end - columns.begin);
                   y[row * across.results + q] = T(sum / float(size));
                 });
  }
};

template <class T>
struct AvgPoolBackward : Pool {
  explicit AvgPoolBackward(SiteReader& site) : Pool(site) {
    site.expect_input<T>(0, result_elements());
    site.expect_output<T>(0, map_elements());
  }

  template <class Launcher>
  void operator()(Launcher& launcher, const OpBuffers& buffers) const {
    const T* dy = input<T>(buffers, 0);
    T* dx = output<T>(buffers, 0);
    launcher.map(maps * down.extent, across.extent,
                 [=, *this] EMPLACE_BODY(std::int64_t row, std::int64_t w) {
                   const std::int64_t map = row / down.extent;
                   const Range rows = down.covering(row % down.extent);
                   const Range columns = across.covering(w);
                   float gradient = 0;
                   for (std::int64_t p = rows.begin; p < rows.end; ++p) {
                     const Range taps_down = down.under(p);
                     for (std::int64_t q = columns.begin; q < columns.end; ++q) {
                       const Range taps_across = across.under(q);
                       const std::int64_t size = (taps_down.end - taps_down.begin) *
                                                 (taps_across.end - taps_across.begin);
                       gradient +=
                           float(dy[(map * down.results + p) * across.results + q]) / float(size);
                     }
                   }
                   dx[row * across.extent + w] = T(gradient);
                 });
  }
};

template <class Launcher>
std::span<const NamedKernel<Launcher>> pooling_kernels() {
  static constexpr NamedKernel<Launcher> kKernels[] = {
      {"avg_pool", make<Launcher, AvgPool>},
      {"avg_pool_backward", make<Launcher, AvgPoolBackward>},
      {"max_pool", make<Launcher, MaxPool>},
      {"max_pool_backward", make<Launcher, MaxPoolBackward>},
  };
  return kKernels;
}

}  // namespace emplace::calibrate::kernels
