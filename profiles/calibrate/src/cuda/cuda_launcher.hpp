#pragma once

// Runs our own ops (kernels/skeleton.hpp) on a GPU: enqueues kernels on a stream. Sums are added in
// an order that follows from sizes alone, without atomic additions of numbers, so that results
// have the same bits each time and on any GPU of one instruction set.

#include <cuda_runtime_api.h>

#include <cstdint>

namespace emplace::calibrate {

/// Throws DeviceFailure if the last launch of this thread failed.
void check_launch();

/// Enqueues kernels on one stream. Its templates are defined in cuda_launcher.cuh, for nvcc.
class CudaLauncher {
 public:
  explicit CudaLauncher(cudaStream_t stream) : stream_(stream) {}

  template <class Body>
  void map(std::int64_t n, Body body);

  template <class Body>
  void map(std::int64_t rows, std::int64_t columns, Body body);

  template <class Sum>
  static std::int64_t reduce_bytes(std::int64_t segments, std::int64_t length) {
    const std::int64_t pieces = pieces_of_segment(segments, length);
    return pieces > 1 ? segments * pieces * std::int64_t{sizeof(Sum)} : 0;
  }

  template <class Sum, class Term, class Finish>
  void reduce(std::int64_t segments, std::int64_t outer, std::int64_t inner, Term term,
              Finish finish, void* workspace);

  template <class Sum>
  static std::int64_t reduce_columns_bytes(std::int64_t rows, std::int64_t columns) {
    const std::int64_t pieces = pieces_of_columns(rows, columns);
    return pieces > 1 ? pieces * columns * std::int64_t{sizeof(Sum)} : 0;
  }

  template <class Sum, class Term, class Finish>
  void reduce_columns(std::int64_t rows, std::int64_t columns, Term term, Finish finish,
                      void* workspace);

  template <class Sum, class Term, class Finish, class Body>
  void map_rows(std::int64_t rows, std::int64_t columns, Term term, Finish finish, Body body);

  template <class T, class RowOf, class Value>
  void scatter_add(std::int64_t slots, std::int64_t width, T* table, RowOf row_of, Value value);

 private:
  static constexpr std::int64_t kThreads = 256;  // of a block
  static constexpr std::int64_t kBlocks = 2048;  // that fill any GPU some times over
  // The second stage of a sum adds up so many pieces at most, and each is worth a block.
  static constexpr std::int64_t kPieces = 256;
  static constexpr std::int64_t kPieceLength = 4096;
  static constexpr std::int64_t kPieceRows = 64;

  static constexpr std::int64_t parts_of(std::int64_t n, std::int64_t size) {
    return (n + size - 1) / size;
  }
  static constexpr std::int64_t at_most(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

  // Into how many pieces the sums of few, long segments are cut, so that all of the GPU is busy.
  static constexpr std::int64_t pieces_of_segment(std::int64_t segments, std::int64_t length) {
    return at_most(parts_of(length, kPieceLength), at_most(kPieces, parts_of(kBlocks, segments)));
  }
  static constexpr std::int64_t pieces_of_columns(std::int64_t rows, std::int64_t columns) {
    return at_most(parts_of(rows, kPieceRows),
                   at_most(kPieces, parts_of(kBlocks, parts_of(columns, 32))));
  }

  cudaStream_t stream_;
};

}  // namespace emplace::calibrate
