#include <emplace/calibrate/machine_facts.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace emplace::calibrate {
namespace {

// GPUs by the number that they have in CUDA; records of links know them by UUID only.
std::string name_of(const NvlinkActivity::End& end,
                    const std::map<DeviceUuid, std::uint32_t>& gpus) {
  if (!end.gpu) {
    return fmt::format("NVLink unit {} of a CPU", end.index);
  }
  const auto found = gpus.find(end.uuid);
  return found == gpus.end() ? "a GPU that is not used" : fmt::format("GPU {}", found->second);
}

}  // namespace

std::string describe_machine(const ActivityLog& log) {
  std::string text;
  std::set<std::string> told;
  const auto tell = [&](std::string sentence) {
    if (told.insert(sentence).second) {
      text += (text.empty() ? "" : " ") + sentence;
    }
  };
  std::map<DeviceUuid, std::uint32_t> gpus;
  for (const DeviceActivity& gpu : log.devices) {
    gpus.emplace(gpu.uuid, gpu.device);
    tell(fmt::format(
        "GPU {}: {} multiprocessors at up to {} MHz, {:.1f} GB at {:.0f} GB/s, {} MB of "
        "L2, {} copy engines.",
        gpu.device, gpu.multiprocessors, gpu.core_khz / 1000,
        static_cast<double>(gpu.memory_bytes) / 1e9,
        static_cast<double>(gpu.memory_kbytes_per_second) / 1e6, gpu.l2_bytes >> 20U,
        gpu.copy_engines));
  }
  for (const PcieActivity& pcie : log.pcie) {
    tell(fmt::format("GPU {}: PCIe generation {} with {} lanes.", pcie.device, pcie.generation,
                     pcie.lanes));
  }
  for (const NvlinkActivity& nvlink : log.nvlinks) {
    tell(fmt::format("{} and {}: {} NVLinks with {:.0f} GB/s{}.", name_of(nvlink.first, gpus),
                     name_of(nvlink.second, gpus), nvlink.links,
                     static_cast<double>(nvlink.kbytes_per_second) / 1e6,
                     nvlink.through_switch ? " through a switch" : ""));
  }
  return text;
}

}  // namespace emplace::calibrate
