#pragma once

// What a single op needs to run outside of a graph: its name in messages, and memory.

#include <emplace/calibrate/compute_device.hpp>
#include <emplace/calibrate/op_site.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace emplace::calibrate {

/// Returns "conv2d [64, 3, 299, 299]".
std::string describe(const OpSite& site);

/// Owns memory for everything that one program reads and writes; inputs are random.
class ProgramMemory {
 public:
  ProgramMemory(ComputeDevice& device, const OpSite& site, std::int64_t workspace_bytes);

  const OpBuffers& buffers() const { return buffers_; }

 private:
  void* add(ComputeDevice& device, std::int64_t bytes, bool random);

  std::vector<std::unique_ptr<Memory>> memory_;
  OpBuffers buffers_;
};

}  // namespace emplace::calibrate
