#pragma once

// The kernels behind CudaLauncher. Neighbouring threads take neighbouring elements, and none
// divides more than once: 64-bit divisions cost more than the memory that they find.

#include "cuda_launcher.hpp"

#include <cstring>

namespace emplace::calibrate {
namespace device {

inline constexpr unsigned kWarp = 32;
inline constexpr unsigned kAllLanes = 0xffffffffU;
inline constexpr int kUnrolled = 4;

// Moves a Sum between the lanes of a warp, word by word.
template <class Sum, class Move>
__device__ Sum moved(const Sum& sum, Move move) {
  static_assert(sizeof(Sum) % 4 == 0);
  unsigned words[sizeof(Sum) / 4];
  std::memcpy(words, &sum, sizeof(Sum));
#pragma unroll
  for (unsigned& word : words) {
    word = move(word);
  }
  Sum result;
  std::memcpy(&result, words, sizeof(Sum));
  return result;
}

// Adds up the sums of a warp; lane 0 has the result.
template <class Sum>
__device__ void add_lanes(Sum& sum) {
#pragma unroll
  for (unsigned offset = kWarp / 2; offset > 0; offset /= 2) {
    sum += moved(sum, [=](unsigned word) { return __shfl_down_sync(kAllLanes, word, offset); });
  }
}

// Adds up the sums of a block of whole warps; thread 0 has the result. `scratch` holds one Sum for
// each warp.
template <class Sum>
__device__ void add_threads(Sum& sum, Sum* scratch) {
  add_lanes(sum);
  const unsigned warps = blockDim.x / kWarp;
  __syncthreads();
  if (threadIdx.x % kWarp == 0) {
    scratch[threadIdx.x / kWarp] = sum;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    for (unsigned warp = 1; warp < warps; ++warp) {
      sum += scratch[warp];
    }
  }
}

// Adds up terms begin, begin + step, ... of a segment of `outer` times `inner` terms.
template <class Sum, class Term>
__device__ Sum sum_of(std::int64_t segment, std::int64_t begin, std::int64_t end, std::int64_t step,
                      std::int64_t inner, const Term& term) {
  Sum sum{};
  std::int64_t o = begin / inner;
  std::int64_t i = begin - o * inner;
  const std::int64_t step_o = step / inner;
  const std::int64_t step_i = step - step_o * inner;
#pragma unroll 4
  for (std::int64_t at = begin; at < end; at += step) {
    sum += term(segment, o, i);
    o += step_o;
    i += step_i;
    if (i >= inner) {
      i -= inner;
      ++o;
    }
  }
  return sum;
}

template <class Body>
__global__ void __launch_bounds__(256) map(std::int64_t n, Body body) {
  const std::int64_t tile = std::int64_t{blockDim.x} * kUnrolled;
  const std::int64_t stride = tile * gridDim.x;
  for (std::int64_t first = blockIdx.x * tile + threadIdx.x; first < n; first += stride) {
#pragma unroll
    for (int part = 0; part < kUnrolled; ++part) {
      const std::int64_t i = first + part * std::int64_t{blockDim.x};
      if (i < n) {
        body(i);
      }
    }
  }
}

template <class Body>
__global__ void __launch_bounds__(256)
    map_rows_columns(std::int64_t rows, std::int64_t columns, Body body) {
  const std::int64_t down = std::int64_t{gridDim.y} * blockDim.y;
  const std::int64_t across = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t row = std::int64_t{blockIdx.y} * blockDim.y + threadIdx.y; row < rows;
       row += down) {
    for (std::int64_t column = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
         column < columns; column += across) {
      body(row, column);
    }
  }
}

// A block for each piece of each segment.
template <class Sum, class Term, class Finish>
__global__ void __launch_bounds__(256)
    reduce(std::int64_t length, std::int64_t inner, std::int64_t piece, Term term, Finish finish) {
  __shared__ alignas(Sum) unsigned char scratch[256 / kWarp * sizeof(Sum)];
  const std::int64_t segment = blockIdx.x;
  const std::int64_t begin = blockIdx.y * piece;
  const std::int64_t end = begin + piece < length ? begin + piece : length;
  Sum sum = sum_of<Sum>(segment, begin + threadIdx.x, end, blockDim.x, inner, term);
  add_threads(sum, reinterpret_cast<Sum*>(scratch));
  if (threadIdx.x == 0) {
    finish(segment, std::int64_t{blockIdx.y}, sum);
  }
}

// A warp for each segment.
template <class Sum, class Term, class Finish>
__global__ void __launch_bounds__(256) reduce_short(std::int64_t segments, std::int64_t length,
                                                    std::int64_t inner, Term term, Finish finish) {
  const std::int64_t warps = std::int64_t{gridDim.x} * (blockDim.x / kWarp);
  const unsigned lane = threadIdx.x % kWarp;
  for (std::int64_t segment = (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / kWarp;
       segment < segments; segment += warps) {
    Sum sum = sum_of<Sum>(segment, lane, length, kWarp, inner, term);
    add_lanes(sum);
    if (lane == 0) {
      finish(segment, sum);
    }
  }
}

// A block for blockDim.x columns of each piece of the rows.
template <class Sum, class Term, class Finish>
__global__ void __launch_bounds__(256)
    reduce_columns(std::int64_t rows, std::int64_t columns, std::int64_t piece, Term term,
                   Finish finish) {
  __shared__ alignas(Sum) unsigned char scratch[256 * sizeof(Sum)];
  Sum* sums = reinterpret_cast<Sum*>(scratch);
  const std::int64_t column = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::int64_t begin = blockIdx.y * piece;
  const std::int64_t end = begin + piece < rows ? begin + piece : rows;
  Sum sum{};
  if (column < columns) {
#pragma unroll 4
    for (std::int64_t row = begin + threadIdx.y; row < end; row += blockDim.y) {
      sum += term(row, column);
    }
  }
  const unsigned own = threadIdx.y * blockDim.x + threadIdx.x;
  sums[own] = sum;
  for (unsigned half = blockDim.y / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.y < half) {
      sums[own] += sums[own + half * blockDim.x];
    }
  }
  if (threadIdx.y == 0 && column < columns) {
    finish(std::int64_t{blockIdx.y}, column, sums[own]);
  }
}

// A block for each row.
template <class Sum, class Term, class Finish, class Body>
__global__ void __launch_bounds__(1024)
    map_long_rows(std::int64_t rows, std::int64_t columns, Term term, Finish finish, Body body) {
  __shared__ alignas(Sum) unsigned char scratch[1024 / kWarp * sizeof(Sum)];
  Sum* sums = reinterpret_cast<Sum*>(scratch);
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    Sum sum{};
#pragma unroll 4
    for (std::int64_t column = threadIdx.x; column < columns; column += blockDim.x) {
      sum += term(row, column);
    }
    add_threads(sum, sums);
    if (threadIdx.x == 0) {
      finish(row, sum);
      sums[0] = sum;
    }
    __syncthreads();
    sum = sums[0];
#pragma unroll 4
    for (std::int64_t column = threadIdx.x; column < columns; column += blockDim.x) {
      body(row, column, sum);
    }
  }
}

// A warp for each row.
template <class Sum, class Term, class Finish, class Body>
__global__ void __launch_bounds__(256)
    map_short_rows(std::int64_t rows, std::int64_t columns, Term term, Finish finish, Body body) {
  const std::int64_t warps = std::int64_t{gridDim.x} * (blockDim.x / kWarp);
  const unsigned lane = threadIdx.x % kWarp;
  for (std::int64_t row = (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / kWarp; row < rows;
       row += warps) {
    Sum sum{};
#pragma unroll 4
    for (std::int64_t column = lane; column < columns; column += kWarp) {
      sum += term(row, column);
    }
    add_lanes(sum);
    if (lane == 0) {
      finish(row, sum);
    }
    sum = moved(sum, [](unsigned word) { return __shfl_sync(kAllLanes, word, 0); });
#pragma unroll 4
    for (std::int64_t column = lane; column < columns; column += kWarp) {
      body(row, column, sum);
    }
  }
}

// A block for each share of the table's rows: it looks at all slots in their order, and adds those
// of its rows. So no two blocks write to one place, and each place is added to in order.
template <class T, class RowOf, class Value>
__global__ void __launch_bounds__(256)
    scatter_add(std::int64_t slots, std::int64_t width, T* table, RowOf row_of, Value value) {
  __shared__ std::int64_t rows[256];
  for (std::int64_t first = 0; first < slots; first += blockDim.x) {
    const std::int64_t slot = first + threadIdx.x;
    const std::int64_t row = slot < slots ? row_of(slot) : -1;
    const bool mine = row >= 0 && row % gridDim.x == blockIdx.x;
    if (__syncthreads_or(mine ? 1 : 0) == 0) {
      continue;
    }
    rows[threadIdx.x] = mine ? row : -1;
    __syncthreads();
    for (unsigned i = 0; i < blockDim.x; ++i) {
      if (rows[i] < 0) {
        continue;
      }
      for (std::int64_t column = threadIdx.x; column < width; column += blockDim.x) {
        T& place = table[rows[i] * width + column];
        place = T(float(place) + value(first + i, column));
      }
    }
    __syncthreads();
  }
}

}  // namespace device

template <class Body>
void CudaLauncher::map(std::int64_t n, Body body) {
  const std::int64_t blocks = at_most(parts_of(n, kThreads * device::kUnrolled), 16 * kBlocks);
  device::map<<<static_cast<unsigned>(blocks), kThreads, 0, stream_>>>(n, body);
  check_launch();
}

template <class Body>
void CudaLauncher::map(std::int64_t rows, std::int64_t columns, Body body) {
  unsigned across = 1;
  while (across < kThreads && across < columns) {
    across *= 2;
  }
  const unsigned down = static_cast<unsigned>(kThreads) / across;
  const dim3 grid(static_cast<unsigned>(at_most(parts_of(columns, across), kBlocks)),
                  static_cast<unsigned>(at_most(parts_of(rows, down), 65535)));
  device::map_rows_columns<<<grid, dim3(across, down), 0, stream_>>>(rows, columns, body);
  check_launch();
}

template <class Sum, class Term, class Finish>
void CudaLauncher::reduce(std::int64_t segments, std::int64_t outer, std::int64_t inner, Term term,
                          Finish finish, void* workspace) {
  const std::int64_t length = outer * inner;
  const std::int64_t pieces = pieces_of_segment(segments, length);
  const auto blocks = static_cast<unsigned>(segments);
  const auto warps = static_cast<unsigned>(at_most(parts_of(segments, kThreads / 32), 8 * kBlocks));
  if (pieces > 1) {
    Sum* sums = static_cast<Sum*>(workspace);
    const auto keep = [=] __device__(std::int64_t segment, std::int64_t piece, const Sum& sum) {
      sums[segment * pieces + piece] = sum;
    };
    const auto again = [=] __device__(std::int64_t segment, std::int64_t, std::int64_t piece) {
      return sums[segment * pieces + piece];
    };
    const dim3 grid(blocks, static_cast<unsigned>(pieces));
    device::reduce<Sum>
        <<<grid, kThreads, 0, stream_>>>(length, inner, parts_of(length, pieces), term, keep);
    check_launch();
    device::reduce_short<Sum>
        <<<warps, kThreads, 0, stream_>>>(segments, pieces, pieces, again, finish);
  } else if (length > kThreads) {
    const auto end = [=] __device__(std::int64_t segment, std::int64_t, Sum & sum) {
      finish(segment, sum);
    };
    device::reduce<Sum><<<blocks, kThreads, 0, stream_>>>(length, inner, length, term, end);
  } else {
    device::reduce_short<Sum>
        <<<warps, kThreads, 0, stream_>>>(segments, length, inner, term, finish);
  }
  check_launch();
}

template <class Sum, class Term, class Finish>
void CudaLauncher::reduce_columns(std::int64_t rows, std::int64_t columns, Term term, Finish finish,
                                  void* workspace) {
  const std::int64_t pieces = pieces_of_columns(rows, columns);
  unsigned across = 1;
  while (across < 32 && across < columns) {
    across *= 2;
  }
  const dim3 block(across, static_cast<unsigned>(kThreads) / across);
  const auto blocks = static_cast<unsigned>(parts_of(columns, across));
  const auto end = [=] __device__(std::int64_t, std::int64_t column, Sum & sum) {
    finish(column, sum);
  };
  if (pieces > 1) {
    Sum* sums = static_cast<Sum*>(workspace);
    const auto keep = [=] __device__(std::int64_t piece, std::int64_t column, const Sum& sum) {
      sums[piece * columns + column] = sum;
    };
    const auto again = [=] __device__(std::int64_t piece, std::int64_t column) {
      return sums[piece * columns + column];
    };
    const dim3 grid(blocks, static_cast<unsigned>(pieces));
    device::reduce_columns<Sum>
        <<<grid, block, 0, stream_>>>(rows, columns, parts_of(rows, pieces), term, keep);
    check_launch();
    device::reduce_columns<Sum><<<blocks, block, 0, stream_>>>(pieces, columns, pieces, again, end);
  } else {
    device::reduce_columns<Sum><<<blocks, block, 0, stream_>>>(rows, columns, rows, term, end);
  }
  check_launch();
}

template <class Sum, class Term, class Finish, class Body>
void CudaLauncher::map_rows(std::int64_t rows, std::int64_t columns, Term term, Finish finish,
                            Body body) {
  if (columns <= 1024) {
    const std::int64_t blocks = at_most(parts_of(rows, kThreads / 32), 8 * kBlocks);
    device::map_short_rows<Sum><<<static_cast<unsigned>(blocks), kThreads, 0, stream_>>>(
        rows, columns, term, finish, body);
  } else {
    const std::int64_t threads = columns <= 8192 ? kThreads : 1024;
    device::map_long_rows<Sum>
        <<<static_cast<unsigned>(at_most(rows, 8 * kBlocks)), static_cast<unsigned>(threads), 0,
           stream_>>>(rows, columns, term, finish, body);
  }
  check_launch();
}

template <class T, class RowOf, class Value>
void CudaLauncher::scatter_add(std::int64_t slots, std::int64_t width, T* table, RowOf row_of,
                               Value value) {
  device::scatter_add<<<static_cast<unsigned>(at_most(slots, kBlocks / 2)), kThreads, 0, stream_>>>(
      slots, width, table, row_of, value);
  check_launch();
}

}  // namespace emplace::calibrate
