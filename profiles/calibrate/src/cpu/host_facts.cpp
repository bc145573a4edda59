#include "host_facts.hpp"

#include <emplace/calibrate/cpu_device.hpp>

#include <boost/algorithm/string/trim.hpp>
#include <fmt/format.h>
#include <unistd.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

#include <algorithm>
#include <chrono>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace emplace::calibrate {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Returns the number at the start of a file; `otherwise` if there is none.
std::int64_t number_in(const std::string& path, std::int64_t otherwise) {
  std::ifstream file(path);
  std::int64_t number = 0;
  return file >> number ? number : otherwise;
}

// Returns the cores that share the last-level cache of a core, and its bytes; 0 if Linux does not
// tell.
std::pair<std::string, std::int64_t> last_cache(int core) {
  std::pair<std::string, std::int64_t> last;
  for (int i = 0;; ++i) {  // from the first level to the last
    const std::string cache = fmt::format("/sys/devices/system/cpu/cpu{}/cache/index{}/", core, i);
    const std::int64_t kib = number_in(cache + "size", 0);  // of a text such as "32768K"
    if (kib == 0) {
      return last;
    }
    last = {text_of(cache + "shared_cpu_list"), kib << 10};
  }
}

constexpr int kAccumulators = 12;  // enough to hide the latency of two units
constexpr std::int64_t kRounds = 200'000;

#ifdef __x86_64__
__attribute__((target("avx512f"))) float multiply_add_512() {
  __m512 sums[kAccumulators];
  for (int i = 0; i < kAccumulators; ++i) {
    sums[i] = _mm512_set1_ps(static_cast<float>(i));
  }
  const __m512 factor = _mm512_set1_ps(0.999F);
  for (std::int64_t round = 0; round < kRounds; ++round) {
#pragma GCC unroll 12  // lest the sums go through memory
    for (auto& sum : sums) {
      sum = _mm512_fmadd_ps(sum, factor, factor);
    }
  }
  __m512 total = sums[0];
  for (const auto& sum : sums) {
    total = _mm512_add_ps(total, sum);
  }
  return _mm512_cvtss_f32(total);
}

__attribute__((target("avx2,fma"))) float multiply_add_256() {
  __m256 sums[kAccumulators];
  for (int i = 0; i < kAccumulators; ++i) {
    sums[i] = _mm256_set1_ps(static_cast<float>(i));
  }
  const __m256 factor = _mm256_set1_ps(0.999F);
  for (std::int64_t round = 0; round < kRounds; ++round) {
#pragma GCC unroll 12  // lest the sums go through memory
    for (auto& sum : sums) {
      sum = _mm256_fmadd_ps(sum, factor, factor);
    }
  }
  __m256 total = sums[0];
  for (const auto& sum : sums) {
    total = _mm256_add_ps(total, sum);
  }
  return _mm256_cvtss_f32(total);
}
#endif

// Vectors of 16 bytes, which every processor of ours has, without fused operations.
float multiply_add_128() {
  using Four = float __attribute__((vector_size(16)));
  Four sums[kAccumulators];
  for (int i = 0; i < kAccumulators; ++i) {
    sums[i] = Four{} + static_cast<float>(i);
  }
  const Four factor = Four{} + 0.999F;
  for (std::int64_t round = 0; round < kRounds; ++round) {
#pragma GCC unroll 12  // lest the sums go through memory
    for (auto& sum : sums) {
      sum = sum * factor + factor;
    }
  }
  Four total = sums[0];
  for (const auto& sum : sums) {
    total += sum;
  }
  return total[0];
}

struct MultiplyAdd {
  float (*run)();
  std::int64_t width;  // numbers in a vector
};

MultiplyAdd widest() {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512f")) {
    return {multiply_add_512, 16};
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return {multiply_add_256, 8};
  }
#endif
  return {multiply_add_128, 4};
}

// The least of some runs: what disturbs a run makes it longer.
template <class Run>
double least_us(int runs, const Run& run) {
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < runs; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    run();
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
    least = std::min(least, took.count());
  }
  return least;
}

}  // namespace

std::string processor_name(const std::string& cpuinfo) {
  std::istringstream lines(cpuinfo);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(':');
    if (line.starts_with("model name") && colon != std::string::npos) {
      const std::string name = boost::trim_copy(line.substr(colon + 1));
      return name.empty() ? "CPU" : name;
    }
  }
  return "CPU";
}

std::string processor_name() { return processor_name(text_of("/proc/cpuinfo")); }

std::int64_t host_memory_bytes() {
  const std::int64_t all = sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGE_SIZE);
  // A limit of a container, in the two ways in which Linux tells it; "max" is no number.
  const std::int64_t version_2 = number_in("/sys/fs/cgroup/memory.max", all);
  const std::int64_t version_1 = number_in("/sys/fs/cgroup/memory/memory.limit_in_bytes", all);
  return std::min({all, version_2, version_1});
}

std::int64_t last_cache_bytes() {
  constexpr std::int64_t kOtherwise = 32 << 20;
  std::map<std::string, std::int64_t> caches;  // by the cores that share one
  for (const int core : usable_cores()) {
    caches.insert(last_cache(core));
  }
  std::int64_t bytes = 0;
  for (const auto& [cores, size] : caches) {
    bytes += size;
  }
  return bytes > 0 ? bytes : kOtherwise;
}

double measure_flops_per_us(const CoreTeam& team) {
  const MultiplyAdd multiply_add = widest();
  std::vector<float> results(static_cast<std::size_t>(team.cores()));
  const double us = least_us(5, [&] {
    team.share(team.cores(), [&](std::int64_t core) {
      results[static_cast<std::size_t>(core)] = multiply_add.run();
    });
  });
  // The sums are used, lest the work be left out.
  const volatile float used = *std::max_element(results.begin(), results.end());
  static_cast<void>(used);
  return static_cast<double>(2 * kRounds * kAccumulators * multiply_add.width * team.cores()) / us;
}

double measure_memory_bytes_per_us(const CoreTeam& team) {
  const std::int64_t elements =
      std::max(2 * last_cache_bytes(), std::int64_t{64} << 20) / std::int64_t{sizeof(float)};
  const auto size = static_cast<std::size_t>(elements);
  const auto memory = std::make_unique_for_overwrite<float[]>(3 * size);
  float* a = memory.get();
  float* b = a + size;
  float* c = b + size;
  constexpr std::int64_t kPart = 16384;
  const auto for_all = [&](auto body) {
    team.share((elements + kPart - 1) / kPart, [=](std::int64_t part) {
      const std::int64_t end = std::min(elements, (part + 1) * kPart);
#pragma GCC ivdep
      for (std::int64_t i = part * kPart; i < end; ++i) {
        body(i);
      }
    });
  };
  for_all([=](std::int64_t i) {
    a[i] = 0;
    b[i] = 1;
    c[i] = 2;
  });
  const double us = least_us(3, [&] { for_all([=](std::int64_t i) { a[i] = b[i] + 3 * c[i]; }); });
  return static_cast<double>(3 * elements * std::int64_t{sizeof(float)}) / us;
}

}  // namespace emplace::calibrate
