#include <emplace/calibrate/sampling.hpp>

#include <calibrate/fake_device.hpp>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

namespace emplace::calibrate::sampling_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Sampling, SumsUpByTheMedian) {
  const TimedRun odd[] = {{.us = 9}, {.us = 10}, {.us = 14}};
  EXPECT_EQ(summarize(odd).median_us, 10);
  // Deviations 1, 0 and 4, whose median is 1; 1.4826 makes a standard deviation of it.
  EXPECT_NEAR(summarize(odd).relative_deviation, 0.14826, 1e-5);
  const TimedRun even[] = {{.us = 4}, {.us = 1}, {.us = 3}, {.us = 2}};
  EXPECT_EQ(summarize(even).median_us, 2.5);
  EXPECT_EQ(summarize({}).runs, 0);
}

TEST(Sampling, DropsRunsThatTellNothingAndCountsThem) {
  const TimedRun runs[] = {{.us = 10},
                           {.us = 500, .quality = RunQuality::kThrottled},
                           {.us = 0, .quality = RunQuality::kLost},
                           {.us = 10},
                           {.us = 31}};  // over three times the median: interrupted
  const Summary summary = summarize(runs);
  EXPECT_EQ(summary.median_us, 10);
  EXPECT_EQ(summary.relative_deviation, 0);
  EXPECT_EQ(summary.runs, 2);
  EXPECT_EQ(summary.throttled, 1);
  EXPECT_EQ(summary.lost, 1);
  EXPECT_EQ(summary.interrupted, 1);
}

TEST(Sampling, KeepsThrottledRunsWhereThereAreNoOthers) {
  const TimedRun runs[] = {{.us = 20, .quality = RunQuality::kThrottled},
                           {.us = 20, .quality = RunQuality::kThrottled},
                           {.us = 0, .quality = RunQuality::kLost}};
  const Summary summary = summarize(runs);
  EXPECT_EQ(summary.median_us, 20);
  EXPECT_EQ(summary.runs, 2);
  EXPECT_EQ(summary.throttled, 2);
  EXPECT_TRUE(summary.below_clock);
}

OpSite site(const char* kind) { return {.op = {.name = "op", .kind = kind, .shape = {100}}}; }

Summary measured_relu(ComputeDevice& device) {
  const OpSite sites[] = {site("relu")};
  return measure_ops(device, sites, {}, kSilent).samples.at(0).time;
}

TEST(Sampling, StopsWhenToldAndKeepsWhatWasMeasured) {
  FakeDevice device("cpu:0");
  device.next_run = [] { return TimedRun{.us = 12}; };
  std::vector<OpSite> sites = {site("relu"), site("add"), site("mul"), site("tanh")};
  sites[0].op.flops = 30'000'000;  // guessed to take as long as the other three: 1 + 3 of 7
  std::atomic<bool> stop{false};
  std::vector<double> done;
  const OpSamples samples =
      measure_ops(device, sites, {.stop = &stop}, [&](const ProgressNote& note) {
        done.push_back(note.done);
        stop = note.what.find("op 3 of 4") != std::string::npos;
      });
  EXPECT_EQ(samples.samples.size(), 2);
  EXPECT_EQ(samples.not_measured, 2);
  ASSERT_EQ(done.size(), 3);
  EXPECT_EQ(done[0], 0);
  EXPECT_DOUBLE_EQ(done[1], 4.0 / 7);

  FakeDevice other("cpu:1");
  ComputeDevice* const devices[] = {&device, &other};
  EXPECT_FALSE(measure_copies(devices, {.stop = &stop}, kSilent).is_complete);
}

TEST(Sampling, LeavesOutWhatIsMeasuredWhileItIsStopped) {
  std::atomic<bool> stop{false};
  int runs_left = 30;
  FakeDevice device("cpu:0");
  device.next_run = [&] {
    stop = --runs_left <= 0;
    return TimedRun{.us = 12};
  };
  // Each is run ten times, and once to warm up.
  const SamplingOptions options{.warm_up_runs = 1, .runs = 10, .stop = &stop};
  const OpSite sites[] = {site("relu"), site("add"), site("mul"), site("tanh")};
  const OpSamples samples = measure_ops(device, sites, options, kSilent);
  EXPECT_EQ(samples.samples.size(), 2);
  EXPECT_EQ(samples.not_measured, 2);

  stop = false;
  runs_left = 30;
  FakeDevice other("cpu:1");
  ComputeDevice* const devices[] = {&other, &device};  // copies are timed where they go
  const CopySamples copies = measure_copies(devices, options, kSilent);
  EXPECT_FALSE(copies.is_complete);
  EXPECT_EQ(copies.samples.size(), 2);
}

TEST(Sampling, EndsWhenTheDeviceIsLostAndKeepsWhatWasMeasured) {
  FakeDevice device("gpu:0");
  int ops = 0;
  const Progress count = [&](const ProgressNote&) { ++ops; };
  device.next_run = [&] {
    if (ops == 2) {
      throw DeviceFailure("no such algorithm");
    }
    if (ops == 3) {
      throw DeviceLost("an illegal address");
    }
    return TimedRun{.us = 12};
  };
  const OpSite sites[] = {site("relu"), site("add"), site("mul"), site("tanh")};
  const OpSamples samples = measure_ops(device, sites, {}, count);
  EXPECT_EQ(samples.samples.size(), 1);
  EXPECT_THAT(samples.unstable,
              ElementsAre(HasSubstr("no such algorithm"), HasSubstr("an illegal address")));
  EXPECT_EQ(samples.not_measured, 2);
}

TEST(Sampling, MeasuresEachOpAndTellsWhatNothingRuns) {
  FakeDevice device("cpu:0");
  device.unsupported = "task";
  device.next_run = [] { return TimedRun{.us = 12}; };
  const OpSite sites[] = {site("relu"), site("task")};
  std::vector<std::string> told;
  const OpSamples result =
      measure_ops(device, sites, {}, [&](const ProgressNote& note) { told.push_back(note.what); });
  ASSERT_EQ(result.samples.size(), 1);
  EXPECT_EQ(result.samples[0].site.op.kind, "relu");
  EXPECT_EQ(result.samples[0].library, "generic");
  EXPECT_EQ(result.samples[0].time.median_us, 12);
  EXPECT_EQ(result.samples[0].time.runs, 20);
  ASSERT_EQ(result.unsupported.size(), 1);
  EXPECT_EQ(result.unsupported[0].op.kind, "task");
  EXPECT_THAT(told, ElementsAre("cpu:0: op 1 of 2: relu [100]", "cpu:0: op 2 of 2: task [100]"));
}

TEST(Sampling, MeasuresAgainWhereRunsDisagreeAndKeepsTheBest) {
  FakeDevice device("cpu:0");
  std::int32_t calls = 0;
  // 3 runs of warm-up and 20 that alternate, then quiet.
  device.next_run = [&] { return TimedRun{.us = ++calls <= 23 && calls % 2 == 0 ? 20.0 : 10.0}; };
  const Summary time = measured_relu(device);
  EXPECT_EQ(time.runs, 40);  // twice as many the second time
  EXPECT_EQ(time.relative_deviation, 0);
}

// Of 20 runs the profiler keeps one, of 40 all, which differ by 20 %, of 80 one again.
TEST(Sampling, PrefersManyRunsThatDifferToOneThatDoesNot) {
  FakeDevice device("cpu:0");
  std::int32_t calls = -3;  // of warm-up
  device.next_run = [&] {
    const std::int32_t run = calls++;
    const bool is_kept = run <= 0 || (run >= 20 && run <= 60);
    return TimedRun{.us = run % 2 == 0 ? 10.0 : 12.0,
                    .quality = is_kept ? RunQuality::kGood : RunQuality::kLost};
  };
  const Summary time = measured_relu(device);
  EXPECT_EQ(time.runs, 40);
  EXPECT_EQ(time.median_us, 11);
  EXPECT_EQ(time.lost, 19 + 79);  // of all attempts
}

TEST(Sampling, CountsThrottledRunsOfRejectedAttempts) {
  FakeDevice device("cpu:0");
  std::int32_t calls = -3;  // of warm-up
  device.next_run = [&] {
    const bool is_first = ++calls <= 18;
    return TimedRun{.us = 10, .quality = is_first ? RunQuality::kThrottled : RunQuality::kGood};
  };
  const Summary time = measured_relu(device);
  EXPECT_EQ(time.runs, 40);
  EXPECT_EQ(time.throttled, 18);
}

TEST(Sampling, LeavesOutWhatNeverAgreesAndSaysSo) {
  FakeDevice device("cpu:0");
  std::int32_t calls = 0;
  device.next_run = [&] { return TimedRun{.us = ++calls % 2 == 0 ? 25.0 : 10.0}; };
  const OpSite sites[] = {site("relu")};
  const OpSamples result = measure_ops(device, sites, {}, kSilent);
  EXPECT_THAT(result.samples, IsEmpty());
  EXPECT_THAT(result.unstable, ElementsAre(HasSubstr("relu [100]: ")));
}

TEST(Sampling, KeepsColdAndWarmTimesAndHandsOnEachSampleAtOnce) {
  FakeDevice device("gpu:0");
  device.next_run = [] { return TimedRun{.us = 12, .mhz = 1755}; };
  device.warm_run = {.us = 8};
  int ops = 0;
  std::vector<std::string> handed_on;
  SamplingOptions options;
  options.on_sample = [&](const std::string& name, const OpSample& sample) {
    handed_on.push_back(fmt::format("{} {} {}", name, sample.site.op.kind, ops));
  };
  const OpSite sites[] = {site("relu"), site("add")};
  const OpSamples result = measure_ops(device, sites, options, [&](const ProgressNote&) { ++ops; });
  EXPECT_EQ(result.samples.at(0).time.median_us, 12);
  EXPECT_EQ(result.samples.at(0).warm_us, 8);
  EXPECT_EQ(result.samples.at(0).time.mhz, 1755);
  EXPECT_THAT(handed_on, ElementsAre("gpu:0 relu 1", "gpu:0 add 2"));
}

TEST(Sampling, TellsWhichOpDidNotFit) {
  FakeDevice device("gpu:0");
  device.max_bytes = 1000;
  OpSite large = site("relu");
  large.inputs = {{.shape = {1000}, .bytes = 4000}};
  const OpSamples result = measure_ops(device, std::span(&large, 1), {}, kSilent);
  EXPECT_THAT(result.unstable, ElementsAre("relu [100]: gpu:0: out of memory"));
}

TEST(CopySampling, CoversAllSizesDirectionsAndCompany) {
  FakeDevice devices[] = {FakeDevice("a"), FakeDevice("b"), FakeDevice("c")};
  ComputeDevice* const all[] = {&devices[0], &devices[1], &devices[2]};
  const CopySamples result = measure_copies(all, {.max_copy_bytes = 256}, kSilent);
  // Of each of 6 ordered pairs: 4, 16, 64 and 256 bytes alone, beside the opposite one, and beside
  // the one from the same device to the third.
  EXPECT_EQ(result.samples.size(), 6 * (4 + 1 + 1));
  std::vector<std::string> of_a_to_b;
  for (const CopySample& sample : result.samples) {
    if (sample.from == "a" && sample.to == "b") {
      of_a_to_b.push_back(std::to_string(sample.bytes) + sample.beside);
    }
  }
  EXPECT_THAT(of_a_to_b, ElementsAre("4", "16", "64", "256", "256b>a", "256a>c"));
}

TEST(CopySampling, LooksForSwitchesThatGpusShare) {
  const auto gpu = [](const char* name) { return FakeDevice(name, DeviceKind::kGpu); };
  FakeDevice devices[] = {gpu("a"), gpu("b"), gpu("c"), gpu("d")};
  ComputeDevice* const all[] = {&devices[0], &devices[1], &devices[2], &devices[3]};
  const CopySamples result = measure_copies(all, {.max_copy_bytes = 4}, kSilent);
  std::vector<std::string> beside;
  for (const CopySample& sample : result.samples) {
    if (sample.from == "a" && sample.to == "b" && !sample.beside.empty()) {
      beside.push_back(sample.beside);
    }
  }
  // The way back, from the same GPU, to the same GPU, and between two others.
  EXPECT_THAT(beside, ElementsAre("b>a", "a>c", "c>b", "a>d", "d>b", "c>d"));
}

TEST(CopySampling, TellsWhichMemoryOfTheHostAGpuCopiesFrom) {
  FakeDevice devices[] = {FakeDevice("gpu:0", DeviceKind::kGpu), FakeDevice("cpu:0")};
  ComputeDevice* const all[] = {&devices[0], &devices[1]};
  const CopySamples result = measure_copies(all, {.max_copy_bytes = 4}, kSilent);
  std::vector<std::string> found;
  for (const CopySample& sample : result.samples) {
    const char* const host = sample.host == HostMemory::kPinned     ? " pinned"
                             : sample.host == HostMemory::kPageable ? " pageable"
                                                                    : "";
    found.push_back(sample.from + ">" + sample.to + host +
                    (sample.beside.empty() ? "" : " beside " + sample.beside));
  }
  EXPECT_THAT(found, ElementsAre("gpu:0>gpu:0", "gpu:0>cpu:0 pinned",
                                 "gpu:0>cpu:0 pinned beside cpu:0>gpu:0", "gpu:0>cpu:0 pageable",
                                 "cpu:0>gpu:0 pinned", "cpu:0>gpu:0 pinned beside gpu:0>cpu:0",
                                 "cpu:0>gpu:0 pageable"));
}

TEST(CopySampling, StopsWhereMemoryEnds) {
  FakeDevice devices[] = {FakeDevice("a"), FakeDevice("b")};
  devices[1].max_bytes = 100;
  ComputeDevice* const all[] = {&devices[0], &devices[1]};
  const CopySamples result = measure_copies(all, {.max_copy_bytes = 256}, kSilent);
  EXPECT_EQ(std::ranges::max(result.samples, {}, &CopySample::bytes).bytes, 64);
}

}  // namespace
}  // namespace emplace::calibrate::sampling_test
