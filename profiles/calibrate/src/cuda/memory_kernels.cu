#include "cuda_launcher.cuh"
#include "memory_kernels.hpp"

namespace emplace::calibrate {
namespace {

// A bfloat16 in [-1, 1) of the 8 bits that its fraction can hold.
__device__ std::uint32_t bfloat16_bits(std::uint32_t random) {
  const float value = static_cast<float>(random & 0xffU) / 128.0F - 1.0F;
  return __float_as_uint(value) >> 16U;
}

// Mixes the bits of a number (Steele, Lea and Flood 2014: the end of SplitMix).
__device__ std::uint32_t mixed(std::uint64_t number) {
  number = (number + 1) * 0x9e3779b97f4a7c15ULL;
  number = (number ^ (number >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  number = (number ^ (number >> 27U)) * 0x94d049bb133111ebULL;
  return static_cast<std::uint32_t>(number >> 32U);
}

__global__ void nothing() {}

}  // namespace

void enqueue_random_fill(cudaStream_t stream, void* memory, std::int64_t bytes) {
  auto* words = static_cast<std::uint32_t*>(memory);
  const std::int64_t count = bytes / 4;
  if (count > 0) {
    CudaLauncher(stream).map(count, [=] __device__(std::int64_t i) {
      const std::uint32_t random = mixed(static_cast<std::uint64_t>(i));
      words[i] = (bfloat16_bits(random) << 16U) | bfloat16_bits(random >> 8U);
    });
  }
  if (const std::int64_t rest = bytes % 4; rest > 0) {
    cudaMemsetAsync(words + count, 0, static_cast<std::size_t>(rest), stream);
    check_launch();
  }
}

void enqueue_flush(cudaStream_t stream, void* memory, std::int64_t bytes) {
  auto* words = static_cast<std::uint32_t*>(memory);
  CudaLauncher(stream).map(
      bytes / 4, [=] __device__(std::int64_t i) { words[i] = static_cast<std::uint32_t>(i); });
}

void enqueue_nothing(cudaStream_t stream) {
  nothing<<<1, 1, 0, stream>>>();
  check_launch();
}

}  // namespace emplace::calibrate
