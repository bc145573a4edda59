#include "memory_peaks.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace emplace::placeto_model {
namespace {

constexpr std::int32_t kShortSlice = 8;  // searched one by one

}  // namespace

void MemoryPeaks::reserve(std::size_t ops) {
  start_slices_.reserve(ops);
  free_slices_.reserve(ops);
  first_in_slice_.reserve(ops + 2);
  freed_before_.reserve(ops + 1);
  later_.resize(ops);
  position_.resize(ops + 1, std::numeric_limits<std::int32_t>::max());
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
  const double last_us = start_us.back();
  const double span_us = last_us - first_us;
  const double quotient = span_us > 0 ? static_cast<double>(n - 1) / span_us : 0.0;
  const double slices_per_us = std::isfinite(quotient) ? quotient : 0.0;
  const auto slice_of = [=](double time_us) {
    return static_cast<std::int32_t>((time_us - first_us) * slices_per_us);
  };
  start_slices_.resize(n);
  free_slices_.resize(n);
  std::transform(start_us.begin(), start_us.end(), start_slices_.begin(), slice_of);
  std::transform(free_us.begin(), free_us.end(), free_slices_.begin(),
                 [=](double time_us) { return slice_of(std::min(time_us, last_us)); });

  auto first = static_cast<std::int32_t>(n);
  first_in_slice_.assign(n + 1, first);
  for (std::int32_t position = first; position-- > 0;) {
    first_in_slice_[start_slices_[position]] = position;
  }
  for (std::size_t slice = n; slice-- > 0;) {
    first = std::min(first, first_in_slice_[slice]);
    first_in_slice_[slice] = first;
  }

  freed_before_.assign(n + 1, 0);
  for (std::size_t position = 0; position < n; ++position) {
    const double freed_us = free_us[position];
    if (freed_us >= last_us) {
      free_slices_[position] = static_cast<std::int32_t>(n);
      continue;
    }
    const std::int32_t slice = free_slices_[position];
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
    freed_before_[later] += bytes[position];
    free_slices_[position] = later;
  }

  std::int64_t live = 0;
  std::int64_t peak = 0;
  for (std::size_t position = 0; position < n; ++position) {
    live += bytes[position] - freed_before_[position];
    peak = std::max(peak, live);
  }
  return peak;
}

void MemoryPeaks::remember(std::span<const OpId> ops) {
  for (std::size_t position = 0; position < ops.size(); ++position) {
    const auto later = static_cast<std::size_t>(free_slices_[position]);
    later_[ops[position]] = later < ops.size() ? ops[later] : sentinel();
  }
}

std::int64_t MemoryPeaks::peak_again(std::span<const double> start_us,
                                     std::span<const double> free_us,
                                     std::span<const std::int64_t> bytes,
                                     std::span<const OpId> ops) {
  const std::size_t n = ops.size();
  for (std::size_t position = 0; position < n; ++position) {
    position_[ops[position]] = static_cast<std::int32_t>(position);
  }
  freed_before_.assign(n + 1, 0);
  std::int64_t live = 0;
  std::int64_t peak = 0;
  for (std::size_t position = 0; position < n; ++position) {
    live += bytes[position] - freed_before_[position];
    peak = std::max(peak, live);
    // What is remembered may be on another device by now; the times show whether it is right.
    const double freed_us = free_us[position];
    OpId& later_op = later_[ops[position]];
    std::size_t later = std::clamp(static_cast<std::size_t>(position_[later_op]), position + 1, n);
    if (start_us[later - 1] > freed_us || (later < n && start_us[later] <= freed_us)) [[unlikely]] {
      later = static_cast<std::size_t>(
          std::upper_bound(start_us.begin(), start_us.end(), freed_us) - start_us.begin());
      later_op = later < n ? ops[later] : sentinel();
    }
    freed_before_[later] += bytes[position];
  }
  return peak;
}

}  // namespace emplace::placeto_model
