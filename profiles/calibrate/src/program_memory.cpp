#include "program_memory.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace emplace::calibrate {

std::string describe(const OpSite& site) {
  return fmt::format("{} [{}]", site.op.kind, fmt::join(site.op.shape, ", "));
}

ProgramMemory::ProgramMemory(ComputeDevice& device, const OpSite& site,
                             std::int64_t workspace_bytes) {
  for (const Output& input : site.inputs) {
    buffers_.inputs.push_back(add(device, input.bytes, true));
  }
  for (const Output& output : site.op.outputs) {
    buffers_.outputs.push_back(add(device, output.bytes, false));
  }
  buffers_.state = add(device, site.op.persistent_bytes, true);
  buffers_.workspace = add(device, workspace_bytes, false);
}

void* ProgramMemory::add(ComputeDevice& device, std::int64_t bytes, bool random) {
  if (bytes == 0) {
    return nullptr;
  }
  return memory_.emplace_back(device.allocate(bytes, random))->data();
}

}  // namespace emplace::calibrate
