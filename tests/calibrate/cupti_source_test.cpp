// The source that records with CUPTI, on a library that pretends to be it (fake_cupti/): what a GPU
// would be needed for otherwise. Only builds with CUDA have such a source.
#ifdef EMPLACE_FAKE_CUPTI

#include "calibrate/fake_cupti/fake_cupti.hpp"
#include "profiles/calibrate/src/cupti/record_sizes.hpp"
#include "support/activity_records.hpp"

#include <emplace/calibrate/activity_source.hpp>
#include <emplace/calibrate/compute_device.hpp>

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace emplace::calibrate::cupti_source_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

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
    for (const RecordSize& size : kRecordSizes) {
      cupti_->record_bytes[size.kind] = record_bytes(size.kind, cupti_->version);
    }
  }
  ~CuptiSource() override { ::unsetenv("EMPLACE_CUDA_LIBRARIES"); }

  test::FakeCupti* cupti_ = nullptr;
};

TEST_F(CuptiSource, RecordsAllKindsThatTimesNeedUntilItIsGone) {
  {
    const auto source = open_cupti();
    EXPECT_EQ(source->why_none(), "");
    // Copies, memsets, driver, runtime, devices, concurrent kernels, overheads, environment, peer
    // copies, external ids, NVLink, PCIe.
    EXPECT_THAT(cupti_->enabled, ElementsAre(1, 2, 4, 5, 8, 10, 17, 20, 22, 39, 40, 46));
  }
  EXPECT_THAT(cupti_->enabled, IsEmpty());
}

TEST_F(CuptiSource, GivesWhatWasRecordedSinceItWasLastAsked) {
  const auto source = open_cupti();
  const std::string name = "relu";
  cupti_->pending =
      buffer_of({raw_kernel(1000, 2000, 5)
                     .put<std::uint64_t>(104, reinterpret_cast<std::uintptr_t>(name.c_str())),
                 raw_link(42, 5)});
  cupti_->dropped = 7;
  const ActivityRecording recording = source->take();
  EXPECT_EQ(recording.cupti_version, 130001);
  EXPECT_EQ(recording.dropped_records, 7);
  const ActivityLog log = parse_activities(recording);
  EXPECT_EQ(log.names.at(log.kernels.at(0).name), "relu");
  EXPECT_EQ(device_times(log).at(42).busy_us, 1);
  EXPECT_THAT(source->take().buffers, IsEmpty());
  EXPECT_EQ(cupti_->forced_flushes, 0);
}

TEST_F(CuptiSource, ForcesOutOnlyWhatAFlushHoldsBack) {
  const auto source = open_cupti();
  cupti_->pending = buffer_of({raw_kernel(1000, 2000, 5)});
  cupti_->held_back = true;
  EXPECT_EQ(source->take().buffers.size(), 1);
  EXPECT_EQ(cupti_->forced_flushes, 1);
}

TEST_F(CuptiSource, LeavesNothingToTheNext) {
  {
    const auto first = open_cupti();
    cupti_->pending = buffer_of({raw_kernel(1000, 2000, 5)});
  }
  const auto second = open_cupti();
  EXPECT_THAT(cupti_->pending, IsEmpty());
  EXPECT_THAT(second->take().buffers, IsEmpty());
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
  EXPECT_THAT(cupti_->enabled, ElementsAre(1, 2, 4, 5, 8, 10, 17, 22, 39));
}

TEST_F(CuptiSource, SaysWhyThereIsNoneAndUndoesWhatItDid) {
  cupti_->refusals = {{10, 39}};
  const auto refused = open_cupti();
  EXPECT_THAT(std::string(refused->why_none()),
              HasSubstr("cuptiActivityEnable of kernels: CUPTI_ERROR_FAKE (39); another profiler"));
  EXPECT_THAT(cupti_->enabled, IsEmpty());
  { const ExternalId id(*refused, 1); }
  EXPECT_THAT(refused->take().buffers, IsEmpty());
  cupti_->refusals.clear();
  EXPECT_EQ(open_cupti()->why_none(), "");
}

TEST_F(CuptiSource, IsOneAtATime) {
  const auto first = open_cupti();
  EXPECT_EQ(open_cupti()->why_none(), "another source of this program is open");
  EXPECT_FALSE(cupti_->enabled.empty());
}

TEST_F(CuptiSource, RefusesALibraryWhoseRecordsAreNotKnown) {
  cupti_->version = 130200;
  EXPECT_THAT(std::string(open_cupti()->why_none()),
              HasSubstr("libcupti.so.13 is CUPTI 130200, whose records are not known"));
  cupti_->version = 130001;
  cupti_->record_bytes[10] = 224;
  EXPECT_THAT(std::string(open_cupti()->why_none()),
              HasSubstr("libcupti.so.13 is CUPTI 130001, whose records of kernels have 224 bytes, "
                        "not 216"));
}

}  // namespace
}  // namespace emplace::calibrate::cupti_source_test

#endif
