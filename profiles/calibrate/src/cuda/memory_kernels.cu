#include "memory_kernels.hpp"

#include <algorithm>

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

__global__ void read_all(const uint4* words, std::int64_t count, uint4* never) {
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  unsigned all = 0;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    const uint4 word = words[i];
    all |= word.x | word.y | word.z | word.w;
  }
  if (all == 0 && never != nullptr) {  // so that the compiler keeps the reads
    *never = {};
  }
}

__global__ void spin(std::int64_t cycles) {
  const auto begin = clock64();
  while (clock64() - begin < cycles) {
  }
}

__device__ unsigned multiprocessor() {
  unsigned id = 0;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
  return id;
}

__device__ std::uint64_t timer_ns() {
  std::uint64_t ns = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}

// Clocks of multiprocessors differ, so it is always the first that writes: some block runs there.
__global__ void stamp_clocks(ClockStamp* stamp) {
  if (multiprocessor() == 0) {
    *stamp = {static_cast<std::uint64_t>(clock64()), timer_ns()};
  }
}

constexpr int kStampBlocks = 512;                   // twice the multiprocessors of any GPU
constexpr int kBlocks = 2048;                       // that fill any GPU some times over
constexpr int kThreads = 256;                       // of a block, at most
constexpr int kWords = kPartBytes / 16 / kThreads;  // of a thread, at most
constexpr int kWarp = 32;

__global__ void fill_randomly(std::uint32_t* words, std::int64_t count) {
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    const std::uint32_t random = mixed(static_cast<std::uint64_t>(i));
    words[i] = (bfloat16_bits(random) << 16U) | bfloat16_bits(random >> 8U);
  }
}

__device__ void combine(uint4& word, const uint4& other) {
  word.x ^= other.x;
  word.y ^= other.y;
  word.z ^= other.z;
  word.w ^= other.w;
}

// Reads and writes words, of which there may be fewer bytes than a whole one has.
template <class Word>
__device__ Word read(const char* from, std::int64_t bytes) {
  if (bytes >= std::int64_t{sizeof(Word)}) {
    return *reinterpret_cast<const Word*>(from);
  }
  Word word{};
  for (int i = 0; i < bytes; ++i) {
    reinterpret_cast<char*>(&word)[i] = from[i];
  }
  return word;
}

template <class Word>
__device__ void write(char* to, std::int64_t bytes, Word word) {
  if (bytes >= std::int64_t{sizeof(Word)}) {
    *reinterpret_cast<Word*>(to) = word;
    return;
  }
  for (int i = 0; i < bytes; ++i) {
    to[i] = reinterpret_cast<const char*>(&word)[i];
  }
}

// The XOR of a word of each thread of a block of whole warps, for all of them.
__device__ uint4 folded(uint4 word) {
  __shared__ uint4 of_warps[kThreads / kWarp];
  for (int step = kWarp / 2; step > 0; step /= 2) {
    combine(word, {__shfl_xor_sync(~0U, word.x, step), __shfl_xor_sync(~0U, word.y, step),
                   __shfl_xor_sync(~0U, word.z, step), __shfl_xor_sync(~0U, word.w, step)});
  }
  if (threadIdx.x % kWarp == 0) {
    of_warps[threadIdx.x / kWarp] = word;
  }
  __syncthreads();
  word = {};
  for (unsigned warp = 0; warp < blockDim.x / kWarp; ++warp) {
    combine(word, of_warps[warp]);
  }
  return word;
}

// Calls body(k, place, bytes) for the words of this thread in the part of its block.
template <class Body>
__device__ void for_words(const Stream& stream, const Body& body) {
  char* const begin = stream.begin_of(blockIdx.x);
  const std::int64_t bytes = stream.bytes_of(blockIdx.x);
#pragma unroll
  for (unsigned k = 0; k < kWords; ++k) {
    const std::int64_t at = 16 * std::int64_t{threadIdx.x + k * blockDim.x};
    if (at < bytes) {
      body(k, begin + at, bytes - at);
    }
  }
}

// A block takes a part. Its threads keep what they read in registers.
template <bool kFolds>
__global__ void __launch_bounds__(kThreads) walk(const Streams streams) {
  uint4 words[kWords] = {};
  for (std::size_t i = 0; i < streams.num_read; ++i) {
    for_words(streams.all[i], [&](unsigned k, const char* from, std::int64_t bytes) {
      combine(words[k], read<uint4>(from, bytes));
    });
  }
  if (kFolds) {
    uint4 all = words[0];
#pragma unroll
    for (int k = 1; k < kWords; ++k) {
      combine(all, words[k]);
    }
    all = folded(all);
#pragma unroll
    for (int k = 0; k < kWords; ++k) {
      combine(words[k], all);
    }
  }
  for (std::size_t i = streams.num_read; i < streams.count; ++i) {
    for_words(streams.all[i],
              [&](unsigned k, char* to, std::int64_t bytes) { write(to, bytes, words[k]); });
  }
}

// Rows of the part of a block between a table and the other streams, which are added to it or made
// of it. As many threads of a warp take a row as have a word of it.
template <bool kAdds>
__global__ void __launch_bounds__(kThreads)
    move_rows(const Streams streams, std::int64_t row_bytes, std::int64_t lookups) {
  const Stream& table = streams.all[kAdds ? streams.num_read : 0];
  const std::int64_t table_rows = table.bytes / row_bytes;
  unsigned lanes = 1;
  while (lanes < kWarp && 4 * lanes < row_bytes) {
    lanes *= 2;
  }
  const std::size_t end = kAdds ? streams.num_read : streams.count;
  for (std::size_t i = kAdds ? 0 : streams.num_read; i < end; ++i) {
    const Stream& stream = streams.all[i];
    const std::int64_t bytes = stream.bytes_of(blockIdx.x);
    for (unsigned r = threadIdx.x / lanes; r * row_bytes < bytes; r += kThreads / lanes) {
      const std::int64_t row = blockIdx.x * (stream.part_bytes / row_bytes) + r;
      for (unsigned at = threadIdx.x % lanes * 4; at < row_bytes; at += lanes * 4) {
        char* const place = stream.begin_of(blockIdx.x) + r * row_bytes + at;
        const std::int64_t rest = bytes - r * row_bytes - at;
        const auto word_of = [&](std::int64_t lookup) {
          return reinterpret_cast<unsigned*>(table.data + row_at(lookup, table_rows) * row_bytes +
                                             at);
        };
        if (kAdds && rest > 0 && table_rows > 0) {
          atomicAdd(word_of(row), read<unsigned>(place, rest));
        }
        if (!kAdds && rest > 0) {
          unsigned word = 0;
          for (std::int64_t k = 0; k < lookups && table_rows > 0; ++k) {
            word ^= *word_of(row * lookups + k);
          }
          write(place, rest, word);
        }
      }
    }
  }
}

void enqueue_walk(cudaStream_t stream, const MemorySite& site, const Streams& streams) {
  const auto by_part = [](const Stream& a, const Stream& b) { return a.part_bytes < b.part_bytes; };
  const std::int64_t bytes =
      std::max_element(streams.all.begin(), streams.all.end(), by_part)->part_bytes;
  const auto warps = std::max((bytes - 1) / (16 * kWords * kWarp) + 1, std::int64_t{1});
  const auto kernel = site.pattern == AccessPattern::kRows ? walk<true> : walk<false>;
  kernel<<<static_cast<unsigned>(site.parts), static_cast<unsigned>(warps * kWarp), 0, stream>>>(
      streams);
  check_launch();
}

}  // namespace

void enqueue_random_fill(cudaStream_t stream, void* memory, std::int64_t bytes) {
  auto* words = static_cast<std::uint32_t*>(memory);
  const std::int64_t count = bytes / 4;
  fill_randomly<<<kBlocks, kThreads, 0, stream>>>(words, count);
  check_launch();
  if (const std::int64_t rest = bytes % 4; rest > 0) {
    cudaMemsetAsync(words + count, 0, static_cast<std::size_t>(rest), stream);
    check_launch();
  }
}

void enqueue_read(cudaStream_t stream, const void* memory, std::int64_t bytes) {
  read_all<<<kBlocks, kThreads, 0, stream>>>(static_cast<const uint4*>(memory), bytes / 16,
                                             nullptr);
  check_launch();
}

void enqueue_spin(cudaStream_t stream, std::int64_t cycles) {
  spin<<<1, 1, 0, stream>>>(cycles);
  check_launch();
}

void enqueue_stamp(cudaStream_t stream, ClockStamp* stamp) {
  stamp_clocks<<<kStampBlocks, 1, 0, stream>>>(stamp);
  check_launch();
}

void enqueue_memory_op(cudaStream_t stream, const MemorySite& site, const Streams& streams) {
  const auto blocks = static_cast<unsigned>(site.parts);
  Streams reads = streams;
  reads.count = reads.num_read;
  switch (site.pattern) {
    case AccessPattern::kMap:
    case AccessPattern::kRows:
      for (std::int64_t pass = 1; pass < site.passes; ++pass) {
        enqueue_walk(stream, site, reads);
      }
      return enqueue_walk(stream, site, streams);
    case AccessPattern::kGather:
      move_rows<false><<<blocks, kThreads, 0, stream>>>(streams, site.row_bytes, site.lookups);
      return check_launch();
    case AccessPattern::kScatter:
      for (std::size_t i = streams.num_read; i < streams.count; ++i) {
        const Stream& written = streams.all[i];
        cudaMemsetAsync(written.data, 0, static_cast<std::size_t>(written.bytes), stream);
        check_launch();
      }
      move_rows<true><<<blocks, kThreads, 0, stream>>>(streams, site.row_bytes, 1);
      return check_launch();
  }
}

}  // namespace emplace::calibrate
