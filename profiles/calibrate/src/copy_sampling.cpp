#include "measure.hpp"

#include <emplace/calibrate/sampling.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace emplace::calibrate {
namespace {

// Links are shared or not whatever the size, and latencies do not blur large copies.
constexpr std::int64_t kBesideBytes = std::int64_t{64} << 20;
constexpr std::int64_t kSmallestBytes = 4;
constexpr std::int64_t kSizeFactor = 4;

// By HostMemory.
constexpr std::array<std::string_view, 3> kHostMemories = {"", " (pinned)", " (pageable)"};

// From which device to which.
struct Pair {
  ComputeDevice* from;
  ComputeDevice* to;
  HostMemory host;
};

std::string name_of(const Pair& pair) {
  return fmt::format("{}>{}", pair.from->facts().name, pair.to->facts().name);
}

// Memory at both ends of a copy.
class CopyMemory {
 public:
  CopyMemory(const Pair& pair, std::int64_t bytes)
      : from_(allocate(*pair.from, *pair.to, pair.host, bytes)),
        to_(allocate(*pair.to, *pair.from, pair.host, bytes)) {}

  Copy copy() const { return {.to = to_->data(), .from = from_->data(), .bytes = to_->bytes()}; }

 private:
  static std::unique_ptr<Memory> allocate(ComputeDevice& device, ComputeDevice& peer,
                                          HostMemory host, std::int64_t bytes) {
    if (host != HostMemory::kNone && !is_gpu(&device)) {
      return peer.allocate_on_host(bytes, host == HostMemory::kPinned);
    }
    return device.allocate(bytes, true);
  }

  std::unique_ptr<Memory> from_;
  std::unique_ptr<Memory> to_;
};

class CopySampler {
 public:
  CopySampler(const SamplingOptions& options, const Progress& progress, CopySamples& result)
      : options_(options), progress_(progress), result_(result) {}

  // Says how many pairs of devices there are, for the progress.
  void begin_pair(std::size_t pair, std::size_t pairs) {
    done_ = static_cast<double>(pair) / static_cast<double>(pairs);
  }

  // Measures `pair` alone, as far as there is memory.
  void measure_sizes(const Pair& pair) {
    for (std::int64_t bytes = kSmallestBytes; bytes <= options_.max_copy_bytes;
         bytes *= kSizeFactor) {
      if (!measure_pair(pair, nullptr, bytes)) {
        break;
      }
    }
  }

  // Measures `pair`, and where `beside` is not null that copy at the same time, of as many bytes.
  // Returns false if there is no memory for so many, or measuring is to end.
  bool measure_pair(const Pair& pair, const Pair* beside, std::int64_t bytes) {
    if (options_.is_stopped()) {
      result_.is_complete = false;
      return false;
    }
    const std::string what = fmt::format(
        "copy {}{}{}, {} bytes", name_of(pair), kHostMemories[static_cast<std::size_t>(pair.host)],
        beside != nullptr ? " together with " + name_of(*beside) : "", bytes);
    progress_({.what = what, .done = done_});
    std::vector<CopyMemory> memory;
    try {
      memory.emplace_back(pair, bytes);
      if (beside != nullptr) {
        memory.emplace_back(*beside, bytes);
      }
    } catch (const DeviceFailure&) {
      return false;
    }
    std::vector<Copy> copies;
    std::ranges::transform(memory, std::back_inserter(copies), &CopyMemory::copy);
    // A GPU times its copies, and those beside them; of two CPUs either does.
    ComputeDevice& timer = is_gpu(pair.from) ? *pair.from : *pair.to;
    try {
      timer.time_copies(copies, options_.warm_up_runs);
      const Summary summary = measure(
          options_, [&](std::int32_t runs) { return timer.time_copies(copies, runs).front(); });
      if (options_.is_stopped()) {
        result_.is_complete = false;  // this copy has fewer runs than were wanted
        return false;
      }
      if (const std::string why = why_unstable(summary, options_); !why.empty()) {
        throw DeviceFailure(why);
      }
      result_.samples.push_back({.from = pair.from->facts().name,
                                 .to = pair.to->facts().name,
                                 .host = pair.host,
                                 .bytes = bytes,
                                 .beside = beside != nullptr ? name_of(*beside) : "",
                                 .time = summary});
    } catch (const DeviceFailure& failure) {
      result_.unstable.push_back(fmt::format("{}: {}", what, failure.what()));
    }
    return true;
  }

 private:
  const SamplingOptions& options_;
  const Progress& progress_;
  CopySamples& result_;
  double done_ = 0;
};

// Pinned and pageable where the host's memory is one end of a GPU's copy.
std::vector<HostMemory> host_memories(const ComputeDevice& a, const ComputeDevice& b) {
  if (a.facts().kind == b.facts().kind) {
    return {HostMemory::kNone};
  }
  return {HostMemory::kPinned, HostMemory::kPageable};
}

bool has_gpu(const Pair& one, const Pair& other) {
  return std::ranges::any_of(std::array{one.from, one.to, other.from, other.to}, is_gpu);
}

// Returns the next two devices that have no part in `pair`: copies between them may still share a
// switch with it.
std::optional<Pair> pair_apart(std::span<ComputeDevice* const> devices, const Pair& pair) {
  const auto begin = std::ranges::find(devices, pair.from) - devices.begin();
  std::vector<ComputeDevice*> others;
  for (std::ptrdiff_t i = 1; i < std::ssize(devices); ++i) {
    ComputeDevice* const device =
        devices[static_cast<std::size_t>((begin + i) % std::ssize(devices))];
    if (device != pair.to) {
      others.push_back(device);
    }
  }
  if (others.size() < 2) {
    return std::nullopt;
  }
  return Pair{others[0], others[1], host_memories(*others[0], *others[1]).front()};
}

void measure_messages(std::span<ComputeDevice* const> devices, const SamplingOptions& options,
                      CopySamples& result) {
  for (std::size_t i = 0; i < devices.size(); ++i) {
    for (std::size_t j = i + 1; j < devices.size() && !options.is_stopped(); ++j) {
      try {
        if (const auto us = devices[i]->message_us(*devices[j])) {
          result.messages.push_back(
              {.one = devices[i]->facts().name, .other = devices[j]->facts().name, .us = *us});
        }
      } catch (const DeviceFailure& failure) {
        result.unstable.push_back(fmt::format("messages between {} and {}: {}",
                                              devices[i]->facts().name, devices[j]->facts().name,
                                              failure.what()));
      }
    }
  }
}

}  // namespace

CopySamples measure_copies(std::span<ComputeDevice* const> devices, const SamplingOptions& options,
                           const Progress& progress) {
  CopySamples result;
  CopySampler sampler(options, progress, result);
  // Of a size that is measured alone, too: the two are compared.
  std::int64_t beside_bytes = kSmallestBytes;
  while (beside_bytes * kSizeFactor <= std::min(kBesideBytes, options.max_copy_bytes)) {
    beside_bytes *= kSizeFactor;
  }
  std::size_t pair_number = 0;
  for (ComputeDevice* const from : devices) {
    for (ComputeDevice* const to : devices) {
      sampler.begin_pair(pair_number++, devices.size() * devices.size());
      if (from == to) {
        if (is_gpu(from)) {
          sampler.measure_sizes({from, to, HostMemory::kNone});
        }
        continue;
      }
      for (const HostMemory host : host_memories(*from, *to)) {
        const Pair pair{from, to, host};
        sampler.measure_sizes(pair);
        if (host == HostMemory::kPageable) {
          continue;  // copied to pinned memory first: no link is to be learned from it
        }
        const Pair opposite{to, from, host};
        sampler.measure_pair(pair, &opposite, beside_bytes);
        for (ComputeDevice* const other : devices) {
          if (other != from && other != to) {
            for (const auto& [source, target] : {std::pair(from, other), std::pair(other, to)}) {
              const Pair second{source, target, host_memories(*source, *target).front()};
              if (source == from || has_gpu(pair, second)) {
                sampler.measure_pair(pair, &second, beside_bytes);
              }
            }
          }
        }
        if (const auto apart = pair_apart(devices, pair); apart && has_gpu(pair, *apart)) {
          sampler.measure_pair(pair, &*apart, beside_bytes);
        }
      }
    }
  }
  measure_messages(devices, options, result);
  return result;
}

}  // namespace emplace::calibrate
