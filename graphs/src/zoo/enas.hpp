#pragma once

// Networks of the two search spaces of ENAS for CIFAR-10 (Pham, Guan, Zoph, Le, Dean: Efficient
// Neural Architecture Search via Parameter Sharing, ICML 2018, arXiv 1802.03268, sections 2.2 and
// 2.3), from the sequences of integers in which the authors' program writes architectures.
//
// Macro: layers in a row. Layer k has an op (0 to 5: 3x3, separable 3x3, 5x5, separable 5x5,
// average and max pooling), then k bits that say which of the layers before the last are
// concatenated to its result. After the first and the second third of the layers maps are halved
// and filters doubled; earlier layers follow by a factorized reduction where one is still read.
//
// Micro: a normal and a reduction cell, each of B blocks. A block is two pairs of an input (0 the
// layer before last, 1 the last, 2 and on the blocks) and an op (0 to 4: separable 3x3, separable
// 5x5, average and max pooling, identity). Outputs that nothing in the cell reads are its result.
// Of 3 cells + 2 layers those after the first and the second stack of normal cells are reduction
// cells.

#include <emplace/graphs/op_graph.hpp>

#include <cstdint>
#include <span>

namespace emplace {

/// Says how large a network of either space is.
struct EnasSize {
  std::int64_t batch = 128;
  std::int64_t filters = 36;
};

/// The number of ops to choose from in the macro space.
inline constexpr std::int64_t kEnasMacroOps = 6;

/// The number of ops to choose from in the micro space.
inline constexpr std::int64_t kEnasMicroOps = 5;

/// Returns the forward graph of a macro architecture with `layers` layers. Requires: `architecture`
/// has layers + layers (layers - 1) / 2 numbers; layers >= 3.
OpGraph enas_macro_network(std::span<const std::int64_t> architecture, std::int64_t layers,
                           const EnasSize& size);

/// Returns the forward graph of a micro architecture with `cells` normal cells in each of three
/// stacks. Requires: `architecture` has 8 numbers for each block, those of the normal cell first.
OpGraph enas_micro_network(std::span<const std::int64_t> architecture, std::int64_t cells,
                           const EnasSize& size);

}  // namespace emplace
