#pragma once

// Kernels that move memory: those that prepare measurements, and ops that memory bounds.

#include "../device_figures.hpp"
#include "../memory_site.hpp"

#include <cuda_runtime_api.h>

#include <cstdint>

namespace emplace::calibrate {

/// Throws DeviceFailure if the last launch of this thread failed.
void check_launch();

/// Enqueues a fill with random numbers in [-1, 1): each 32-bit word is such a float32, and each of
/// its halves such a bfloat16. The rest of a word at the end is zeros.
void enqueue_random_fill(cudaStream_t stream, void* memory, std::int64_t bytes);

/// Enqueues a kernel that reads memory, so that the caches hold it and have nothing to write back.
void enqueue_read(cudaStream_t stream, const void* memory, std::int64_t bytes);

/// Enqueues a kernel of one thread that ends when so many cycles of its multiprocessor have passed.
void enqueue_spin(cudaStream_t stream, std::int64_t cycles);

/// Enqueues a kernel that writes what the clocks show on multiprocessor 0 to `stamp`, on the GPU.
void enqueue_stamp(cudaStream_t stream, ClockStamp* stamp);

/// Enqueues what `site` says, for its streams. Requires: tensors that begin at multiples of 16
/// bytes, as allocated ones do.
void enqueue_memory_op(cudaStream_t stream, const MemorySite& site, const Streams& streams);

}  // namespace emplace::calibrate
