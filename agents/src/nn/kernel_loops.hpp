#pragma once

// The loops of kernels.hpp for vectors of `kBytes` bytes. A file that includes this is compiled for
// processors that have such vectors. It must include nothing else that defines functions, because
// the linker could choose that copy for all processors. Hence no standard containers here, and
// internal linkage for everything.

#include "attention_loops.hpp"
#include "kernels.hpp"
#include "lane_sums.hpp"
#include "matrix.hpp"
#include "row_loops.hpp"
#include "segment_loops.hpp"

#include <cstddef>

namespace emplace::agents::nn {
namespace {

template <class Scalar, std::size_t kBytes>
struct Loops {
  using Attention = AttentionLoops<Scalar, kBytes>;
  using Rows = RowLoops<Scalar, kBytes>;
  using Segments = SegmentLoops<Scalar, kBytes>;
  using Sums = LaneSums<Scalar, kBytes>;
  using Vector = typename Sums::Vector;

  static constexpr std::size_t kParts = Sums::kParts;

  // Columns of y, and inputs and outputs of W, whose sums are in registers at a time: 16 vectors of
  // SSE2 and AVX2 and 32 of AVX-512, less those for what is read.
  static constexpr std::size_t kAffineColumns = kParts == 1 ? 16 : kParts == 2 ? 4 : 2;
  static constexpr std::size_t kGradientColumns = kParts == 1 ? 8 : kParts == 2 ? 4 : 2;
  static constexpr std::size_t kSquare = kParts == 1 ? 4 : 2;

  // The gradient of W is summed in tiles of inputs and outputs, and the panels of a tile stay in
  // the cache while its squares go by.
  static constexpr std::size_t kTile = 16;
  static constexpr std::size_t kCachedPanels = 16;
  using Tile = Vector[kTile][kTile][kParts];
  static std::size_t up_to_tile(std::size_t count) { return count < kTile ? count : kTile; }

  // Adds x times kCount columns of W to y; columns are `across` apart and rows `down`.
  template <std::size_t kCount>
  [[gnu::always_inline]] static void multiply(const Scalar* x, std::size_t inner,
                                              const Scalar* weights, std::size_t down,
                                              std::size_t across, Vector (&sums)[kCount][kParts]) {
    for (std::size_t k = 0; k < inner; ++k) {
      const auto* const row = reinterpret_cast<const Vector*>(x + k * kLanes);
#pragma GCC unroll 16
      for (std::size_t c = 0; c < kCount; ++c) {
        const Scalar weight = weights[k * down + c * across];
#pragma GCC unroll 8
        for (std::size_t part = 0; part < kParts; ++part) {
          sums[c][part] += row[part] * weight;
        }
      }
    }
  }

  template <std::size_t kCount>
  [[gnu::always_inline]] static void affine_columns(const LayerArguments<Scalar>& layer,
                                                    const Scalar* x, const Scalar* bias, bool relu,
                                                    std::size_t first, Scalar* y) {
    Vector sums[kCount][kParts];
#pragma GCC unroll 16
    for (std::size_t c = 0; c < kCount; ++c) {
#pragma GCC unroll 8
      for (std::size_t part = 0; part < kParts; ++part) {
        sums[c][part] = Vector{} + bias[first + c];
      }
    }
    multiply<kCount>(x, layer.inputs, layer.weights + first, layer.outputs, 1, sums);
#pragma GCC unroll 16
    for (std::size_t c = 0; c < kCount; ++c) {
      auto* const out = reinterpret_cast<Vector*>(y + (first + c) * kLanes);
#pragma GCC unroll 8
      for (std::size_t part = 0; part < kParts; ++part) {
        const Vector sum = sums[c][part];
        out[part] = relu ? (sum > 0 ? sum : Vector{}) : sum;
      }
    }
  }

  template <std::size_t kCount>
  [[gnu::always_inline]] static void input_gradient_columns(const LayerArguments<Scalar>& layer,
                                                            const Scalar* dy, bool add,
                                                            std::size_t first, Scalar* dx) {
    Vector sums[kCount][kParts];
#pragma GCC unroll 16
    for (std::size_t c = 0; c < kCount; ++c) {
      const auto* const old = reinterpret_cast<const Vector*>(dx + (first + c) * kLanes);
#pragma GCC unroll 8
      for (std::size_t part = 0; part < kParts; ++part) {
        sums[c][part] = add ? old[part] : Vector{};
      }
    }
    multiply<kCount>(dy, layer.outputs, layer.weights + first * layer.outputs, 1, layer.outputs,
                     sums);
#pragma GCC unroll 16
    for (std::size_t c = 0; c < kCount; ++c) {
      auto* const out = reinterpret_cast<Vector*>(dx + (first + c) * kLanes);
#pragma GCC unroll 8
      for (std::size_t part = 0; part < kParts; ++part) {
        out[part] = sums[c][part];
      }
    }
  }

  // Calls step.template operator()<kCount>(first) for pieces of [0, total) of nearly equal length,
  // kMost at most.
  template <std::size_t kMost, class Step>
  [[gnu::always_inline]] static void in_pieces(std::size_t total, const Step& step) {
    const std::size_t pieces = (total + kMost - 1) / kMost;
    std::size_t first = 0;
    for (std::size_t piece = 0; piece < pieces; ++piece) {
      const std::size_t count = (total - first) / (pieces - piece);
      dispatch<kMost>(count, first, step);
      first += count;
    }
  }

  // Calls step likewise for pieces of kSquare, and what is left.
  template <class Step>
  [[gnu::always_inline]] static void in_squares(std::size_t total, const Step& step) {
    for (std::size_t first = 0; first < total; first += kSquare) {
      dispatch<kSquare>(total - first < kSquare ? total - first : kSquare, first, step);
    }
  }

  template <std::size_t kCount, class Step>
  [[gnu::always_inline]] static void dispatch(std::size_t count, std::size_t first,
                                              const Step& step) {
    if (count == kCount) {
      step.template operator()<kCount>(first);
    } else if constexpr (kCount > 1) {
      dispatch<kCount - 1>(count, first, step);
    }
  }

  static void affine(const LayerArguments<Scalar>& layer, const Scalar* x, const Scalar* bias,
                     bool relu, Scalar* y) {
    for (std::size_t panel = 0; panel < layer.panels; ++panel) {
      in_pieces<kAffineColumns>(layer.outputs, [&]<std::size_t kCount>(std::size_t first) {
        affine_columns<kCount>(layer, x + panel * kLanes * layer.inputs, bias, relu, first,
                               y + panel * kLanes * layer.outputs);
      });
    }
  }

  static void input_gradient(const LayerArguments<Scalar>& layer, const Scalar* dy, bool add,
                             Scalar* dx) {
    for (std::size_t panel = 0; panel < layer.panels; ++panel) {
      in_pieces<kGradientColumns>(layer.inputs, [&]<std::size_t kCount>(std::size_t first) {
        input_gradient_columns<kCount>(layer, dy + panel * kLanes * layer.outputs, add, first,
                                       dx + panel * kLanes * layer.inputs);
      });
    }
  }

  // Adds the products of some panels of a use to a square of the tile, lane by lane.
  template <std::size_t kInputs, std::size_t kOutputs>
  [[gnu::always_inline]] static void add_panels(const LayerArguments<Scalar>& layer,
                                                const Scalar* x, const Scalar* dy,
                                                std::size_t panels, Tile& tile, std::size_t input,
                                                std::size_t output) {
    Vector sums[kInputs][kOutputs][kParts];
#pragma GCC unroll 16
    for (std::size_t i = 0; i < kInputs; ++i) {
#pragma GCC unroll 16
      for (std::size_t j = 0; j < kOutputs; ++j) {
#pragma GCC unroll 8
        for (std::size_t part = 0; part < kParts; ++part) {
          sums[i][j][part] = tile[input + i][output + j][part];
        }
      }
    }
    x += input * kLanes;
    dy += output * kLanes;
    for (std::size_t panel = 0; panel < panels; ++panel) {
#pragma GCC unroll 16
      for (std::size_t i = 0; i < kInputs; ++i) {
#pragma GCC unroll 16
        for (std::size_t j = 0; j < kOutputs; ++j) {
#pragma GCC unroll 8
          for (std::size_t part = 0; part < kParts; ++part) {
            sums[i][j][part] += reinterpret_cast<const Vector*>(x + i * kLanes)[part] *
                                reinterpret_cast<const Vector*>(dy + j * kLanes)[part];
          }
        }
      }
      x += layer.inputs * kLanes;
      dy += layer.outputs * kLanes;
    }
#pragma GCC unroll 16
    for (std::size_t i = 0; i < kInputs; ++i) {
#pragma GCC unroll 16
      for (std::size_t j = 0; j < kOutputs; ++j) {
#pragma GCC unroll 8
        for (std::size_t part = 0; part < kParts; ++part) {
          tile[input + i][output + j][part] = sums[i][j][part];
        }
      }
    }
  }

  // Adds the lanes up, and the sums to dw.
  template <std::size_t kInputs, std::size_t kOutputs>
  [[gnu::always_inline]] static void add_sums_of_lanes(const Tile& tile, std::size_t input,
                                                       std::size_t output, std::size_t outputs,
                                                       Scalar* dw) {
    Vector sums[kSquare * kSquare][kParts] = {};
    for (std::size_t i = 0; i < kInputs; ++i) {
      for (std::size_t j = 0; j < kOutputs; ++j) {
        for (std::size_t part = 0; part < kParts; ++part) {
          sums[i * kSquare + j][part] = tile[input + i][output + j][part];
        }
      }
    }
    Scalar added[kSquare * kSquare];
    Sums::sums_of_lanes(sums, added);
    for (std::size_t i = 0; i < kInputs; ++i) {
      for (std::size_t j = 0; j < kOutputs; ++j) {
        dw[(input + i) * outputs + output + j] += added[i * kSquare + j];
      }
    }
  }

  static void weight_gradient_tile(const LayerArguments<Scalar>& layer,
                                   const UseArguments<Scalar>* uses, std::size_t num_uses,
                                   std::size_t first_input, std::size_t first_output, Scalar* dw) {
    const std::size_t inputs = up_to_tile(layer.inputs - first_input);
    const std::size_t outputs = up_to_tile(layer.outputs - first_output);
    const auto for_squares = [&](const auto& step) {
      in_squares(inputs, [&]<std::size_t kInputs>(std::size_t input) {
        in_squares(outputs, [&]<std::size_t kOutputs>(std::size_t output) {
          step.template operator()<kInputs, kOutputs>(input, output);
        });
      });
    };
    Tile tile;
    for (std::size_t input = 0; input < inputs; ++input) {
      for (std::size_t output = 0; output < outputs; ++output) {
        for (std::size_t part = 0; part < kParts; ++part) {
          tile[input][output][part] = Vector{};
        }
      }
    }
    for (const UseArguments<Scalar>* use = uses; use != uses + num_uses; ++use) {
      const Scalar* const x = use->x + first_input * kLanes;
      const Scalar* const dy = use->dy + first_output * kLanes;
      for (std::size_t panel = 0; panel < use->panels; panel += kCachedPanels) {
        const std::size_t rest = use->panels - panel;
        for_squares(
            [&]<std::size_t kInputs, std::size_t kOutputs>(std::size_t input, std::size_t output) {
              add_panels<kInputs, kOutputs>(
                  layer, x + panel * layer.inputs * kLanes, dy + panel * layer.outputs * kLanes,
                  rest < kCachedPanels ? rest : kCachedPanels, tile, input, output);
            });
      }
    }
    Scalar* const corner = dw + first_input * layer.outputs + first_output;
    for_squares(
        [&]<std::size_t kInputs, std::size_t kOutputs>(std::size_t input, std::size_t output) {
          add_sums_of_lanes<kInputs, kOutputs>(tile, input, output, layer.outputs, corner);
        });
  }

  static void weight_gradient(const LayerArguments<Scalar>& layer, const UseArguments<Scalar>* uses,
                              std::size_t num_uses, Scalar* dw, Scalar* db) {
    for (std::size_t input = 0; input < layer.inputs; input += kTile) {
      for (std::size_t output = 0; output < layer.outputs; output += kTile) {
        weight_gradient_tile(layer, uses, num_uses, input, output, dw);
      }
    }
    for (std::size_t output = 0; output < layer.outputs; ++output) {
      Vector sums[kParts] = {};
      for (std::size_t use = 0; use < num_uses; ++use) {
        const Scalar* column = uses[use].dy + output * kLanes;
        for (std::size_t panel = 0; panel < uses[use].panels; ++panel) {
#pragma GCC unroll 8
          for (std::size_t part = 0; part < kParts; ++part) {
            sums[part] += reinterpret_cast<const Vector*>(column)[part];
          }
          column += layer.outputs * kLanes;
        }
      }
      db[output] += Sums::sum_of_lanes(sums);
    }
  }

  static constexpr Kernels<Scalar> kTable = {affine,
                                             input_gradient,
                                             weight_gradient,
                                             Rows::add_product,
                                             Rows::weight_gradient,
                                             Segments::sum,
                                             Segments::add_gradients,
                                             Attention::tanh,
                                             Attention::exp_twice,
                                             Attention::scores,
                                             Attention::weighted_sum,
                                             Attention::gradient};
};

}  // namespace
}  // namespace emplace::agents::nn
