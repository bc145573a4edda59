#pragma once

// Ops made ready for the cores of a CPU, whoever computes them.

#include "core_team.hpp"

#include <emplace/calibrate/compute_device.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace emplace::calibrate {

/// A program of a CPU device.
class CpuProgram : public OpProgram {
 public:
  /// Runs it at once.
  virtual void run(const CoreTeam& team, const OpBuffers& buffers) = 0;

  /// Notes how many bytes the tensors of `site`, of which it was made, have.
  void remember_sizes(const OpSite& site);

  /// Drives all that a run reads and writes out of the caches.
  void evict(const CoreTeam& team, const OpBuffers& buffers) const;

 private:
  std::vector<std::int64_t> input_bytes_{};
  std::vector<std::int64_t> output_bytes_{};
  std::int64_t state_bytes_ = 0;
};

/// Makes a program for a site; null if nothing runs it.
std::unique_ptr<CpuProgram> compile_for_cpu(const OpSite& site, const CoreTeam& team);

/// Makes a program for a site that memory bounds (memory_site.hpp); null if it is none.
std::unique_ptr<CpuProgram> compile_memory_for_cpu(const OpSite& site);

}  // namespace emplace::calibrate
