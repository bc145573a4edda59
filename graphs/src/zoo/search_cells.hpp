#pragma once

// Cells of the search space of NASNet (Zoph, Vasudevan, Shlens, Le 2018, arXiv 1707.07012, section
// 3), from which NASNet, AmoebaNet and the micro space of ENAS draw. A cell sees two layers and
// grows a list of states: state 0 is the present layer squeezed to the cell's filters by a 1x1
// convolution, state 1 is the layer before it, adjusted to the same size. Each block applies an op
// to each of two states and adds up what comes out, the next state. Some of the states,
// concatenated, are the cell's result.
//
// In a reduction cell ops on states 0 and 1 have stride 2. Every convolution is relu, convolution,
// batch_norm in this order; a separable convolution is that twice, the convolution being a
// depthwise and a 1x1 one. Ops stand in the scope of their block, "branch_0" to "branch_4" within
// the cell's; the states 0 and 1 are made in "squeeze" and "adjust".

#include <emplace/graphs/model_builder.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace emplace {

/// Names the ops of the search spaces.
enum class CellOp : std::uint8_t {
  kIdentity,       ///< with stride 2 a factorized reduction
  kSeparable3x3,   ///< twice
  kSeparable5x5,   ///< twice
  kSeparable7x7,   ///< twice
  kAvgPool3x3,     ///< followed by a 1x1 convolution if the number of channels changes, like all
  kMaxPool2x2,     ///< pools
  kMaxPool3x3,     ///<
  kConv1x1,        ///<
  kConv3x3,        ///< between 1x1 convolutions to a quarter of the filters and back
  kConv1x7And7x1,  ///< the same, with two convolutions between
};

/// Applies an op to a state.
struct CellStep {
  std::int64_t state;
  CellOp op;
};

/// Adds up two steps; the sum is the next state.
struct CellBlock {
  CellStep left;
  CellStep right;
};

/// Describes a cell.
struct CellDesign {
  std::vector<CellBlock> blocks{};
  std::vector<std::int64_t> results{};  ///< states that are concatenated
};

/// Adds a cell in the present scope and returns its result. `previous` is the layer before `x`; if
/// there is none, `x` itself is state 1, as it is. `stride` is 2 for a reduction cell, else 1.
Tensor search_cell(ModelBuilder& net, const CellDesign& design, Tensor x,
                   std::optional<Tensor> previous, std::int64_t filters, std::int64_t stride);

/// Halves a map without dropping rows and columns: two 1x1 convolutions with stride 2, one on the
/// map and one on the map shifted by one place, concatenated and normalized.
Tensor factorized_reduction(ModelBuilder& net, Tensor x, std::int64_t filters);

}  // namespace emplace
