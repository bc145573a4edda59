#include <emplace/calibrate/activity.hpp>

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace emplace::calibrate::activity_source_test {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(ActivitySource, OfNothingSaysWhyAndRecordsNothing) {
  ActivitySource source("no GPU");
  EXPECT_EQ(source.why_none(), "no GPU");
  { const ExternalId id(source, 42); }
  EXPECT_THAT(source.take().work, IsEmpty());
}

void* driver() { return dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL); }

TEST(ActivitySource, OfCuptiSaysWhatIsMissingWhereThereIsNoGpu) {
  if (driver() != nullptr) {
    GTEST_SKIP() << "there is a driver";
  }
  for (int i = 0; i < 2; ++i) {  // a failure leaves nothing behind
    const auto source = open_cupti();
    EXPECT_THAT(source->why_none(),
                AnyOf(HasSubstr("driver is missing: no libcuda.so.1"),
                      HasSubstr("CUPTI is missing"), HasSubstr("built without CUPTI")));
    { const ExternalId id(*source, 42); }
    EXPECT_THAT(source->take().work, IsEmpty());
  }
}

// The functions of CUDA's driver that fill memory. Found by name: this program links no CUDA.
struct Driver {
  explicit Driver(void* library) {
    const auto find = [&](const char* name, auto& function) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
    };
    find("cuInit", init);
    find("cuDevicePrimaryCtxRetain", retain_context);
    find("cuCtxSetCurrent", set_context);
    find("cuCtxSynchronize", synchronize);
    find("cuMemAlloc_v2", allocate);
    find("cuMemFree_v2", release);
    find("cuMemsetD32_v2", fill);
    find("cuMemcpyDtoD_v2", copy);
  }

  int (*init)(unsigned) = nullptr;
  int (*retain_context)(void**, int) = nullptr;
  int (*set_context)(void*) = nullptr;
  int (*synchronize)() = nullptr;
  int (*allocate)(std::uint64_t*, std::size_t) = nullptr;
  int (*release)(std::uint64_t) = nullptr;
  int (*fill)(std::uint64_t, unsigned, std::size_t) = nullptr;
  int (*copy)(std::uint64_t, std::uint64_t, std::size_t) = nullptr;
};

// 256 MiB are filled and copied within the GPU: at 10 TB/s, which no GPU has, a fill takes 27 us.
TEST(ActivitySource, OfCuptiTellsHowLongTheWorkOfAnIdOccupiesAGpu) {
  void* const library = driver();
  if (library == nullptr) {
    GTEST_SKIP() << "there is no driver";
  }
  const auto source = open_cupti();
  const Driver cuda(library);
  void* context = nullptr;
  if (!source->why_none().empty() || cuda.init(0) != 0 || cuda.retain_context(&context, 0) != 0) {
    GTEST_SKIP() << "there is no GPU to record: " << source->why_none();
  }
  ASSERT_EQ(cuda.set_context(context), 0);
  constexpr std::size_t kBytes = std::size_t{256} << 20;
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  ASSERT_EQ(cuda.allocate(&from, kBytes), 0);
  ASSERT_EQ(cuda.allocate(&to, kBytes), 0);
  for (int round = 0; round < 2; ++round) {
    {
      const ExternalId id(*source, 1);
      ASSERT_EQ(cuda.fill(from, 7, kBytes / 4), 0);
    }
    {
      const ExternalId id(*source, 2);
      ASSERT_EQ(cuda.copy(to, from, kBytes), 0);
      ASSERT_EQ(cuda.copy(from, to, kBytes), 0);
    }
    ASSERT_EQ(cuda.fill(from, 7, kBytes / 4), 0);  // under no id
    ASSERT_EQ(cuda.synchronize(), 0);
    const ActivityLog log = source->take();
    EXPECT_EQ(log.dropped_records, 0);
    const auto times = device_times(log);
    ASSERT_EQ(times.size(), 2);
    EXPECT_EQ(times.at(1).records, 1);
    EXPECT_GT(times.at(1).busy_us, 27);
    EXPECT_EQ(times.at(2).records, 2);
    EXPECT_GT(times.at(2).busy_us, 2 * 27);
    EXPECT_EQ(times.at(1).lost + times.at(2).lost, 0);
    if (round == 0) {
      EXPECT_FALSE(source->machine().devices.empty());
      ASSERT_FALSE(open_cupti()->why_none().empty()) << "two sources at a time";
    }
  }
  cuda.release(from);
  cuda.release(to);
}

}  // namespace
}  // namespace emplace::calibrate::activity_source_test
