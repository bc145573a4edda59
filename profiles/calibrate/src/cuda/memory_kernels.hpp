#pragma once

// Kernels that prepare measurements.

#include <cuda_runtime_api.h>

#include <cstdint>

namespace emplace::calibrate {

/// Enqueues a fill with random numbers in [-1, 1): each 32-bit word is such a float32, and each of
/// its halves such a bfloat16. The rest of a word at the end is zeros.
void enqueue_random_fill(cudaStream_t stream, void* memory, std::int64_t bytes);

/// Enqueues writes to all of `memory`, after which caches hold nothing else. Requires: a multiple
/// of 4 bytes.
void enqueue_flush(cudaStream_t stream, void* memory, std::int64_t bytes);

/// Enqueues a kernel that does nothing.
void enqueue_nothing(cudaStream_t stream);

}  // namespace emplace::calibrate
