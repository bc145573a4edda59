#include "support/activity_records.hpp"

#include <emplace/calibrate/activity.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace emplace::calibrate::parse_activities_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

using U16 = std::uint16_t;
using U32 = std::uint32_t;
using U64 = std::uint64_t;

DeviceUuid uuid_from(std::uint8_t first) {
  DeviceUuid uuid{};
  for (std::size_t i = 0; i < uuid.size(); ++i) {
    uuid[i] = static_cast<std::uint8_t>(first + i);
  }
  return uuid;
}

TEST(ParseActivities, ReadsAKernel) {
  ActivityRecording recording = recording_of({RawRecord(10, 216)
                                                  .put<U16>(6, 128)
                                                  .put<U64>(16, 1'763'000'000'000'000'100)
                                                  .put<U64>(24, 1'763'000'000'000'004'100)
                                                  .put<U32>(40, 1)
                                                  .put<U32>(44, 2)
                                                  .put<U32>(48, 7)
                                                  .put<U32>(52, 132)
                                                  .put<U32>(56, 5)
                                                  .put<U32>(60, 1)
                                                  .put<U32>(64, 256)
                                                  .put<U32>(68, 1)
                                                  .put<U32>(72, 2)
                                                  .put<U32>(76, 1024)
                                                  .put<U32>(80, 65536)
                                                  .put<U32>(92, 4711)
                                                  .put<U64>(104, 0x7f00'0000'1000)
                                                  .put<U64>(144, 0x3'0000'0001)
                                                  .put<U32>(156, 3)});
  recording.strings = {{0x7f00'0000'1000, "_Z4gemmPf"}, {0x7f00'0000'2000, "unused"}};
  const ActivityLog log = parse_activities(recording);
  ASSERT_EQ(log.kernels.size(), 1);
  const KernelActivity& kernel = log.kernels[0];
  EXPECT_EQ(kernel.work.start_ns, 1'763'000'000'000'000'100U);
  EXPECT_EQ(kernel.work.end_ns, 1'763'000'000'000'004'100U);
  EXPECT_EQ(kernel.work.device, 1);
  EXPECT_EQ(kernel.work.context, 2);
  EXPECT_EQ(kernel.work.stream, 7);
  EXPECT_EQ(kernel.work.correlation, 4711);
  EXPECT_EQ(kernel.work.graph, 3);
  EXPECT_EQ(kernel.work.graph_node, 0x3'0000'0001U);
  EXPECT_THAT(kernel.grid, ElementsAre(132, 5, 1));
  EXPECT_THAT(kernel.block, ElementsAre(256, 1, 2));
  EXPECT_EQ(kernel.registers_per_thread, 128);
  EXPECT_EQ(kernel.static_shared_bytes, 1024);
  EXPECT_EQ(kernel.dynamic_shared_bytes, 65536);
  EXPECT_EQ(log.names.at(kernel.name), "_Z4gemmPf");
}

TEST(ParseActivities, GivesKernelsOfOneNameOneEntryAndUnknownNamesTheEmptyOne) {
  ActivityRecording recording =
      recording_of({raw_kernel(1, 2, 1).put<U64>(104, 64), raw_kernel(2, 3, 2).put<U64>(104, 80),
                    raw_kernel(3, 4, 3).put<U64>(104, 64), raw_kernel(4, 5, 4)});
  recording.strings = {{64, "relu"}};
  const ActivityLog log = parse_activities(recording);
  EXPECT_THAT(log.names, ElementsAre("", "relu"));
  ASSERT_EQ(log.kernels.size(), 4);
  EXPECT_EQ(log.kernels[0].name, 1);
  EXPECT_EQ(log.kernels[1].name, 0);
  EXPECT_EQ(log.kernels[2].name, 1);
  EXPECT_EQ(log.kernels[3].name, 0);
}

TEST(ParseActivities, ReadsACopyFromPinnedMemory) {
  const ActivityLog log = parse_activities(recording_of({raw_copy(1000, 3000, 9)
                                                             .put<std::uint8_t>(4, 1)  // to device
                                                             .put<std::uint8_t>(5, 2)  // pinned
                                                             .put<std::uint8_t>(6, 3)  // device
                                                             .put<U64>(8, 1ULL << 33)
                                                             .put<U32>(32, 2)
                                                             .put<U32>(36, 1)
                                                             .put<U32>(40, 13)
                                                             .put<U64>(64, 77)
                                                             .put<U32>(72, 5)}));
  ASSERT_EQ(log.copies.size(), 1);
  const CopyActivity& copy = log.copies[0];
  EXPECT_EQ(copy.work.start_ns, 1000);
  EXPECT_EQ(copy.work.end_ns, 3000);
  EXPECT_EQ(copy.work.device, 2);
  EXPECT_EQ(copy.work.context, 1);
  EXPECT_EQ(copy.work.stream, 13);
  EXPECT_EQ(copy.work.correlation, 9);
  EXPECT_EQ(copy.work.graph, 5);
  EXPECT_EQ(copy.work.graph_node, 77);
  EXPECT_EQ(copy.from, MemoryKind::kPinned);
  EXPECT_EQ(copy.to, MemoryKind::kDevice);
  EXPECT_FALSE(copy.peer);
  EXPECT_EQ(copy.from_device, 2);
  EXPECT_EQ(copy.to_device, 2);
  EXPECT_EQ(copy.bytes, 8'589'934'592U);
}

TEST(ParseActivities, ReadsACopyBetweenGpus) {
  const ActivityLog log = parse_activities(recording_of({RawRecord(22, 96)
                                                             .put<std::uint8_t>(5, 3)
                                                             .put<std::uint8_t>(6, 3)
                                                             .put<U64>(8, 4096)
                                                             .put<U64>(16, 500)
                                                             .put<U64>(24, 700)
                                                             .put<U32>(32, 0)
                                                             .put<U32>(44, 0)
                                                             .put<U32>(52, 3)
                                                             .put<U32>(60, 21)
                                                             .put<U64>(72, 6)
                                                             .put<U32>(80, 4)}));
  ASSERT_EQ(log.copies.size(), 1);
  const CopyActivity& copy = log.copies[0];
  EXPECT_TRUE(copy.peer);
  EXPECT_EQ(copy.from_device, 0);
  EXPECT_EQ(copy.to_device, 3);
  EXPECT_EQ(copy.from, MemoryKind::kDevice);
  EXPECT_EQ(copy.bytes, 4096);
  EXPECT_EQ(copy.work.start_ns, 500);
  EXPECT_EQ(copy.work.correlation, 21);
  EXPECT_EQ(copy.work.graph_node, 6);
  EXPECT_EQ(copy.work.graph, 4);
}

TEST(ParseActivities, ReadsAFillOfMemoryOfAKindThatIsNew) {
  const ActivityLog log = parse_activities(recording_of(
      {raw_fill(5, 8, 3).put<U64>(8, 256).put<U16>(50, 3), raw_fill(8, 9, 4).put<U16>(50, 99)}));
  ASSERT_EQ(log.fills.size(), 2);
  EXPECT_EQ(log.fills[0].memory, MemoryKind::kDevice);
  EXPECT_EQ(log.fills[0].bytes, 256);
  EXPECT_EQ(log.fills[0].work.correlation, 3);
  EXPECT_EQ(log.fills[1].memory, MemoryKind::kUnknown);
}

TEST(ParseActivities, ReadsCallsOfRuntimeAndDriver) {
  const auto call = [](U32 kind, U32 id) {
    return RawRecord(kind, 40)
        .put<U32>(4, id)
        .put<U64>(8, 10)
        .put<U64>(16, 30)
        .put<U32>(24, 100)
        .put<U32>(28, 101)
        .put<U32>(32, 55)
        .put<U32>(36, 2);
  };
  const ActivityLog log = parse_activities(recording_of({call(5, 211), call(4, 307)}));
  ASSERT_EQ(log.calls.size(), 2);
  EXPECT_FALSE(log.calls[0].driver);
  EXPECT_EQ(log.calls[0].call, 211);
  EXPECT_EQ(log.calls[0].start_ns, 10);
  EXPECT_EQ(log.calls[0].end_ns, 30);
  EXPECT_EQ(log.calls[0].process, 100);
  EXPECT_EQ(log.calls[0].thread, 101);
  EXPECT_EQ(log.calls[0].correlation, 55);
  EXPECT_EQ(log.calls[0].result, 2);
  EXPECT_TRUE(log.calls[1].driver);
  EXPECT_EQ(log.calls[1].call, 307);
}

TEST(ParseActivities, ReadsExternalIdsOverheadsAndWaits) {
  const ActivityLog log = parse_activities(recording_of({
      raw_link(0xffff'ffff'ffff'fff0, 12, 4),
      RawRecord(17, 56).put<U32>(4, 5U << 16).put<U64>(24, 100).put<U64>(32, 140),
      RawRecord(38, 56)
          .put<U32>(4, 4)
          .put<U64>(8, 200)
          .put<U64>(16, 290)
          .put<U32>(24, 13)
          .put<U32>(28, 1)
          .put<U32>(32, 7),
  }));
  ASSERT_EQ(log.links.size(), 1);
  EXPECT_EQ(log.links[0].kind, 4);
  EXPECT_EQ(log.links[0].external_id, 0xffff'ffff'ffff'fff0);
  EXPECT_EQ(log.links[0].correlation, 12);
  ASSERT_EQ(log.overheads.size(), 1);
  EXPECT_EQ(log.overheads[0].kind, 5U << 16);  // lazy loading of a function
  EXPECT_EQ(log.overheads[0].start_ns, 100);
  EXPECT_EQ(log.overheads[0].end_ns, 140);
  ASSERT_EQ(log.waits.size(), 1);
  EXPECT_EQ(log.waits[0].kind, 4);  // for a context
  EXPECT_EQ(log.waits[0].start_ns, 200);
  EXPECT_EQ(log.waits[0].end_ns, 290);
  EXPECT_EQ(log.waits[0].correlation, 13);
  EXPECT_EQ(log.waits[0].context, 1);
  EXPECT_EQ(log.waits[0].stream, 7);
}

TEST(ParseActivities, ReadsClocksTemperatureAndPowerButNoFans) {
  const auto sample = [](U32 kind) {
    return RawRecord(20, 40).put<U32>(4, 1).put<U64>(8, 900).put<U32>(16, kind);
  };
  const ActivityLog log = parse_activities(recording_of({
      sample(1).put<U32>(20, 1755).put<U32>(24, 2619).put<U32>(28, 5).put<U32>(32, 16).put<U32>(36,
                                                                                                4),
      sample(2).put<U32>(20, 61),
      sample(3).put<U32>(20, 690'000).put<U32>(24, 700'000),
      sample(4).put<U32>(20, 30),
  }));
  ASSERT_EQ(log.clocks.size(), 1);
  EXPECT_EQ(log.clocks[0].time_ns, 900);
  EXPECT_EQ(log.clocks[0].device, 1);
  EXPECT_EQ(log.clocks[0].sm_mhz, 1755);
  EXPECT_EQ(log.clocks[0].memory_mhz, 2619);
  EXPECT_EQ(log.clocks[0].pcie_generation, 5);
  EXPECT_EQ(log.clocks[0].pcie_lanes, 16);
  EXPECT_EQ(log.clocks[0].throttle_reasons, 4);
  ASSERT_EQ(log.temperatures.size(), 1);
  EXPECT_EQ(log.temperatures[0].celsius, 61);
  ASSERT_EQ(log.powers.size(), 1);
  EXPECT_EQ(log.powers[0].milliwatts, 690'000);
  EXPECT_EQ(log.powers[0].limit_milliwatts, 700'000);
  EXPECT_THAT(log.skipped, ElementsAre(Pair(20, 1)));
}

TEST(ParseActivities, ReadsADevice) {
  ActivityRecording recording = recording_of({RawRecord(8, 184)
                                                  .put<U64>(8, 4'800'000'000)  // kB/s
                                                  .put<U64>(16, 150'754'820'096)
                                                  .put<U32>(28, 62'914'560)
                                                  .put<U32>(36, 1'980'000)
                                                  .put<U32>(40, 3)
                                                  .put<U32>(44, 132)
                                                  .put<U32>(104, 9)
                                                  .put<U32>(108, 0)
                                                  .put<U32>(112, 1)
                                                  .put(120, uuid_from(16))
                                                  .put<U64>(136, 4096)});
  recording.strings = {{4096, "NVIDIA H200"}};
  const ActivityLog log = parse_activities(recording);
  ASSERT_EQ(log.devices.size(), 1);
  const DeviceActivity& device = log.devices[0];
  EXPECT_EQ(device.device, 1);
  EXPECT_EQ(device.uuid, uuid_from(16));
  EXPECT_EQ(log.names.at(device.name), "NVIDIA H200");
  EXPECT_EQ(device.memory_kbytes_per_second, 4'800'000'000U);
  EXPECT_EQ(device.memory_bytes, 150'754'820'096U);
  EXPECT_EQ(device.l2_bytes, 62'914'560);
  EXPECT_EQ(device.core_khz, 1'980'000);
  EXPECT_EQ(device.copy_engines, 3);
  EXPECT_EQ(device.multiprocessors, 132);
  EXPECT_EQ(device.capability_major, 9);
  EXPECT_EQ(device.capability_minor, 0);
}

TEST(ParseActivities, ReadsTheTreeOfPcie) {
  const ActivityLog log = parse_activities(recording_of({
      RawRecord(46, 168)
          .put<U32>(4, 0)
          .put<U32>(8, 2)
          .put<U32>(12, 1)
          .put<U16>(16, 5)
          .put<U16>(18, 32)
          .put<U16>(20, 16)
          .put<U16>(22, 0x4a)
          .put(24, uuid_from(3)),
      RawRecord(46, 168).put<U32>(4, 1).put<U32>(8, 7).put<U16>(22, 0x10).put<U16>(24, 0x4a),
  }));
  ASSERT_EQ(log.pcie.size(), 2);
  const PcieActivity& gpu = log.pcie[0];
  EXPECT_FALSE(gpu.bridge);
  EXPECT_EQ(gpu.id, 2);
  EXPECT_EQ(gpu.domain, 1);
  EXPECT_EQ(gpu.generation, 5);
  EXPECT_EQ(gpu.gigatransfers_per_second, 32);
  EXPECT_EQ(gpu.lanes, 16);
  EXPECT_EQ(gpu.upstream_bus, 0x4a);
  EXPECT_EQ(gpu.uuid, uuid_from(3));
  const PcieActivity& bridge = log.pcie[1];
  EXPECT_TRUE(bridge.bridge);
  EXPECT_EQ(bridge.id, 7);
  EXPECT_EQ(bridge.secondary_bus, gpu.upstream_bus);
}

TEST(ParseActivities, ReadsNvlinksToGpusAndCpus) {
  const ActivityLog log = parse_activities(recording_of({RawRecord(40, 136)
                                                             .put<U32>(4, 4)
                                                             .put<U32>(8, 1)
                                                             .put<U32>(12, 2)
                                                             .put(16, uuid_from(1))
                                                             .put<U32>(32, 6)
                                                             .put<U32>(52, 18)
                                                             .put<U64>(120, 26'562'500)
                                                             .put<std::uint8_t>(128, 1)}));
  ASSERT_EQ(log.nvlinks.size(), 1);
  const NvlinkActivity& nvlink = log.nvlinks[0];
  EXPECT_TRUE(nvlink.first.gpu);
  EXPECT_EQ(nvlink.first.uuid, uuid_from(1));
  EXPECT_FALSE(nvlink.second.gpu);
  EXPECT_EQ(nvlink.second.index, 6);
  EXPECT_EQ(nvlink.version, 4);
  EXPECT_EQ(nvlink.links, 18);
  EXPECT_EQ(nvlink.kbytes_per_second, 26'562'500);
  EXPECT_TRUE(nvlink.through_switch);
}

TEST(ParseActivities, DropsWorkWithoutBelievableTimesAndSaysWhose) {
  const ActivityLog log = parse_activities(recording_of({
      raw_kernel(0, 0, 1),  // CUPTI had no room for the times
      raw_kernel(20, 10, 2), raw_copy(0, 10, 3), raw_fill(10, 0, 4),
      raw_kernel(10, 10, 5),  // shorter than the clock's tick
  }));
  EXPECT_THAT(log.untimed, ElementsAre(1, 2, 3, 4));
  ASSERT_EQ(log.kernels.size(), 1);
  EXPECT_EQ(log.kernels[0].work.correlation, 5);
  EXPECT_THAT(log.copies, IsEmpty());
  EXPECT_THAT(log.fills, IsEmpty());
}

TEST(ParseActivities, CountsCallsWaitsOverheadsAndSamplesWithoutTimes) {
  const ActivityLog log = parse_activities(recording_of(
      {RawRecord(5, 40), RawRecord(17, 56), RawRecord(38, 56), raw_clock(0, 1980, 0)}));
  EXPECT_EQ(log.untimed_others, 4);
  EXPECT_THAT(log.untimed, IsEmpty());
  EXPECT_THAT(log.clocks, IsEmpty());
}

TEST(ParseActivities, CountsAndSkipsKindsThatItDoesNotRead) {
  const ActivityLog log =
      parse_activities(recording_of({RawRecord(9, 32), raw_kernel(1, 2, 1), RawRecord(37, 24),
                                     RawRecord(9, 32), raw_kernel(2, 3, 2)}));
  EXPECT_EQ(log.kernels.size(), 2);
  EXPECT_THAT(log.skipped, ElementsAre(Pair(9, 2), Pair(37, 1)));
}

TEST(ParseActivities, CarriesTheNumberOfRecordsThatCuptiDropped) {
  ActivityRecording recording = recording_of({raw_kernel(1, 2, 1)});
  recording.dropped_records = 900'000;
  EXPECT_EQ(parse_activities(recording).dropped_records, 900'000);
}

TEST(ParseActivities, ReadsNothingFromNothing) {
  const ActivityLog log = parse_activities({.origin = "nobody"});
  EXPECT_THAT(log.kernels, IsEmpty());
  EXPECT_EQ(log.dropped_records, 0);
}

}  // namespace
}  // namespace emplace::calibrate::parse_activities_test
