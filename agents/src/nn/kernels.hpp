#pragma once

// The loops in which a network spends its time: y = x W + b, and the gradients of x and of W and b;
// tanh, and attention. They are written once (kernel_loops.hpp, attention_loops.hpp) and compiled
// for SSE2, AVX2 and AVX-512; the processor decides at run time.
//
// All kinds give the same bits. Each number of y and of the gradient of x is one sum in one order,
// whatever stands beside it in a vector. The gradient of W sums rows in 16 lanes, whatever the
// width of a vector, and adds the lanes up in one order. Nothing is contracted to fused
// multiply-adds (-ffp-contract=off). That is why these are not Eigen's products: the order of their
// sums depends on the width of a vector and, for long sums, on the sizes of the caches.

#include <cstddef>

namespace emplace::agents::nn {

/// Points at the matrices of one layer; x and y are in panels (matrix.hpp), weights are
/// inputs x outputs, row after row.
template <class Scalar>
struct LayerArguments {
  const Scalar* weights;
  std::size_t inputs;
  std::size_t outputs;
  std::size_t panels;
};

/// Points at what attention reads (Bahdanau et al. 2015): a memory in panels, in which rows beyond
/// the last are finite numbers, e to twice each of them, and a weight for each of its columns.
template <class Scalar>
struct AttentionArguments {
  const Scalar* memory;
  const Scalar* exponentials;
  const Scalar* weights;
  std::size_t panels;
  std::size_t columns;
};

/// Points at where its gradients are added to; that by scores, as long as the shares, is set.
template <class Scalar>
struct AttentionGradients {
  Scalar* memory;
  Scalar* weights;
  Scalar* query;
  Scalar* scores;
};

/// Holds the loops for one kind of processor.
template <class Scalar>
struct Kernels {
  /// Sets y = x W + b, or where that is negative and `relu`, 0.
  void (*affine)(const LayerArguments<Scalar>& layer, const Scalar* x, const Scalar* bias,
                 bool relu, Scalar* y);

  /// Sets dx = dy W^T, or adds it to dx.
  void (*input_gradient)(const LayerArguments<Scalar>& layer, const Scalar* dy, bool add,
                         Scalar* dx);

  /// Adds x^T dy to dw (like the weights) and the sum of dy's rows to db.
  void (*weight_gradient)(const LayerArguments<Scalar>& layer, const Scalar* x, const Scalar* dy,
                          Scalar* dw, Scalar* db);

  /// Replaces each number x by tanh x; there are 16 * `panels`.
  void (*tanh)(std::size_t panels, Scalar* numbers);

  /// Sets `exponentials` to e^2x of each number x, or of the nearest between -20 and 20.
  void (*exp_twice)(std::size_t panels, const Scalar* numbers, Scalar* exponentials);

  /// Sets the score of each row of the memory: the sum of weight * tanh(memory + query) over the
  /// columns, given e to twice the query. Queries, contexts and their gradients stand kLanes apart,
  /// as a row of a panel does.
  void (*scores)(const AttentionArguments<Scalar>& attention, const Scalar* query, Scalar* scores);

  /// Sets the context: the sum of the memory's rows, each times its share. Requires: shares of 0
  /// beyond the last row.
  void (*mix)(const AttentionArguments<Scalar>& attention, const Scalar* shares, Scalar* context);

  /// Adds the gradients of shares = softmax(scores) and the context that they mix.
  void (*attention_gradient)(const AttentionArguments<Scalar>& attention, const Scalar* query,
                             const Scalar* shares, const Scalar* d_context,
                             const AttentionGradients<Scalar>& to);
};

/// Returns the loops for vectors of `bytes` (16, 32 or 64), or none where the processor or the
/// build lacks them.
template <class Scalar>
const Kernels<Scalar>* find_kernels(std::size_t bytes);

/// Returns the loops for the widest vectors of this processor.
template <class Scalar>
const Kernels<Scalar>& kernels();

/// Is defined in the files that are compiled for one kind of processor.
template <class Scalar>
const Kernels<Scalar>& kernels_avx2();
template <class Scalar>
const Kernels<Scalar>& kernels_avx512();

}  // namespace emplace::agents::nn
