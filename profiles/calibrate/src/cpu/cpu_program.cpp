#include "cpu_program.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#else
#include "host_facts.hpp"

#include <vector>
#endif

#include <algorithm>
#include <cstddef>
#include <utility>

namespace emplace::calibrate {
namespace {

constexpr std::int64_t kEvictedPart = 1 << 20;

}  // namespace

#if defined(__x86_64__)

void evict(const CoreTeam& team, const void* data, std::int64_t bytes) {
  constexpr std::int64_t kLine = 64;
  const char* const begin = static_cast<const char*>(data);
  team.share((bytes + kEvictedPart - 1) / kEvictedPart, [=](std::int64_t part) {
    const std::int64_t end = std::min(bytes, (part + 1) * kEvictedPart);
    for (std::int64_t i = part * kEvictedPart; i < end; i += kLine) {
      _mm_clflush(begin + i);
    }
    _mm_mfence();
  });
}

#else

// Without an instruction for it: reads and writes more than the caches hold.
void evict(const CoreTeam& team, const void*, std::int64_t) {
  const std::int64_t bytes = 2 * last_cache_bytes();
  static std::vector<char> other(static_cast<std::size_t>(bytes));
  char* const begin = other.data();
  team.share((bytes + kEvictedPart - 1) / kEvictedPart, [=](std::int64_t part) {
    const std::int64_t end = std::min(bytes, (part + 1) * kEvictedPart);
    for (std::int64_t i = part * kEvictedPart; i < end; ++i) {
      ++begin[i];
    }
  });
}

#endif

void CpuProgram::evict(const CoreTeam& team, const OpBuffers& buffers) const {
  for (std::size_t i = 0; i < site_.inputs.size(); ++i) {
    calibrate::evict(team, buffers.inputs[i], site_.inputs[i].bytes);
  }
  for (std::size_t i = 0; i < site_.op.outputs.size(); ++i) {
    calibrate::evict(team, buffers.outputs[i], site_.op.outputs[i].bytes);
  }
  calibrate::evict(team, buffers.state, site_.op.persistent_bytes);
}

std::unique_ptr<CpuProgram> compile_for_cpu(const OpSite& site, const CoreTeam& team) {
  std::unique_ptr<CpuProgram> program;
  if (const auto convolution = convolution_site(site)) {
    program = make_onednn_convolution(*convolution, team);
    program = program != nullptr ? std::move(program) : make_reference_convolution(*convolution);
  } else if (const auto product = gemm_site(site)) {
    program = make_onednn_gemm(*product, team);
    program = program != nullptr ? std::move(program) : make_reference_gemm(*product);
  } else {
    program = compile_memory_for_cpu(site);
  }
  if (program != nullptr) {
    program->set_site(site);
  }
  return program;
}

#ifndef EMPLACE_WITH_ONEDNN
std::unique_ptr<CpuProgram> make_onednn_convolution(const ConvolutionSite&, const CoreTeam&) {
  return nullptr;
}

std::unique_ptr<CpuProgram> make_onednn_gemm(const GemmSite&, const CoreTeam&) { return nullptr; }

std::string onednn_version() { return ""; }
#endif

}  // namespace emplace::calibrate
