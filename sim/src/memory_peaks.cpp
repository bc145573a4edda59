#include "memory_peaks.hpp"

#include <algorithm>
#include <cmath>

namespace emplace {
namespace {

constexpr std::int32_t kShortSlice = 8;  // searched one by one

}  // namespace

void MemoryPeaks::reserve(std::size_t ops) {
  first_in_slice_.reserve(ops + 2);
  freed_before_.reserve(ops + 1);
}

std::int64_t MemoryPeaks::peak(std::span<const double> start_us, std::span<const double> free_us,
                               std::span<const std::int64_t> bytes) {
  const std::size_t n = start_us.size();
  if (n == 0) {
    return 0;
  }
  // As many slices as ops, from the first start to the last; later frees come after every
  // allocation.
  const double first_us = start_us.front();
  const double span_us = start_us.back() - first_us;
  const double quotient = span_us > 0 ? static_cast<double>(n - 1) / span_us : 0.0;
  const double slices_per_us = std::isfinite(quotient) ? quotient : 0.0;
  const auto slice_of = [&](double time_us) {
    return std::min(static_cast<std::size_t>((time_us - first_us) * slices_per_us), n - 1);
  };
  first_in_slice_.assign(n + 1, static_cast<std::int32_t>(n));
  for (std::size_t position = n; position-- > 0;) {
    first_in_slice_[slice_of(start_us[position])] = static_cast<std::int32_t>(position);
  }
  for (std::size_t slice = n; slice-- > 0;) {
    first_in_slice_[slice] = std::min(first_in_slice_[slice], first_in_slice_[slice + 1]);
  }

  freed_before_.assign(n + 1, 0);
  const double last_us = start_us.back();
  for (std::size_t position = 0; position < n; ++position) {
    const double freed_us = free_us[position];
    if (bytes[position] == 0 || freed_us >= last_us) {
      continue;
    }
    const std::size_t slice = slice_of(freed_us);
    std::int32_t later = first_in_slice_[slice];
    if (const std::int32_t end = first_in_slice_[slice + 1]; end - later > kShortSlice) {
      later = static_cast<std::int32_t>(
          std::upper_bound(start_us.begin() + later, start_us.begin() + end, freed_us) -
          start_us.begin());
    } else {
      // Mostly two steps, which cannot be foreseen; the last start ends the search at the latest.
      const double* const starts = start_us.data();
      later += starts[later] <= freed_us;
      later += starts[later] <= freed_us;
      while (starts[later] <= freed_us) {
        ++later;
      }
    }
    freed_before_[static_cast<std::size_t>(later)] += bytes[position];
  }

  std::int64_t live = 0;
  std::int64_t peak = 0;
  for (std::size_t position = 0; position < n; ++position) {
    live += bytes[position] - freed_before_[position];
    peak = std::max(peak, live);
  }
  return peak;
}

}  // namespace emplace
