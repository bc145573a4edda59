#include "sim/src/placeto_model/memory_peaks.hpp"

#include <emplace/base/random.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <tuple>
#include <vector>

namespace emplace::placeto_model::memory_peaks_test {
namespace {

// Follows the rule to the letter: sort all changes by time, allocations before frees, and add up.
std::int64_t peak_by_sorting(const std::vector<double>& start_us,
                             const std::vector<double>& free_us,
                             const std::vector<std::int64_t>& bytes) {
  std::vector<std::tuple<double, bool, std::int64_t>> changes;
  for (std::size_t op = 0; op < bytes.size(); ++op) {
    changes.emplace_back(start_us[op], false, bytes[op]);
    changes.emplace_back(free_us[op], true, -bytes[op]);
  }
  std::sort(changes.begin(), changes.end());
  std::int64_t live = 0;
  std::int64_t peak = 0;
  for (const auto& [time_us, is_free, change] : changes) {
    live += change;
    peak = std::max(peak, live);
  }
  return peak;
}

TEST(MemoryPeaks, NothingNeedsNothing) { EXPECT_EQ(MemoryPeaks().peak({}, {}, {}), 0); }

TEST(MemoryPeaks, AllocationsComeBeforeFreesAtOneInstant) {
  const std::vector<double> starts{0, 10};
  const std::vector<std::int64_t> bytes{100, 30};
  EXPECT_EQ(MemoryPeaks().peak(starts, std::vector<double>{10, 20}, bytes), 130);
  EXPECT_EQ(MemoryPeaks().peak(starts, std::vector<double>{9.5, 20}, bytes), 100);
}

TEST(MemoryPeaks, StartsAtOneInstantAddUp) {
  const std::vector<double> starts{5, 5, 5};
  const std::vector<std::int64_t> bytes{1, 2, 4};
  EXPECT_EQ(MemoryPeaks().peak(starts, starts, bytes), 7);
}

TEST(MemoryPeaks, EqualsSortingAllChangesOnRandomSteps) {
  MemoryPeaks memory;
  RandomStream random(7);
  for (int round = 0; round < 2000; ++round) {
    const std::size_t n = 1 + random.below(60);
    // Few distinct times make ties; a wide range makes nearly all starts fall into one slice.
    const double scale = round % 3 == 0 ? 1.0 : round % 3 == 1 ? 1e-3 : 1e6;
    std::vector<double> starts;
    std::vector<double> frees;
    std::vector<std::int64_t> bytes;
    for (std::size_t op = 0; op < n; ++op) {
      starts.push_back(static_cast<double>(random.below(20)) * (op % 7 == 0 ? scale : 1.0));
    }
    std::sort(starts.begin(), starts.end());
    for (std::size_t op = 0; op < n; ++op) {
      frees.push_back(starts[op] + static_cast<double>(random.below(15)));
      bytes.push_back(static_cast<std::int64_t>(random.below(5)) * 100);
    }
    ASSERT_EQ(memory.peak(starts, frees, bytes), peak_by_sorting(starts, frees, bytes));
  }
}

TEST(MemoryPeaks, RemembersAStepAndIsRightAboutAnother) {
  constexpr std::size_t kOps = 50;
  MemoryPeaks memory;
  memory.reserve(kOps);
  RandomStream random(8);
  for (int round = 0; round < 2000; ++round) {
    // Each step has some of the ops, in another order each time, so that mostly nothing of what is
    // remembered is right; every other step is the one before, a little later here and there.
    std::vector<OpId> ops(kOps);
    std::iota(ops.begin(), ops.end(), 0);
    random.shuffle(std::span(ops));
    ops.resize(1 + random.below(kOps));
    std::vector<double> starts;
    std::vector<double> frees;
    std::vector<std::int64_t> bytes;
    for (std::size_t op = 0; op < ops.size(); ++op) {
      starts.push_back(static_cast<double>(random.below(40)));
      bytes.push_back(1 + static_cast<std::int64_t>(random.below(5)) * 100);
    }
    std::sort(starts.begin(), starts.end());
    for (const double start : starts) {
      frees.push_back(start + static_cast<double>(random.below(15)));
    }
    ASSERT_EQ(memory.peak_again(starts, frees, bytes, ops), peak_by_sorting(starts, frees, bytes));
    for (std::size_t op = ops.size() / 2; op < ops.size(); ++op) {
      starts[op] += 0.5;
      frees[op] += 0.5 + static_cast<double>(random.below(3));
    }
    ASSERT_EQ(memory.peak_again(starts, frees, bytes, ops), peak_by_sorting(starts, frees, bytes));
    ASSERT_EQ(memory.peak(starts, frees, bytes), peak_by_sorting(starts, frees, bytes));
    memory.remember(ops);
  }
}

TEST(MemoryPeaks, StandsTimesThatAreAlmostEqual) {
  const double next = std::numeric_limits<double>::denorm_min();
  const std::vector<double> starts{0, next};
  EXPECT_EQ(MemoryPeaks().peak(starts, std::vector<double>{0, 1}, std::vector<std::int64_t>{3, 4}),
            4);
}

}  // namespace
}  // namespace emplace::placeto_model::memory_peaks_test
