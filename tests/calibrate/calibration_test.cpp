#include "support/errors.hpp"

#include <emplace/calibrate/calibration.hpp>

#include <calibrate/fake_device.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

namespace emplace::calibrate::calibration_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<OpSite> four_sites() {
  std::vector<OpSite> sites;
  for (const char* kind : {"relu", "add", "mul", "tanh"}) {
    sites.push_back({.op = {.name = "op", .kind = kind, .shape = {100}}});
  }
  return sites;
}

// A GPU and a CPU, of which the GPU is measured first.
struct GpuAndCpu {
  FakeDevice gpu{"gpu:0", DeviceKind::kGpu};
  FakeDevice cpu{"cpu:0"};
  std::vector<ComputeDevice*> devices = {&gpu, &cpu};
  std::atomic<bool> stop{false};
  CalibrationOptions options = {
      .name = "lab",
      .date = "2026-11-20",
      .launches = {{.gap_us = 1, .host_us = 2}, {.gap_us = 1}},
      .sampling = {.warm_up_runs = 1, .runs = 2, .max_copy_bytes = 256, .stop = &stop}};

  CalibratedMachine calibrate_until(const std::string& note) {
    return calibrate(devices, four_sites(), options, [&](const ProgressNote& told) {
      stop = stop || told.what.find(note) != std::string::npos;
    });
  }
};

TEST(Calibration, KeepsTheOpsOfOneDeviceWhenItIsStoppedBeforeTheNext) {
  GpuAndCpu machine;
  const CalibratedMachine result = machine.calibrate_until("gpu:0: op 3 of 4");
  EXPECT_FALSE(result.is_complete);
  ASSERT_THAT(result.devices, SizeIs(2));
  EXPECT_THAT(result.devices[0].ops.samples, SizeIs(2));
  EXPECT_THAT(result.devices[1].ops.samples, IsEmpty());
  EXPECT_THAT(result.left_out, ElementsAre("gpu:0: 2 ops: measuring ended before them",
                                           "cpu:0: 4 ops: measuring ended before them"));
  ASSERT_THAT(result.cluster.profiles, SizeIs(2));
  EXPECT_THAT(result.cluster.profiles[0].measured.all(), SizeIs(2));
  EXPECT_EQ(result.cluster.profiles[1].peak_flops_per_us, 1e6);
  EXPECT_THAT(result.cluster.profiles[1].provenance.notes, HasSubstr("the fallback is a guess"));
  EXPECT_EQ(read_cluster(write_cluster_json(result.cluster), "lab"), result.cluster);
}

TEST(Calibration, KeepsNothingWithoutAnOp) {
  GpuAndCpu machine;
  EXPECT_THAT(
      test::error_of(ErrorCode::kUnsupported, [&] { machine.calibrate_until("gpu:0: op 1 of 4"); }),
      HasSubstr("before any op was measured: there is nothing to keep"));
}

// The copies behind ops are of 64 MiB, far more than there is.
TEST(Calibration, GoesOnWhereCopiesBehindOpsCannotBeMeasured) {
  GpuAndCpu machine;
  machine.gpu.max_bytes = 10'000;
  const CalibratedMachine result =
      calibrate(machine.devices, four_sites(), machine.options, kSilent);
  EXPECT_TRUE(result.is_complete);
  EXPECT_FALSE(result.devices.at(0).overlap.has_value());
  EXPECT_THAT(result.devices[0].ops.samples, SizeIs(4));
  EXPECT_THAT(result.devices.at(1).ops.samples, SizeIs(4));
  EXPECT_THAT(result.left_out, ElementsAre("gpu:0: copies behind ops: gpu:0: out of memory"));
}

TEST(Calibration, TakesWhatAFrameworkMeasuredAndMeasuresTheRest) {
  GpuAndCpu machine;
  machine.options.samples = {.sources = {{.name = "torch"}}};
  for (const std::string device : {"cpu:0", "gpu:1"}) {
    machine.options.samples.samples.push_back({.device = device,
                                               .key = {.kind = "relu", .shape = {100}},
                                               .us = 12.5,
                                               .relative_deviation = 0.25,
                                               .runs = 7});
  }
  const CalibratedMachine result =
      calibrate(machine.devices, four_sites(), machine.options, kSilent);
  const DeviceProfile& cpu = result.cluster.profiles.at(1);
  ASSERT_THAT(cpu.measured.all(), SizeIs(4));
  const OpMeasurement* const relu = cpu.measured.find(four_sites()[0].op);
  ASSERT_NE(relu, nullptr);
  EXPECT_EQ(relu->us, 12.5);
  EXPECT_EQ(relu->relative_deviation, 0.25);
  EXPECT_EQ(relu->runs, 7);
  EXPECT_EQ(relu->library, "torch");
  EXPECT_EQ(cpu.launch_us, 0);  // it is part of the time
  // Of the GPU, the table has nothing.
  for (const OpMeasurement& measured : result.cluster.profiles[0].measured.all()) {
    EXPECT_NE(measured.library, "torch");
  }
  EXPECT_EQ(result.cluster.profiles[0].launch_us, 1);
  EXPECT_EQ(result.cluster.host.launch_us, 2);
}

TEST(Calibration, TellsHowLongAFrameworkTakesToLaunchAKernel) {
  GpuAndCpu machine;
  machine.options.samples = {.sources = {{.name = "torch"}}};
  for (const auto& [kind, kernels] : {std::pair("relu", 1), std::pair("add", 3)}) {
    machine.options.samples.samples.push_back({.device = "gpu:0",
                                               .key = {.kind = kind, .shape = {100}},
                                               .us = 5,
                                               .kernels = kernels,
                                               .host_us = 10});
  }
  const CalibratedMachine result =
      calibrate(machine.devices, four_sites(), machine.options, kSilent);
  EXPECT_EQ(result.cluster.host.launch_us, 5);  // 20 us for 4 kernels
}

TEST(Calibration, TakesTheLatencyOfALinkFromMessagesThatAreWaitedFor) {
  FakeDevice one("gpu:0", DeviceKind::kGpu);
  FakeDevice other("gpu:1", DeviceKind::kGpu);
  one.message = 7.5;
  ComputeDevice* const devices[] = {&one, &other};
  const CalibratedMachine result =
      calibrate(devices, four_sites(),
                {.name = "lab",
                 .date = "2026-11-29",
                 .launches = {{}, {}},
                 .sampling = {.warm_up_runs = 1, .runs = 2, .max_copy_bytes = 256}},
                kSilent);
  EXPECT_EQ(result.cluster.topology.latency_us(0, 1), 7.5);
  EXPECT_EQ(result.cluster.topology.latency_us(1, 0), 7.5);
}

TEST(Calibration, TellsTheClocksAtWhichOpsRan) {
  GpuAndCpu machine;
  double mhz = 1700;
  machine.gpu.next_run = [&] { return TimedRun{.us = 1, .mhz = mhz += 1}; };
  const CalibratedMachine result =
      calibrate(machine.devices, four_sites(), machine.options, kSilent);
  EXPECT_THAT(result.cluster.profiles[0].calibration->clocks,
              testing::MatchesRegex("multiprocessors 17.. to 17.. MHz, 4 ops"));
  EXPECT_EQ(result.cluster.profiles[1].calibration->clocks, "");
}

// Every other run.
TEST(Calibration, TellsHowManyRunsWereThrottledAndWhy) {
  GpuAndCpu machine;
  bool is_slow = false;
  machine.gpu.next_run = [&] {
    is_slow = !is_slow;
    return TimedRun{.us = 1, .quality = is_slow ? RunQuality::kThrottled : RunQuality::kGood};
  };
  machine.gpu.reasons = "power cap";
  const CalibratedMachine result =
      calibrate(machine.devices, four_sites(), machine.options, kSilent);
  EXPECT_THAT(describe_throttling(result.devices[0]),
              testing::MatchesRegex("[0-9]+ runs were below the clock under load .power cap."));
  EXPECT_THAT(result.cluster.profiles[0].provenance.notes,
              HasSubstr(describe_throttling(result.devices[0])));
  EXPECT_EQ(describe_throttling(result.devices[1]), "");
}

TEST(Calibration, TellsThatNoCopyConnectsDevicesBeforeItMeasuresOps) {
  GpuAndCpu machine;
  machine.options.sampling.max_copy_bytes = 4;  // one size makes no line
  std::vector<std::string> told;
  const Progress progress = [&](const ProgressNote& note) { told.push_back(note.what); };
  EXPECT_THAT(
      test::error_of([&] { calibrate(machine.devices, four_sites(), machine.options, progress); }),
      HasSubstr("no copy from gpu:0 to cpu:0 was measured"));
  EXPECT_THAT(told.back(), HasSubstr("copy "));
}

}  // namespace
}  // namespace emplace::calibrate::calibration_test
