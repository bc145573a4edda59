#pragma once

// Normalizations of channels and rows, and their gradients.

#include "skeleton.hpp"

#include <cmath>
#include <span>

namespace emplace::calibrate::kernels {

inline constexpr float kEpsilon = 1e-5F;

// The root of the mean squared distance from the mean, of sums of numbers and of their squares.
EMPLACE_DEVICE inline float deviation_of(float mean, float mean_square) {
  return sqrtf(fmaxf(mean_square - mean * mean, 0.0F) + kEpsilon);
}

/// [N, C, rest]: batch, channels, elements of one channel.
struct Channels {
  std::int64_t n;
  std::int64_t channels;
  std::int64_t rest;

  explicit Channels(SiteReader& site)
      : n(site.dimension(0)), channels(site.dimension(1)), rest(site.dimension(2)) {}
  std::int64_t elements() const { return n * channels * rest; }
  EMPLACE_DEVICE std::int64_t at(std::int64_t o, std::int64_t channel, std::int64_t i) const {
    return (o * channels + channel) * rest + i;
  }
};

/// Normalizes channels by their mean and deviation in the batch, and keeps moving ones in the op's
/// state.
template <class T>
struct BatchNorm : Channels {
  static constexpr float kMomentum = 0.99F;

  explicit BatchNorm(SiteReader& site) : Channels(site) {
    site.expect_input<T>(0, elements());
    site.expect_input<T>(1, 2 * channels);
    site.expect_output<T>(0, elements());
    site.expect_output<float>(1, 2 * channels);
    site.expect(site.site().op.persistent_bytes == 2 * channels * std::int64_t{sizeof(float)});
  }

  template <class Launcher>
  std::int64_t workspace_bytes() const {
    return Launcher::template reduce_bytes<Pair>(channels, n * rest);
  }

  template <class Launcher>
  void operator()(Launcher& launcher, const OpBuffers& buffers) const {
    const T* x = input<T>(buffers, 0);
    const T* scale_offset = input<T>(buffers, 1);
    T* y = output<T>(buffers, 0);
    float* statistics = output<float>(buffers, 1);
    float* moving = static_cast<float*>(buffers.state);
    launcher.template reduce<Pair>(
        channels, n, rest,
        [=, *this] EMPLACE_BODY(std::int64_t channel, std::int64_t o, std::int64_t i) {
          const float value = float(x[at(o, channel, i)]);
          return Pair{value, value * value};
        },
        [=, *this] EMPLACE_BODY(std::int64_t channel, const Pair& sum) {
          const float count = float(n * rest);
          const float mean = sum.first / count;
          const float deviation = deviation_of(mean, sum.second / count);
          statistics[channel] = mean;
          statistics[channels + channel] = deviation;
          moving[channel] = kMomentum * moving[channel] + (1 - kMomentum) * mean;
          float& moving_variance = moving[channels + channel];
          moving_variance = kMomentum * moving_variance + (1 - kMomentum) * deviation * deviation;
        },
        buffers.workspace);
    launcher.map(n * channels, rest, [=, *this] EMPLACE_BODY(std::int64_t row, std::int64_t i) {
      const std::int64_t channel = row % channels;
      const float factor = float(scale_offset[channel]) / statistics[channels + channel];
      const float offset = float(scale_offset[channels + channel]) - statistics[channel] * factor;
      y[row * rest + i] = T(float(x[row * rest + i]) * factor + offset);
    });
  }
};

/// Reads the result's gradient, the input, scale and offset, and the batch's statistics.
template <class T>
struct BatchNormBackward : Channels {
  explicit BatchNormBackward(SiteReader& site) : Channels(site) {
    site.expect_input<T>(0, elements());
    site.expect_input<T>(1, elements());
    site.expect_input<T>(2, 2 * channels);
    site.expect_input<float>(3, 2 * channels);
    site.expect_output<T>(0, elements());
    site.expect_output<T>(1, 2 * channels);
  }

  std::int64_t coefficient_bytes() const {
    return aligned(3 * channels * std::int64_t{sizeof(float)});
  }

  template <class Launcher>
  std::int64_t workspace_bytes() const {
    return coefficient_bytes() + Launcher::template reduce_bytes<Pair>(channels, n * rest);
  }

  // dx = a dy + b x + c, with constants of the channel.
  template <class Launcher>
  void operator()(Launcher& launcher, const OpBuffers& buffers) const {
    const T* dy = input<T>(buffers, 0);
    const T* x = input<T>(buffers, 1);
    const T* scale_offset = input<T>(buffers, 2);
    const float* statistics = input<float>(buffers, 3);
    T* dx = output<T>(buffers, 0);
    T* dscale_offset = output<T>(buffers, 1);
    float* coefficients = workspace<float>(buffers);
    launcher.template reduce<Pair>(
        channels, n, rest,
        [=, *this] EMPLACE_BODY(std::int64_t channel, std::int64_t o, std::int64_t i) {
          const float gradient = float(dy[at(o, channel, i)]);
          const float centred = float(x[at(o, channel, i)]) - statistics[channel];
          return Pair{gradient, gradient * centred};
        },
        [=, *this] EMPLACE_BODY(std::int64_t channel, const Pair& sum) {
          const float count = float(n * rest);
          const float inverse = 1 / statistics[channels + channel];
          const float a = float(scale_offset[channel]) * inverse;
          const float b = -a * sum.second * inverse * inverse / count;
          dscale_offset[channel] = T(sum.second * inverse);
          dscale_offset[channels + channel] = T(sum.first);
          coefficients[channel] = a;
          coefficients[channels + channel] = b;
          coefficients[2 * channels + channel] = -a * sum.first / count - b * statistics[channel];
        },
        workspace<void>(buffers, coefficient_bytes()));
    launcher.map(n * channels, rest, [=, *this] EMPLACE_BODY(std::int64_t row, std::int64_t i) {
      const std::int64_t channel = row % channels;
      const std::int64_t place = row * rest + i;
      dx[place] = T(coefficients[channel] * float(dy[place]) +
                    coefficients[channels + channel] * float(x[place]) +
                    coefficients[2 * channels + channel]);
    });
  }
};

/// [rows, columns].
struct Rows {
  std::int64_t rows;
  std::int64_t columns;

  explicit Rows(SiteReader& site) : rows(site.dimension(0)), columns(site.dimension(1)) {}
  std::int64_t elements() const { return rows * columns; }
};

template <class T>
struct LayerNorm : Rows {
  explicit LayerNorm(SiteReader& site) : Rows(site) {
    site.expect_input<T>(0, elements());
    site.expect_input<T>(1, 2 * columns);
    site.expect_output<T>(0, elements());
    site.expect_output<float>(1, 2 * rows);
  }

  template <class Launcher>
  void operator()(Launcher& launcher, const OpBuffers& buffers) const {
    const T* x = input<T>(buffers, 0);
    const T* scale_offset = input<T>(buffers, 1);
    T* y = output<T>(buffers, 0);
    float* statistics = output<float>(buffers, 1);
    launcher.template map_rows<Pair>(
        rows, columns,
        [=, *this] EMPLACE_BODY(std::int64_t row, std::int64_t column) {
          const float value = float(x[row * columns + column]);
          return Pair{value, value * value};
        },
        [=, *this] EMPLACE_BODY(std::int64_t row, Pair & sum) {
          const float mean = sum.first / float(columns);
          const float deviation = deviation_of(mean, sum.second / float(columns));
          statistics[2 * row] = mean;
          statistics[2 * row + 1] = deviation;
          sum = {mean, 1 / deviation};
        },
        [=, *this] EMPLACE_BODY(std::int64_t row, std::int64_t column, const Pair& mean_inverse) {
          const std::int64_t i = row * columns + column;
          const float normal = (float(x[i]) - mean_inverse.first) * mean_inverse.second;
          y[i] = T(normal * float(scale_offset[column]) + float(scale_offset[columns + column]));
        });
  }
};

/// Reads the result's gradient, the input, scale and offset, and the rows' statistics.
template <class T>
struct LayerNormBackward : Rows {
  explicit LayerNormBackward(SiteReader& site) : Rows(site) {
    site.expect_input<T>(0, elements());
    site.expect_input<T>(1, elements());
    site.expect_input<T>(2, 2 * columns);
    site.expect_input<float>(3, 2 * rows);
    site.expect_output<T>(0, elements());
    site.expect_output<T>(1, 2 * columns);
  }

  template <class Launcher>
  std::int64_t workspace_bytes() const {
    return Launcher::template reduce_columns_bytes<Pair>(rows, columns);
  }

  template <class Launcher>
  void operator()(Launcher& launcher, const OpBuffers& buffers) const {
    const T* dy = input<T>(buffers, 0);
    const T* x = input<T>(buffers, 1);
    const T* scale = input<T>(buffers, 2);
    const float* statistics = input<float>(buffers, 3);
    T* dx = output<T>(buffers, 0);
    T* dscale_offset = output<T>(buffers, 1);
    launcher.template map_rows<Pair>(
        rows, columns,
        [=, *this] EMPLACE_BODY(std::int64_t row, std::int64_t column) {
          const std::int64_t i = row * columns + column;
          const float normal = (float(x[i]) - statistics[2 * row]) / statistics[2 * row + 1];
          const float g = float(dy[i]) * float(scale[column]);
          return Pair{g, g * normal};
        },
        [=, *this] EMPLACE_BODY(std::int64_t, Pair & sum) {
          sum = {sum.first / float(columns), sum.second / float(columns)};
        },
        [=, *this] EMPLACE_BODY(std::int64_t row, std::int64_t column, const Pair& mean) {
          const std::int64_t i = row * columns + column;
          const float inverse = 1 / statistics[2 * row + 1];
          const float normal = (float(x[i]) - statistics[2 * row]) * inverse;
          const float g = float(dy[i]) * float(scale[column]);
          dx[i] = T((g - mean.first - normal * mean.second) * inverse);
        });
    launcher.template reduce_columns<Pair>(
        rows, columns,
        [=, *this] EMPLACE_BODY(std::int64_t row, std::int64_t column) {
          const std::int64_t i = row * columns + column;
          const float normal = (float(x[i]) - statistics[2 * row]) / statistics[2 * row + 1];
          return Pair{float(dy[i]) * normal, float(dy[i])};
        },
        [=, *this] EMPLACE_BODY(std::int64_t column, const Pair& sum) {
          dscale_offset[column] = T(sum.first);
          dscale_offset[columns + column] = T(sum.second);
        },
        buffers.workspace);
  }
};

template <class T>
struct RmsNorm : Rows {
  explicit RmsNorm(SiteReader& site) : Rows(site) {
    site.expect_input<T>(0, elements());
    site.expect_input<T>(1, columns);
    site.expect_output<T>(0, elements());
    site.expect_output<float>(1, rows);
  }

  template <class Launcher>
  void operator()(Launcher& launcher, const OpBuffers& buffers) const {
    const T* x = input<T>(buffers, 0);
    const T* scale = input<T>(buffers, 1);
    T* y = output<T>(buffers, 0);
    float* factors = output<float>(buffers, 1);
    launcher.template map_rows<Total>(
        rows, columns,
        [=, *this] EMPLACE_BODY(std::int64_t row, std::int64_t column) {
          const float value = float(x[row * columns + column]);
          return Total{value * value};
        },
        [=, *this] EMPLACE_BODY(std::int64_t row, Total & sum) {
          sum.value = 1 / sqrtf(sum.value / float(columns) + kEpsilon);
          factors[row] = sum.value;
        },
        [=, *this] EMPLACE_BODY(std::int64_t row, std::int64_t column, const Total& factor) {
          const std::int64_t i = row * columns + column;
          y[i] = T(float(x[i]) * factor.value * float(scale[column]));
        });
  }
};

/// Reads the result's gradient, the input, the scale, and what the rows were multiplied by.
template <class T>
struct RmsNormBackward : Rows {
  explicit RmsNormBackward(SiteReader& site) : Rows(site) {
    site.expect_input<T>(0, elements());
    site.expect_input<T>(1, elements());
    site.expect_input<T>(2, columns);
    site.expect_input<float>(3, rows);
    site.expect_output<T>(0, elements());
    site.expect_output<T>(1, columns);
  }

  template <class Launcher>
  std::int64_t workspace_bytes() const {
    return Launcher::template reduce_columns_bytes<Total>(rows, columns);
  }

  template <class Launcher>
  void operator()(Launcher& launcher, const OpBuffers& buffers) const {
    const T* dy = input<T>(buffers, 0);
    const T* x = input<T>(buffers, 1);
    const T* scale = input<T>(buffers, 2);
    const float* factors = input<float>(buffers, 3);
    T* dx = output<T>(buffers, 0);
    T* dscale = output<T>(buffers, 1);
    launcher.template map_rows<Total>(
        rows, columns,
        [=, *this] EMPLACE_BODY(std::int64_t row, std::int64_t column) {
          const std::int64_t i = row * columns + column;
          return Total{float(dy[i]) * float(scale[column]) * float(x[i]) * factors[row]};
        },
        [=, *this] EMPLACE_BODY(std::int64_t, Total & sum) { sum.value /= float(columns); },
        [=, *this] EMPLACE_BODY(std::int64_t row, std::int64_t column, const Total& mean) {
          const std::int64_t i = row * columns + column;
          const float g = float(dy[i]) * float(scale[column]);
          dx[i] = T(factors[row] * (g - float(x[i]) * factors[row] * mean.value));
        });
    launcher.template reduce_columns<Total>(
        rows, columns,
        [=, *this] EMPLACE_BODY(std::int64_t row, std::int64_t column) {
          const std::int64_t i = row * columns + column;
          return Total{float(dy[i]) * float(x[i]) * factors[row]};
        },
        [=] EMPLACE_BODY(std::int64_t column, const Total& sum) { dscale[column] = T(sum.value); },
        buffers.workspace);
  }
};

template <class Launcher>
std::span<const NamedKernel<Launcher>> normalization_kernels() {
  static constexpr NamedKernel<Launcher> kKernels[] = {
      {"batch_norm", make<Launcher, BatchNorm>},
      {"batch_norm_backward", make<Launcher, BatchNormBackward>},
      {"layer_norm", make<Launcher, LayerNorm>},
      {"layer_norm_backward", make<Launcher, LayerNormBackward>},
      {"rms_norm", make<Launcher, RmsNorm>},
      {"rms_norm_backward", make<Launcher, RmsNormBackward>},
  };
  return kKernels;
}

}  // namespace emplace::calibrate::kernels
