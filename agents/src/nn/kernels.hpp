#pragma once

// The loops in which a network spends its time: y = x W + b and its gradients, segment sums, tanh,
// and attention. They are written once (kernel_loops.hpp, *_loops.hpp), compiled for SSE2, AVX2 and
// AVX-512, and chosen by the processor at run time.
//
// All versions give the same bits. Each number of y and of the gradient of x is one sum in one
// order. The gradient of W sums rows in 16 lanes, whatever the width of a vector, and adds the
// lanes up in one order. Nothing is contracted to fused multiply-adds (-ffp-contract=off). A
// library's matrix products do not promise this: the order of their sums depends on the width of a
// vector and on the sizes of the caches.

#include "matrix.hpp"

#include <cstddef>
#include <cstdint>

namespace emplace::agents::nn {

/// Describes one layer: its weights, inputs x outputs in row-major order, and the number of panels
/// (matrix.hpp) of x and y, if they are in panels.
template <class Scalar>
struct LayerArguments {
  const Scalar* weights;
  std::size_t inputs;
  std::size_t outputs;
  std::size_t panels;
};

/// Points at the input of one use of a layer and at the gradient of its output.
template <class Scalar>
struct UseArguments {
  const Scalar* x;
  const Scalar* dy;
  std::size_t panels;
};

/// Points at the inputs of additive attention (Bahdanau et al. 2015): a memory in columns of
/// `lanes` numbers, whose padding rows are finite, e^2m of each of its numbers m, and a weight for
/// each column.
template <class Scalar>
struct AttentionArguments {
  const Scalar* memory;
  const Scalar* exponentials;
  const Scalar* weights;
  std::size_t lanes;
  std::size_t columns;
};

/// Points at the weights of a layer, packed for matrices in rows: tiles of kLanes outputs, each
/// `inputs` times kLanes consecutive weights. The last tile is filled with zeros.
template <class Scalar>
struct PackedWeights {
  const Scalar* tiles;
  std::size_t inputs;
  std::size_t outputs;
};

/// Identifies row `row` of source `source` of a segment sum (segment_sum.hpp).
struct SegmentEntry {
  std::int32_t source;
  std::int32_t row;
};

/// Points at the entries of the `rows` rows of a segment sum; those of row r are
/// [begin[r], begin[r + 1]). Each row is one of `lanes` rows: 1, 2, 4, 8 or 16.
struct SegmentArguments {
  const SegmentEntry* entries;
  const std::int32_t* begin;
  std::size_t rows;
  std::size_t lanes;
  bool is_mean;
};

/// Describes the rows over which the gradient of a layer's weights sums: row i of a matrix is in
/// lane i modulo `lanes`, a power of two up to kLanes. Each lane has `rows`, of all uses of the
/// layer.
struct RowLanes {
  std::size_t lanes;
  std::size_t rows;
};

/// Counts the queries that the gradient of attention takes at a time.
inline constexpr std::size_t kQueries = 8;

/// Points at the gradients of attention, which are added to. `scores` is room for those of the
/// scores of kQueries queries.
template <class Scalar>
struct AttentionGradients {
  Scalar* memory;
  Scalar* weights;
  Scalar* query;
  Scalar* scores;
};

/// Holds the loops for one vector width.
template <class Scalar>
struct Kernels {
  /// Sets y = x W + b, or max(0, x W + b) with `relu`.
  void (*affine)(const LayerArguments<Scalar>& layer, const Scalar* x, const Scalar* bias,
                 bool relu, Scalar* y);

  /// Sets dx = dy W^T, or adds it to dx.
  void (*input_gradient)(const LayerArguments<Scalar>& layer, const Scalar* dy, bool add,
                         Scalar* dx);

  /// Adds x^T dy to dw, which is laid out as the weights, and the sum of dy's rows to db, for the
  /// rows of all uses of the layer. layer.panels is not read.
  void (*weight_gradient)(const LayerArguments<Scalar>& layer, const UseArguments<Scalar>* uses,
                          std::size_t num_uses, Scalar* dw, Scalar* db);

  /// Adds x W to y; both are in rows.
  void (*add_product)(const PackedWeights<Scalar>& weights, std::size_t rows, const Scalar* x,
                      Scalar* y);

  /// Does what weight_gradient does for matrices in rows, with the same bits. The columns of x and
  /// dy are in blocks of kLanes, of which the last is filled with zeros. Each block has all rows of
  /// the first lane, then all of the next.
  void (*weight_gradient_of_rows)(const LayerArguments<Scalar>& layer, const RowLanes& rows,
                                  const Scalar* x, const Scalar* dy, Scalar* dw, Scalar* db);

  /// Does what segment_sum and add_segment_sum_gradients (segment_sum.hpp) do for matrices in
  /// panels.
  void (*segment_sum)(const SegmentArguments& segments, const MatrixView<Scalar>* sources,
                      const MatrixView<Scalar>& out);
  void (*add_segment_sum_gradients)(const SegmentArguments& segments, const MatrixView<Scalar>& out,
                                    const MatrixView<Scalar>* sources);

  /// Replaces each number x by tanh x. Requires, here and below: room for a multiple of kLanes.
  void (*tanh)(std::size_t count, Scalar* numbers);

  /// Sets `exponentials` to e^2x of each number x, or of the nearest between -20 and 20.
  void (*exp_twice)(std::size_t count, const Scalar* numbers, Scalar* exponentials);

  /// Sets the score of each row of the memory: the sum of weight * tanh(memory + query) over the
  /// columns. `query` holds e^2q of the query's numbers q.
  void (*scores)(const AttentionArguments<Scalar>& attention, const Scalar* query, Scalar* scores);

  /// Sets the context: the sum of the memory's rows, each times its attention weight. Requires:
  /// weights of 0 for padding rows.
  void (*weighted_sum)(const AttentionArguments<Scalar>& attention, const Scalar* attention_weights,
                       Scalar* context);

  /// Adds the gradients of the contexts of `queries`, with attention_weights = softmax(scores), one
  /// query after the other. Queries and contexts are matrices in rows.
  void (*attention_gradient)(const AttentionArguments<Scalar>& attention, std::size_t queries,
                             const Scalar* query, const Scalar* attention_weights,
                             const Scalar* d_context, const AttentionGradients<Scalar>& to);
};

/// Returns the loops for vectors of `bytes` (16, 32 or 64), or none where the processor or the
/// build lacks them.
template <class Scalar>
const Kernels<Scalar>* find_kernels(std::size_t bytes);

/// Returns the loops for the widest vectors of this processor.
template <class Scalar>
const Kernels<Scalar>& kernels();

/// Is defined in the files that are compiled for one vector width.
template <class Scalar>
const Kernels<Scalar>& kernels_avx2();
template <class Scalar>
const Kernels<Scalar>& kernels_avx512();

}  // namespace emplace::agents::nn
