#pragma once

// The loops of layers for matrices in rows (kernels.hpp) for vectors of `kBytes` bytes; see
// kernel_loops.hpp for what may be included here. Lanes are columns, so that all are in use even
// for one row. The order of each sum is that of matrices in panels.

#include "kernels.hpp"
#include "matrix.hpp"
#include "vector_math.hpp"

#include <cstddef>

namespace emplace::agents::nn {
namespace {

template <class Scalar, std::size_t kBytes>
struct RowLoops {
  using Vector = typename VectorMath<Scalar, kBytes>::Vector;
  // In any row of a matrix.
  using Unaligned [[gnu::vector_size(kBytes), gnu::may_alias, gnu::aligned(alignof(Scalar))]] =
      Scalar;

  static constexpr std::size_t kWidth = kBytes / sizeof(Scalar);
  static constexpr std::size_t kParts = kLanes / kWidth;  // vectors for a tile of columns

  // Tiles whose sums are in registers at a time: of one row, or of as many rows.
  static constexpr std::size_t kTiles = kParts < 8 ? 8 / kParts : 1;
  static constexpr std::size_t kRows = kTiles < 4 ? kTiles : 4;

  static void add_product(const PackedWeights<Scalar>& weights, std::size_t rows, const Scalar* x,
                          Scalar* y) {
    for (std::size_t first = 0; first < rows; first += kRows) {
      dispatch<kRows>(rows - first < kRows ? rows - first : kRows, weights,
                      x + first * weights.inputs, y + first * weights.outputs);
    }
  }

  static void weight_gradient(const LayerArguments<Scalar>& layer, const RowLanes& rows,
                              const Scalar* x, const Scalar* dy, Scalar* dw, Scalar* db) {
    const std::size_t block = rows.lanes * rows.rows * kLanes;
    for (std::size_t input = 0; input < layer.inputs; input += kLanes) {
      for (std::size_t output = 0; output < layer.outputs; output += kLanes) {
        weight_gradient_of_blocks(layer, rows, x + input / kLanes * block,
                                  dy + output / kLanes * block, input, output, dw);
      }
    }
    for (std::size_t output = 0; output < layer.outputs; output += kLanes) {
      bias_gradient(rows, dy + output / kLanes * block, up_to_lanes(layer.outputs - output),
                    db + output);
    }
  }

 private:
  static std::size_t up_to_lanes(std::size_t count) { return count < kLanes ? count : kLanes; }

  template <std::size_t kNumRows>
  static void dispatch(std::size_t count, const PackedWeights<Scalar>& weights, const Scalar* x,
                       Scalar* y) {
    if (count == kNumRows) {
      add_product_of_rows<kNumRows>(weights, x, y);
    } else if constexpr (kNumRows > 1) {
      dispatch<kNumRows - 1>(count, weights, x, y);
    }
  }

  template <std::size_t kNumRows>
  static void add_product_of_rows(const PackedWeights<Scalar>& weights, const Scalar* x,
                                  Scalar* y) {
    constexpr std::size_t kNumTiles = kTiles / kNumRows;  // at a time
    const std::size_t tile_size = weights.inputs * kLanes;
    const std::size_t whole = weights.outputs / kLanes;
    std::size_t tile = 0;
    for (; tile + kNumTiles <= whole; tile += kNumTiles) {
      multiply<kNumRows, kNumTiles>(weights, x, weights.tiles + tile * tile_size, y + tile * kLanes,
                                    weights.outputs);
    }
    for (; tile < whole; ++tile) {
      multiply<kNumRows, 1>(weights, x, weights.tiles + tile * tile_size, y + tile * kLanes,
                            weights.outputs);
    }
    const std::size_t rest = weights.outputs - whole * kLanes;
    if (rest == 0) {
      return;
    }
    Scalar last[kNumRows * kLanes] = {};
    for (std::size_t row = 0; row < kNumRows; ++row) {
      for (std::size_t column = 0; column < rest; ++column) {
        last[row * kLanes + column] = y[row * weights.outputs + whole * kLanes + column];
      }
    }
    multiply<kNumRows, 1>(weights, x, weights.tiles + whole * tile_size, last, kLanes);
    for (std::size_t row = 0; row < kNumRows; ++row) {
      for (std::size_t column = 0; column < rest; ++column) {
        y[row * weights.outputs + whole * kLanes + column] = last[row * kLanes + column];
      }
    }
  }

  // Adds x times some tiles of W to y, of which rows are `stride` apart.
  template <std::size_t kNumRows, std::size_t kNumTiles>
  [[gnu::always_inline]] static void multiply(const PackedWeights<Scalar>& weights, const Scalar* x,
                                              const Scalar* tiles, Scalar* y, std::size_t stride) {
    const std::size_t tile_size = weights.inputs * kLanes;
    Vector sums[kNumRows][kNumTiles * kParts];
#pragma GCC unroll 8
    for (std::size_t row = 0; row < kNumRows; ++row) {
#pragma GCC unroll 8
      for (std::size_t i = 0; i < kNumTiles * kParts; ++i) {
        sums[row][i] = *reinterpret_cast<const Unaligned*>(y + row * stride + i * kWidth);
      }
    }
    for (std::size_t k = 0; k < weights.inputs; ++k) {
#pragma GCC unroll 8
      for (std::size_t i = 0; i < kNumTiles * kParts; ++i) {
        const Vector weight = reinterpret_cast<const Vector*>(tiles + i / kParts * tile_size +
                                                              k * kLanes)[i % kParts];
#pragma GCC unroll 8
        for (std::size_t row = 0; row < kNumRows; ++row) {
          sums[row][i] += x[row * weights.inputs + k] * weight;
        }
      }
    }
#pragma GCC unroll 8
    for (std::size_t row = 0; row < kNumRows; ++row) {
#pragma GCC unroll 8
      for (std::size_t i = 0; i < kNumTiles * kParts; ++i) {
        *reinterpret_cast<Unaligned*>(y + row * stride + i * kWidth) = sums[row][i];
      }
    }
  }

  // Adds up the lanes, each with its neighbour 8, 4, 2 and 1 further; those beyond are zeros.
  template <std::size_t kVectors>
  static void add_lanes(std::size_t lanes, Vector (&sums)[kLanes][kVectors]) {
    for (std::size_t half = lanes / 2; half > 0; half /= 2) {
      for (std::size_t lane = 0; lane < half; ++lane) {
        for (std::size_t i = 0; i < kVectors; ++i) {
          sums[lane][i] += sums[lane + half][i];
        }
      }
    }
  }

  static void weight_gradient_of_blocks(const LayerArguments<Scalar>& layer, const RowLanes& rows,
                                        const Scalar* x, const Scalar* dy, std::size_t input,
                                        std::size_t output, Scalar* dw) {
    Vector sums[kLanes][kLanes * kParts];
    for (std::size_t lane = 0; lane < rows.lanes; ++lane) {
      const std::size_t first = lane * rows.rows * kLanes;
      for (std::size_t i = 0; i < kLanes; i += kTiles) {
        add_products(rows.rows, x + first + i, dy + first, sums[lane] + i * kParts);
      }
    }
    add_lanes(rows.lanes, sums);
    const auto* const added = reinterpret_cast<const Scalar*>(sums[0]);
    for (std::size_t i = 0; i < up_to_lanes(layer.inputs - input); ++i) {
      for (std::size_t j = 0; j < up_to_lanes(layer.outputs - output); ++j) {
        dw[(input + i) * layer.outputs + output + j] += added[i * kLanes + j];
      }
    }
  }

  // Sets the sums over rows of kTiles columns of x times a block of dy.
  [[gnu::always_inline]] static void add_products(std::size_t rows, const Scalar* x,
                                                  const Scalar* dy, Vector* sums) {
    Vector local[kTiles][kParts] = {};
    for (std::size_t row = 0; row < rows; ++row) {
#pragma GCC unroll 8
      for (std::size_t part = 0; part < kParts; ++part) {
        const Vector d = reinterpret_cast<const Vector*>(dy + row * kLanes)[part];
#pragma GCC unroll 8
        for (std::size_t i = 0; i < kTiles; ++i) {
          local[i][part] += x[row * kLanes + i] * d;
        }
      }
    }
#pragma GCC unroll 8
    for (std::size_t i = 0; i < kTiles; ++i) {
#pragma GCC unroll 8
      for (std::size_t part = 0; part < kParts; ++part) {
        sums[i * kParts + part] = local[i][part];
      }
    }
  }

  static void bias_gradient(const RowLanes& rows, const Scalar* dy, std::size_t columns,
                            Scalar* db) {
    Vector sums[kLanes][kParts] = {};
    for (std::size_t lane = 0; lane < rows.lanes; ++lane) {
      const auto* const all = reinterpret_cast<const Vector*>(dy + lane * rows.rows * kLanes);
      for (std::size_t row = 0; row < rows.rows; ++row) {
        for (std::size_t part = 0; part < kParts; ++part) {
          sums[lane][part] += all[row * kParts + part];
        }
      }
    }
    add_lanes(rows.lanes, sums);
    for (std::size_t j = 0; j < columns; ++j) {
      db[j] += reinterpret_cast<const Scalar*>(sums[0])[j];
    }
  }
};

}  // namespace
}  // namespace emplace::agents::nn
