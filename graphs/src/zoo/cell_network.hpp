#pragma once

// The frame in which NASNet and AmoebaNet put their cells for ImageNet (Zoph et al. 2018, figure 2,
// right): a strided convolution and two reduction cells, then three stacks of normal cells with
// reduction cells between them, each of which doubles the filters. It follows the authors' models
// in TensorFlow (slim's nasnet and tpu's amoeba_net). Drop-path has no size and no cost worth
// counting, so the graph does not know it.
//
// Scopes: "stem", "cell_stem_0" and "cell_stem_1", "cell_0" and so on, "reduction_cell_0" and
// "reduction_cell_1", "auxiliary", "logits"; within a cell those of search_cells.hpp.

#include "search_cells.hpp"

#include <emplace/graphs/op_graph.hpp>

#include <cstdint>
#include <string>

namespace emplace {

/// Describes a network of cells.
struct CellNetwork {
  std::string name{};
  std::string source{};
  CellDesign normal{};
  CellDesign reduction{};
  std::int64_t batch = 1;
  std::int64_t pixels = 224;
  std::int64_t stem_filters = 32;
  std::int64_t filters = 1;  ///< of the cells in the first stack
  std::int64_t cells = 1;    ///< normal cells in each of the three stacks
  /// Lets the cell after a reduction see, beside the reduction's result, the layer that the
  /// reduction saw as its previous one instead of the reduction's input.
  bool skips_reduction_input = false;
  bool auxiliary = false;  ///< with a second classifier after the second stack
};

/// Returns the forward graph.
OpGraph cell_network(const CellNetwork& network);

}  // namespace emplace
