#include <emplace/calibrate/cpu_device.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <profiles/calibrate/src/cpu/host_facts.hpp>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <span>

namespace emplace::calibrate::cpu_device_test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::Gt;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::unique_ptr<ComputeDevice> device_of_first_core(const std::atomic<bool>* stop = nullptr) {
  const std::vector<int> core{usable_cores().front()};
  return make_cpu_device("cpu:0", core, stop);
}

// Its program copies its input.
OpSite relu(std::int64_t elements) {
  const Output x{.shape = {elements}, .bytes = 4 * elements};
  return {.op = {.name = "y", .kind = "relu", .shape = {elements}, .outputs = {x}}, .inputs = {x}};
}

std::span<float> floats(const Memory& memory) {
  return {static_cast<float*>(memory.data()), static_cast<std::size_t>(memory.bytes()) / 4};
}

TEST(CpuDevice, FindsLastCachesNoSmallerThanTheSecondLevel) {
  EXPECT_GE(last_cache_bytes(), sysconf(_SC_LEVEL2_CACHE_SIZE));
}

TEST(CpuDevice, TellsItsFacts) {
  const auto device = device_of_first_core();
  const DeviceFacts& facts = device->facts();
  EXPECT_EQ(facts.kind, DeviceKind::kCpu);
  EXPECT_EQ(facts.name, "cpu:0");
  EXPECT_THAT(facts.device_class, testing::StartsWith("cpu-"));
  EXPECT_EQ(facts.compute_units, 1);
  EXPECT_GT(facts.memory_bytes, 0);
  EXPECT_GT(facts.peak_flops_per_us, 0);
  EXPECT_GT(facts.memory_bytes_per_us, 0);
  EXPECT_FALSE(facts.software.empty());
}

TEST(CpuDevice, ReadsTheProcessorsName) {
  EXPECT_EQ(processor_name("processor\t: 0\nmodel name\t: AMD EPYC 7742 64-Core Processor \nmodel"),
            "AMD EPYC 7742 64-Core Processor");
  EXPECT_EQ(processor_name("CPU implementer\t: 0x41\n"), "CPU");
  EXPECT_EQ(processor_name("model name"), "CPU");
}

TEST(CpuDevice, FillsMemoryWithRandomNumbersIfAsked) {
  const auto device = device_of_first_core();
  const auto memory = device->allocate(400'002, true);
  EXPECT_EQ(memory->bytes(), 400'002);
  const auto [least, largest] = std::ranges::minmax(floats(*memory));
  EXPECT_GE(least, -1);
  EXPECT_LT(least, -0.9F);
  EXPECT_GT(largest, 0.9F);
  EXPECT_LT(largest, 1);
  EXPECT_THROW(device->allocate(std::int64_t{1} << 60, false), DeviceFailure);
}

TEST(CpuDevice, RunsAQueueInOrder) {
  const auto device = device_of_first_core();
  const auto program = device->compile(relu(3));
  const auto x = device->allocate(12, false);
  const auto y = device->allocate(12, false);
  const std::array<float, 3> numbers{-1, 0, 2};
  const std::array<float, 3> others{3, 4, 5};
  const auto queue = device->make_queue();
  queue->copy(x->data(), numbers.data(), 12);
  queue->run(*program, {.inputs = {x->data()}, .outputs = {y->data()}});
  queue->copy(x->data(), others.data(), 12);
  queue->finish();
  EXPECT_THAT(floats(*x), ElementsAre(3, 4, 5));
  EXPECT_THAT(floats(*y), ElementsAre(-1, 0, 2));
}

TEST(CpuDevice, TimesRunsAndCopies) {
  const auto device = device_of_first_core();
  const auto program = device->compile(relu(1000));
  const auto x = device->allocate(4000, true);
  const auto y = device->allocate(4000, false);
  std::ranges::fill(floats(*y), 7.0F);
  const auto times = device->time_runs(*program, {.inputs = {x->data()}, .outputs = {y->data()}}, 3,
                                       Caches::kWarm);
  ASSERT_THAT(times, SizeIs(3));
  for (const TimedRun& time : times) {
    EXPECT_GT(time.us, 0);
  }
  EXPECT_TRUE(std::ranges::equal(floats(*x), floats(*y)));  // it ran
  std::ranges::fill(floats(*y), 7.0F);
  const std::array copies{
      Copy{y->data(), x->data(), 2000},
      Copy{static_cast<char*>(y->data()) + 2000, static_cast<const char*>(x->data()) + 2000, 2000}};
  EXPECT_THAT(device->time_copies(copies, 2), Each(SizeIs(2)));
  EXPECT_TRUE(std::ranges::equal(floats(*x), floats(*y)));
  EXPECT_GT(device->launches().gap_us, 0);
}

TEST(CpuDevice, BeginsNoWorkOnceItIsStopped) {
  std::atomic<bool> stop{true};
  const auto device = device_of_first_core(&stop);
  const auto program = device->compile(relu(1000));
  const auto x = device->allocate(4000, true);
  const auto y = device->allocate(4000, false);
  const OpBuffers buffers{.inputs = {x->data()}, .outputs = {y->data()}};
  EXPECT_THAT(device->time_runs(*program, buffers, 3, Caches::kCold), IsEmpty());
  const std::array copies{Copy{y->data(), x->data(), 2000}};
  EXPECT_THAT(device->time_copies(copies, 2), ElementsAre(IsEmpty()));
  EXPECT_GT(device->launches().gap_us, 0);

  int begun = 0;
  const int one = 1;
  const auto queue = device->make_queue();
  queue->copy(&begun, &one, sizeof(int));
  queue->finish();
  EXPECT_EQ(begun, 0);
  stop = false;
  queue->copy(&begun, &one, sizeof(int));
  queue->finish();
  EXPECT_EQ(begun, 1);
}

TEST(CpuDevice, RefusesCoresThatItMayNotUse) {
  const std::vector<int> none{100'000};
  try {
    make_cpu_device("cpu:7", none);
    FAIL() << "expected a DeviceFailure";
  } catch (const DeviceFailure& failure) {
    EXPECT_THAT(failure.what(), HasSubstr("cpu:7: core 100000"));
  }
}

}  // namespace
}  // namespace emplace::calibrate::cpu_device_test
