#include <emplace/calibrate/activity.hpp>

#include <gtest/gtest.h>

namespace emplace::calibrate::machine_log_test {
namespace {

TEST(MachineLog, TellEachGpuAndLinkOnce) {
  const DeviceUuid first{1};
  const DeviceUuid second{2};
  MachineLog log;
  const DeviceActivity gpu{.device = 0,
                           .uuid = first,
                           .memory_kbytes_per_second = 4'800'000'000,
                           .memory_bytes = 141'000'000'000,
                           .l2_bytes = 60 << 20,
                           .core_khz = 1'980'000,
                           .copy_engines = 3,
                           .multiprocessors = 132};
  log.devices = {gpu, gpu};
  log.pcie = {{.device = 0, .generation = 5, .lanes = 16}};
  log.nvlinks = {{.first = {.gpu = true, .uuid = first},
                  .second = {.gpu = true, .uuid = second},
                  .links = 18,
                  .kbytes_per_second = 450'000'000,
                  .through_switch = true}};
  EXPECT_EQ(describe_machine(log),
            "GPU 0: 132 multiprocessors at up to 1980 MHz, 141.0 GB at 4800 GB/s, 60 MB of L2, "
            "3 copy engines. GPU 0: PCIe generation 5 with 16 lanes. GPU 0 and a GPU that is not "
            "used: 18 NVLinks with 450 GB/s through a switch.");
}

TEST(MachineLog, AreEmptyWithoutRecords) { EXPECT_EQ(describe_machine({}), ""); }

}  // namespace
}  // namespace emplace::calibrate::machine_log_test
