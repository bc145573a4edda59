#include "profiles/calibrate/src/cuda/gpu_monitor.hpp"

#include "fake_device.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

namespace emplace::calibrate::gpu_monitor_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class FakeMonitor : public GpuMonitor {
 public:
  std::optional<unsigned> utilization(const std::string& bus_id) override {
    const auto found = busy.find(bus_id);
    return found == busy.end() ? std::nullopt : std::optional(found->second);
  }
  std::vector<std::string> other_processes(const std::string& bus_id) override {
    return processes[bus_id];
  }
  std::uint64_t clock_reasons(const std::string&) override { return 0; }

  std::map<std::string, unsigned> busy{};
  std::map<std::string, std::vector<std::string>> processes{};
};

std::vector<std::string> warnings_of(GpuMonitor& monitor, std::vector<FakeDevice>& devices) {
  std::vector<ComputeDevice*> all;
  all.reserve(devices.size());
  for (FakeDevice& device : devices) {
    all.push_back(&device);
  }
  std::vector<std::string> warnings;
  warn_of_other_work(monitor, all, [&](const std::string& text) { warnings.push_back(text); });
  return warnings;
}

std::vector<FakeDevice> gpus(const std::vector<std::string>& bus_ids) {
  std::vector<FakeDevice> devices;
  devices.reserve(bus_ids.size());
  for (const std::string& id : bus_ids) {
    devices.emplace_back("gpu:" + std::to_string(devices.size()), DeviceKind::kGpu);
    devices.back().set_pci_bus_id(id);
  }
  return devices;
}

TEST(GpuMonitor, WarnsOfWhatElseAGpuDoes) {
  auto devices = gpus({"a", "b", "c", "d"});
  FakeMonitor monitor;
  monitor.busy = {{"a", 5}, {"b", 6}, {"c", 0}};
  monitor.processes["c"] = {"python3 (11)", "a process (12)"};
  EXPECT_THAT(
      warnings_of(monitor, devices),
      ElementsAre("gpu:1 does other work, so what is measured may be too slow: it is busy 6 % of "
                  "the time",
                  "gpu:2 does other work, so what is measured may be too slow: it is busy 0 % of "
                  "the time, with python3 (11), a process (12)"));
}

TEST(GpuMonitor, WarnsOnceOfPartsOfAGpuAndNeverOfACpu) {
  auto devices = gpus({"a", "a"});
  devices.emplace_back("cpu:0");
  FakeMonitor monitor;
  monitor.busy = {{"a", 90}, {"", 90}};
  EXPECT_EQ(warnings_of(monitor, devices).size(), 1);
}

// Being idle, and clocks that somebody set, are not throttling.
TEST(GpuMonitor, NamesTheReasonsOfThrottling) {
  EXPECT_EQ(describe_clock_reasons(0x1 | 0x2 | 0x10 | 0x100), "");
  EXPECT_EQ(describe_clock_reasons(0x4), "power cap");
  EXPECT_EQ(describe_clock_reasons(0x1 | 0x4 | 0x40),
            "power cap, thermal slowdown by the hardware");
}

// A library that pretends to be NVML is opened as the real one is.
TEST(GpuMonitor, AsksNvml) {
  ::setenv("EMPLACE_CUDA_LIBRARIES", EMPLACE_FAKE_NVML, 1);
  GpuMonitor* const nvml = nvml_monitor();
  ::unsetenv("EMPLACE_CUDA_LIBRARIES");
  ASSERT_NE(nvml, nullptr);
  const std::string gpu = "0000:3b:00.0";
  EXPECT_EQ(nvml->utilization(gpu), 42);
  EXPECT_THAT(nvml->other_processes(gpu), ElementsAre("python3 (11)", "a process (12)"));
  EXPECT_EQ(describe_clock_reasons(nvml->clock_reasons(gpu)),
            "power cap, thermal slowdown by the driver");
  EXPECT_EQ(nvml->utilization("0000:00:00.0"), std::nullopt);
  EXPECT_THAT(nvml->other_processes("0000:00:00.0"), IsEmpty());
  EXPECT_EQ(nvml->clock_reasons("0000:00:00.0"), 0);
}

}  // namespace
}  // namespace emplace::calibrate::gpu_monitor_test
