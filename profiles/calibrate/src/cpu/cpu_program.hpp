#pragma once

// Ops made ready for the cores of a CPU, whoever computes them: convolutions and matrix products by
// oneDNN where emplace was built with it and it knows the type and shape, else by plain loops.

#include "../library_site.hpp"
#include "worker.hpp"

#include <emplace/calibrate/compute_device.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace emplace::calibrate {

/// Drives a range of memory out of all caches of the machine, sharing the work among a team: a step
/// that has run thousands of other ops finds them cold. Driving out just the lines that an op
/// touches takes as long as the op is large; sweeping all caches of a server takes a tenth of a
/// second each time.
void evict(const CoreTeam& team, const void* data, std::int64_t bytes);

/// A program of a CPU device.
class CpuProgram : public OpProgram {
 public:
  std::int64_t workspace_bytes() const override { return 0; }
  /// Runs it at once.
  virtual void run(const CoreTeam& team, const OpBuffers& buffers) = 0;

  /// Drives all that a run reads and writes out of the caches.
  void evict(const CoreTeam& team, const OpBuffers& buffers) const;
  /// Keeps the site that it was made for.
  void set_site(const OpSite& site) { site_ = site; }

 private:
  OpSite site_{};
};

/// Makes a program for a site; null if nothing runs it.
std::unique_ptr<CpuProgram> compile_for_cpu(const OpSite& site, const CoreTeam& team);

/// Makes a program for a site that memory bounds (memory_site.hpp); null if it is none.
std::unique_ptr<CpuProgram> compile_memory_for_cpu(const OpSite& site);

/// Makes a convolution or product by plain loops, for float32 and bfloat16; else null.
std::unique_ptr<CpuProgram> make_reference_convolution(const ConvolutionSite& site);
std::unique_ptr<CpuProgram> make_reference_gemm(const GemmSite& site);

/// Makes a convolution or product by oneDNN; null if it can't, or emplace was built without it.
/// Throws DeviceFailure if it fails.
std::unique_ptr<CpuProgram> make_onednn_convolution(const ConvolutionSite& site,
                                                    const CoreTeam& team);
std::unique_ptr<CpuProgram> make_onednn_gemm(const GemmSite& site, const CoreTeam& team);

/// Returns oneDNN's name and version; empty if emplace was built without it.
std::string onednn_version();

}  // namespace emplace::calibrate
