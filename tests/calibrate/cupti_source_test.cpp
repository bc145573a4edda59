// The source that records with CUPTI, on a library that pretends to be it (fake_cupti/): what a GPU
// would be needed for otherwise. Only builds with CUDA have such a source.
#ifdef EMPLACE_FAKE_CUPTI

#include "calibrate/fake_cupti/fake_cupti.hpp"
#include "support/activity_records.hpp"

#include <emplace/calibrate/activity.hpp>
#include <emplace/calibrate/compute_device.hpp>

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace emplace::calibrate::cupti_source_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

using U16 = std::uint16_t;
using U32 = std::uint32_t;
using U64 = std::uint64_t;

class CuptiSource : public testing::Test {
 protected:
  CuptiSource() {
    ::setenv("EMPLACE_CUDA_LIBRARIES", EMPLACE_FAKE_CUPTI, 1);
    void* const library = dlopen(EMPLACE_FAKE_CUPTI "/libcupti.so.13", RTLD_NOW);
    if (library == nullptr) {
      throw std::runtime_error(dlerror());
    }
    cupti_ = reinterpret_cast<decltype(&fake_cupti)>(dlsym(library, "fake_cupti"))();
    *cupti_ = {};
    // Of CUDA 13.0: copies, memsets, calls of driver and runtime, devices, contexts, kernels,
    // environment, peer copies, external ids, NVLink, PCIe.
    cupti_->record_bytes = {{1, 96},   {2, 88},  {4, 40},  {5, 40},  {8, 184},  {9, 32},
                            {10, 216}, {20, 40}, {22, 96}, {39, 24}, {40, 136}, {46, 168}};
  }
  ~CuptiSource() override { ::unsetenv("EMPLACE_CUDA_LIBRARIES"); }

  // Returns what the source makes of records.
  ActivityLog log_of(const std::vector<RawRecord>& records) {
    const auto source = open_cupti();
    cupti_->pending = buffer_of(records);
    return source->take();
  }

  // Returns what it makes of records of the machine, of which two takes ask.
  MachineLog machine_of(const std::vector<RawRecord>& records) {
    const auto source = open_cupti();
    cupti_->pending = buffer_of(records);
    source->take();
    EXPECT_THAT(source->take().work, IsEmpty());
    return source->machine();
  }

  test::FakeCupti* cupti_ = nullptr;
};

DeviceUuid uuid_from(std::uint8_t first) {
  DeviceUuid uuid{};
  for (std::size_t i = 0; i < uuid.size(); ++i) {
    uuid[i] = static_cast<std::uint8_t>(first + i);
  }
  return uuid;
}

TEST_F(CuptiSource, RecordsAllKindsThatTimesNeedUntilItIsGone) {
  {
    const auto source = open_cupti();
    EXPECT_EQ(source->why_none(), "");
    // Copies, memsets, driver, runtime, devices, concurrent kernels, peer copies, external ids,
    // NVLink, PCIe.
    EXPECT_THAT(cupti_->enabled, ElementsAre(1, 2, 4, 5, 8, 10, 22, 39, 40, 46));
  }
  EXPECT_THAT(cupti_->enabled, IsEmpty());
}

TEST_F(CuptiSource, GivesWhatWasRecordedSinceItWasLastAsked) {
  const auto source = open_cupti();
  cupti_->pending = buffer_of({raw_kernel(1000, 2000, 5), raw_link(42, 5)});
  cupti_->dropped = 7;
  const ActivityLog log = source->take();
  EXPECT_EQ(log.dropped_records, 7);
  EXPECT_EQ(device_times(log).at(42).busy_us, 1);
  EXPECT_THAT(source->take().work, IsEmpty());
  EXPECT_EQ(cupti_->forced_flushes, 0);
}

// What it told about the machine stays.
TEST_F(CuptiSource, KeepsWhatTellsAboutTheMachine) {
  const auto source = open_cupti();
  for (std::size_t takes = 1; takes <= 2; ++takes) {
    cupti_->pending = buffer_of({RawRecord(8, 184), raw_kernel(1000, 2000, 5)});
    EXPECT_EQ(source->take().work.size(), 1);
    EXPECT_EQ(source->machine().devices.size(), takes);
  }
}

TEST_F(CuptiSource, ForcesOutOnlyWhatAFlushHoldsBack) {
  const auto source = open_cupti();
  cupti_->pending = buffer_of({raw_kernel(1000, 2000, 5)});
  cupti_->held_back = true;
  EXPECT_EQ(source->take().work.size(), 1);
  EXPECT_EQ(cupti_->forced_flushes, 1);
}

TEST_F(CuptiSource, LeavesNothingToTheNext) {
  {
    const auto first = open_cupti();
    cupti_->pending = buffer_of({raw_kernel(1000, 2000, 5)});
  }
  const auto second = open_cupti();
  EXPECT_THAT(cupti_->pending, IsEmpty());
  EXPECT_THAT(second->take().work, IsEmpty());
}

TEST_F(CuptiSource, PushesAndPopsExternalIds) {
  const auto source = open_cupti();
  {
    const ExternalId outer(*source, 1);
    const ExternalId inner(*source, 2);
    EXPECT_THAT(cupti_->ids, ElementsAre(1, 2));
  }
  EXPECT_THAT(cupti_->ids, IsEmpty());
  cupti_->push_result = 1;
  EXPECT_THROW(source->push(3), DeviceFailure);
}

TEST_F(CuptiSource, GoesWithoutKindsThatOnlyTellAboutTheMachine) {
  cupti_->refusals = {{20, 27}, {40, 27}, {46, 35}};
  const auto source = open_cupti();
  EXPECT_EQ(source->why_none(), "");
  EXPECT_THAT(cupti_->enabled, ElementsAre(1, 2, 4, 5, 8, 10, 22, 39));
}

TEST_F(CuptiSource, SaysWhyThereIsNoneAndUndoesWhatItDid) {
  cupti_->refusals = {{10, 39}};
  const auto refused = open_cupti();
  EXPECT_THAT(refused->why_none(),
              HasSubstr("cuptiActivityEnable of kernels: CUPTI_ERROR_FAKE (39); another profiler"));
  EXPECT_THAT(cupti_->enabled, IsEmpty());
  { const ExternalId id(*refused, 1); }
  EXPECT_THAT(refused->take().work, IsEmpty());
  cupti_->refusals.clear();
  EXPECT_EQ(open_cupti()->why_none(), "");
}

// Codes as in cupti_result.h.
TEST_F(CuptiSource, NamesCallCodeAndCureOfARefusal) {
  const auto reason = [&](int code) {
    cupti_->refusals = {{10, code}};
    return open_cupti()->why_none();
  };
  EXPECT_EQ(reason(8), "cuptiActivityEnable of kernels: CUPTI_ERROR_FAKE (8)");
  EXPECT_THAT(reason(35), HasSubstr("NVreg_RestrictProfilingToAdminUsers=0"));
  EXPECT_THAT(reason(36), HasSubstr("another profiler"));
  EXPECT_THAT(reason(26), HasSubstr("another tool"));
  EXPECT_THAT(reason(33), HasSubstr("virtual"));
  EXPECT_THAT(reason(40), HasSubstr("virtual"));
  EXPECT_THAT(reason(41), HasSubstr("confidential"));
  EXPECT_THAT(reason(43), HasSubstr("MIG"));
  EXPECT_THAT(reason(45), HasSubstr("Windows Subsystem"));
  EXPECT_THAT(reason(999), HasSubstr("driver"));
}

TEST_F(CuptiSource, IsOneAtATime) {
  const auto first = open_cupti();
  EXPECT_EQ(open_cupti()->why_none(), "another source of this program is open");
  EXPECT_FALSE(cupti_->enabled.empty());
}

TEST_F(CuptiSource, RefusesALibraryWhoseRecordsAreNotKnown) {
  cupti_->version = 20;
  EXPECT_THAT(open_cupti()->why_none(),
              HasSubstr("libcupti.so.13 is CUPTI 20, whose records are not known"));
  cupti_->version = 130300;  // newer than the headers
  EXPECT_EQ(open_cupti()->why_none(), "");
}

TEST_F(CuptiSource, ReadsWorkOfKernelsCopiesAndFills) {
  const ActivityLog log = log_of({
      raw_kernel(1'763'000'000'000'000'100, 1'763'000'000'000'004'100, 4711).put<U32>(40, 1),
      raw_copy(1000, 3000, 9).put<U32>(32, 2),
      RawRecord(22, 96).put<U64>(16, 500).put<U64>(24, 700).put<U32>(32, 3).put<U32>(60, 21),
      raw_fill(5, 8, 3),
  });
  const auto is = [](U64 start, U64 end, U32 device, U32 correlation) {
    return AllOf(Field(&DeviceWork::start_ns, start), Field(&DeviceWork::end_ns, end),
                 Field(&DeviceWork::device, device), Field(&DeviceWork::correlation, correlation));
  };
  EXPECT_THAT(log.work,
              ElementsAre(is(1'763'000'000'000'000'100, 1'763'000'000'000'004'100, 1, 4711),
                          is(1000, 3000, 2, 9), is(500, 700, 3, 21), is(5, 8, 0, 3)));
}

TEST_F(CuptiSource, ReadsExternalIdsOfOursOnly) {
  const ActivityLog log =
      log_of({raw_link(0xffff'ffff'ffff'fff0, 12), raw_link(5, 1, 4), RawRecord(5, 40)});
  ASSERT_EQ(log.links.size(), 1);
  EXPECT_EQ(log.links[0].external_id, 0xffff'ffff'ffff'fff0);
  EXPECT_EQ(log.links[0].correlation, 12);
}

TEST_F(CuptiSource, ReadsADevice) {
  const MachineLog log = machine_of({RawRecord(8, 184)
                                         .put<U64>(8, 4'800'000'000)  // kB/s
                                         .put<U64>(16, 150'754'820'096)
                                         .put<U32>(28, 62'914'560)
                                         .put<U32>(36, 1'980'000)
                                         .put<U32>(40, 3)
                                         .put<U32>(44, 132)
                                         .put<U32>(112, 1)
                                         .put(120, uuid_from(16))});
  ASSERT_EQ(log.devices.size(), 1);
  const DeviceActivity& device = log.devices[0];
  EXPECT_EQ(device.device, 1);
  EXPECT_EQ(device.uuid, uuid_from(16));
  EXPECT_EQ(device.memory_kbytes_per_second, 4'800'000'000U);
  EXPECT_EQ(device.memory_bytes, 150'754'820'096U);
  EXPECT_EQ(device.l2_bytes, 62'914'560);
  EXPECT_EQ(device.core_khz, 1'980'000);
  EXPECT_EQ(device.copy_engines, 3);
  EXPECT_EQ(device.multiprocessors, 132);
}

TEST_F(CuptiSource, ReadsPcieOfGpusButNotOfBridges) {
  const MachineLog log = machine_of({
      RawRecord(46, 168).put<U32>(4, 0).put<U32>(8, 2).put<U16>(16, 5).put<U16>(20, 16),
      RawRecord(46, 168).put<U32>(4, 1).put<U32>(8, 7),
  });
  ASSERT_EQ(log.pcie.size(), 1);
  EXPECT_EQ(log.pcie[0].device, 2);
  EXPECT_EQ(log.pcie[0].generation, 5);
  EXPECT_EQ(log.pcie[0].lanes, 16);
}

TEST_F(CuptiSource, ReadsNvlinksToGpusAndCpus) {
  const MachineLog log = machine_of({RawRecord(40, 136)
                                         .put<U32>(8, 1)
                                         .put<U32>(12, 2)
                                         .put(16, uuid_from(1))
                                         .put<U32>(32, 6)
                                         .put<U32>(52, 18)
                                         .put<U64>(120, 26'562'500)
                                         .put<std::uint8_t>(128, 1)});
  ASSERT_EQ(log.nvlinks.size(), 1);
  const NvlinkActivity& nvlink = log.nvlinks[0];
  EXPECT_TRUE(nvlink.first.gpu);
  EXPECT_EQ(nvlink.first.uuid, uuid_from(1));
  EXPECT_FALSE(nvlink.second.gpu);
  EXPECT_EQ(nvlink.second.index, 6);
  EXPECT_EQ(nvlink.links, 18);
  EXPECT_EQ(nvlink.kbytes_per_second, 26'562'500);
  EXPECT_TRUE(nvlink.through_switch);
}

TEST_F(CuptiSource, DropsWorkWithoutBelievableTimesAndSaysWhose) {
  const ActivityLog log = log_of({
      raw_kernel(0, 0, 1),  // CUPTI had no room for the times
      raw_kernel(20, 10, 2), raw_copy(0, 10, 3), raw_fill(10, 0, 4),
      raw_kernel(10, 10, 5),  // shorter than the clock's tick
  });
  EXPECT_THAT(log.untimed, ElementsAre(1, 2, 3, 4));
  ASSERT_EQ(log.work.size(), 1);
  EXPECT_EQ(log.work[0].correlation, 5);
}

TEST_F(CuptiSource, SkipsOtherKindsAndEndsAtARecordThatIsNotFinished) {
  const ActivityLog log =
      log_of({RawRecord(9, 32), raw_kernel(1, 2, 1), RawRecord(0, 216), raw_kernel(2, 3, 2)});
  ASSERT_EQ(log.work.size(), 1);
  EXPECT_EQ(log.work[0].correlation, 1);
}

}  // namespace
}  // namespace emplace::calibrate::cupti_source_test

#endif
