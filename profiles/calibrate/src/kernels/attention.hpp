#pragma once

// What transformers do to scores and positions, and dropout.

#include "skeleton.hpp"

#include <cmath>
#include <span>

namespace emplace::calibrate::kernels {

/// [..., rows, columns]: matrices whose rows stand for queries or positions.
struct Matrices {
  std::int64_t count = 1;
  std::int64_t rows = 1;
  std::int64_t columns = 1;

  explicit Matrices(SiteReader& site) {
    const auto& shape = site.output_shape(0);
    site.expect(shape.size() >= 2);
    if (site.fits()) {
      rows = shape[shape.size() - 2];
      columns = shape.back();
      count = site.output_elements(0) / std::max(rows * columns, std::int64_t{1});
    }
  }
  std::int64_t elements() const { return count * rows * columns; }
};

/// Hides later keys. Where there are more keys than queries, the last query sees all of them.
template <class T>
struct CausalMask : Matrices {
  explicit CausalMask(SiteReader& site) : Matrices(site) {
    site.expect_input<T>(0, elements());
    site.expect_output<T>(0, elements());
  }

  template <class Launcher>
  void operator()(Launcher& launcher, const OpBuffers& buffers) const {
    const T* x = input<T>(buffers, 0);
    T* y = output<T>(buffers, 0);
    const std::int64_t earlier = std::max(columns - rows, std::int64_t{0});
    launcher.map(count * rows, columns,
                 [=, *this] EMPLACE_BODY(std::int64_t row, std::int64_t key) {
                   const std::int64_t i = row * columns + key;
                   y[i] = key > row % rows + earlier ? T(-INFINITY) : x[i];
                 });
  }
};

/// Shifts each row of scores by distance to scores by key, or back in a backward op: with one zero
/// before each row, all rows together are cut anew without the first `rows` elements.
template <class T>
struct RelativeShift : Matrices {
  bool is_back;

  explicit RelativeShift(SiteReader& site)
      : Matrices(site), is_back(site.site().op.phase == Phase::kBackward) {
    site.expect_input<T>(0, elements());
    site.expect_output<T>(0, elements());
  }

  template <class Launcher>
  void operator()(Launcher& launcher, const OpBuffers& buffers) const {
    const T* x = input<T>(buffers, 0);
    T* y = output<T>(buffers, 0);
    launcher.map(count, rows * columns, [=, *this] EMPLACE_BODY(std::int64_t m, std::int64_t i) {
      std::int64_t from = 0;
      bool is_zero = false;
      if (is_back) {
        from = i / columns * (columns + 1) + i % columns + 1 - rows;
        is_zero = from < 0;
      } else {
        const std::int64_t padded = i + rows;
        from = padded / (columns + 1) * columns + padded % (columns + 1) - 1;
        is_zero = padded % (columns + 1) == 0;
      }
      const std::int64_t matrix = m * rows * columns;
      y[matrix + i] = is_zero ? T(0.0F) : x[matrix + from];
    });
  }
};

/// Turns neighbouring numbers by angles that grow with the position, or back in a backward op.
template <class T>
struct RotaryEmbedding {
  std::int64_t matrices;
  std::int64_t positions;
  std::int64_t pairs;
  float sign;

  explicit RotaryEmbedding(SiteReader& site)
      : matrices(site.dimension(0)),
        positions(site.dimension(1)),
        pairs(site.dimension(2) / 2),
        sign(site.site().op.phase == Phase::kBackward ? -1.0F : 1.0F) {
    site.expect(pairs >= 1);
    site.expect_input<T>(0, matrices * positions * pairs * 2);
    site.expect_output<T>(0, matrices * positions * pairs * 2);
  }

  template <class Launcher>
  std::int64_t workspace_bytes() const {
    return positions * pairs * 2 * std::int64_t{sizeof(float)};
  }

  template <class Launcher>
  void operator()(Launcher& launcher, const OpBuffers& buffers) const {
    const T* x = input<T>(buffers, 0);
    T* y = output<T>(buffers, 0);
    Pair* turns = workspace<Pair>(buffers);
    launcher.map(positions, pairs, [=, *this] EMPLACE_BODY(std::int64_t row, std::int64_t pair) {
      const float angle = float(row) * powf(10000, -float(pair) / float(pairs));
      turns[row * pairs + pair] = {cosf(angle), sign * sinf(angle)};
    });
    launcher.map(matrices * positions, pairs,
                 [=, *this] EMPLACE_BODY(std::int64_t row, std::int64_t pair) {
                   const Pair turn = turns[row % positions * pairs + pair];
                   const std::int64_t i = (row * pairs + pair) * 2;
                   const float a = float(x[i]);
                   const float b = float(x[i + 1]);
                   y[i] = T(a * turn.first - b * turn.second);
                   y[i + 1] = T(a * turn.second + b * turn.first);
                 });
  }
};

// A graph does not know how much is dropped, since it changes no cost.
inline constexpr float kDropped = 0.1F;
inline constexpr float kLeft = 1 - kDropped;

// Numbers of 32 bits that look random, one for each place (the finalizer of MurmurHash3).
EMPLACE_DEVICE inline std::uint32_t scrambled(std::uint32_t x) {
  x = (x ^ (x >> 16U)) * 0x85ebca6bU;
  x = (x ^ (x >> 13U)) * 0xc2b2ae35U;
  return x ^ (x >> 16U);
}

/// Drops the same elements in each step, so that steps can be compared.
template <class T>
struct Dropout {
  std::int64_t elements;

  explicit Dropout(SiteReader& site) : elements(site.output_elements(0)) {
    site.expect_input<T>(0, elements);
    site.expect_output<T>(0, elements);
    site.expect_output(1, DataType::kBool, elements);
  }

  template <class Launcher>
  void operator()(Launcher& launcher, const OpBuffers& buffers) const {
    const T* x = input<T>(buffers, 0);
    T* y = output<T>(buffers, 0);
    std::uint8_t* is_left = output<std::uint8_t>(buffers, 1);
    launcher.map(elements, [=] EMPLACE_BODY(std::int64_t i) {
      const bool stays = scrambled(static_cast<std::uint32_t>(i) + 1) >=
                         static_cast<std::uint32_t>(kDropped * 4294967296.0F);
      is_left[i] = stays ? 1 : 0;
      y[i] = T(stays ? float(x[i]) * (1 / kLeft) : 0.0F);
    });
  }
};

template <class T>
struct DropoutBackward {
  std::int64_t elements;

  explicit DropoutBackward(SiteReader& site) : elements(site.output_elements(0)) {
    site.expect_input<T>(0, elements);
    site.expect_input(1, DataType::kBool, elements);
    site.expect_output<T>(0, elements);
  }

  template <class Launcher>
  void operator()(Launcher& launcher, const OpBuffers& buffers) const {
    const T* dy = input<T>(buffers, 0);
    const std::uint8_t* is_left = input<std::uint8_t>(buffers, 1);
    T* dx = output<T>(buffers, 0);
    launcher.map(elements, [=] EMPLACE_BODY(std::int64_t i) {
      dx[i] = T(is_left[i] != 0 ? float(dy[i]) * (1 / kLeft) : 0.0F);
    });
  }
};

template <class Launcher>
std::span<const NamedKernel<Launcher>> attention_kernels() {
  static constexpr NamedKernel<Launcher> kKernels[] = {
      {"causal_mask", make<Launcher, CausalMask>},
      {"dropout", make<Launcher, Dropout>},
      {"dropout_backward", make<Launcher, DropoutBackward>},
      {"relative_shift", make<Launcher, RelativeShift>},
      {"rotary_embedding", make<Launcher, RotaryEmbedding>},
  };
  return kKernels;
}

}  // namespace emplace::calibrate::kernels
