#include "robust_fit.hpp"

#include <emplace/calibrate/copy_fit.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace emplace::calibrate {
namespace {

// One line is good enough if its errors are no larger than this on average; two lines must lose at
// most this part of what one loses.
constexpr double kGoodError = 0.05;
constexpr double kWorthACut = 0.5;
constexpr std::size_t kMinPieceSizes = 3;

// Copies of at least this many times the bytes that pass during alpha are bound by bandwidth.
constexpr double kManyAlphas = 4;

struct TimedCopy {
  std::int64_t bytes = 0;
  double us = 0;
};

struct Line {
  double alpha_us = 0;
  double us_per_byte = 0;
  double loss = 0;  // of the samples that it was fitted to
};

Line fit_line(std::span<const TimedCopy> copies) {
  std::vector<Triple> equations;
  for (const TimedCopy& copy : copies) {
    equations.push_back({1 / copy.us, static_cast<double>(copy.bytes) / copy.us, 0});
  }
  const RobustFit fit = fit_robustly<RelativeError>(equations, {0, 1 / kMaxBytesPerUs, 0});
  return {.alpha_us = fit.x[0], .us_per_byte = fit.x[1], .loss = fit.loss};
}

struct LineErrors {
  double mean = 0;
  double max = 0;
};

LineErrors errors_of(const Line& line, std::span<const TimedCopy> copies) {
  LineErrors errors;
  for (const TimedCopy& copy : copies) {
    const double us = line.alpha_us + static_cast<double>(copy.bytes) * line.us_per_byte;
    const double error = std::abs(us / copy.us - 1);
    errors.mean += error / static_cast<double>(copies.size());
    errors.max = std::max(errors.max, error);
  }
  return errors;
}

std::size_t count_sizes(std::span<const TimedCopy> copies) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < copies.size(); ++at) {
    count += at == 0 || copies[at].bytes != copies[at - 1].bytes ? 1 : 0;
  }
  return count;
}

// Returns where two lines for the copies, sorted by size, part best; 0 if one line does.
std::size_t best_cut(std::span<const TimedCopy> copies, const Line& line) {
  if (errors_of(line, copies).mean <= kGoodError) {
    return 0;
  }
  std::size_t best = 0;
  double least = kWorthACut * line.loss;
  for (std::size_t cut = 1; cut < copies.size(); ++cut) {
    const auto small = copies.first(cut);
    const auto large = copies.subspan(cut);
    if (copies[cut].bytes == copies[cut - 1].bytes || count_sizes(small) < kMinPieceSizes ||
        count_sizes(large) < kMinPieceSizes) {
      continue;
    }
    const double loss = fit_line(small).loss + fit_line(large).loss;
    if (loss < least) {
      least = loss;
      best = cut;
    }
  }
  return best;
}

std::string name_of(const CopySample& sample) { return sample.from + '>' + sample.to; }

bool was_measured(const CopySample& sample) {
  return sample.time.runs > 0 && sample.time.median_us > 0;
}

CopyCost fit_cost(std::span<const TimedCopy> copies) {
  CopyCost cost;
  cost.samples = static_cast<std::int32_t>(copies.size());
  const Line line = fit_line(copies);
  cost.alpha_us = line.alpha_us;
  cost.bytes_per_us = 1 / line.us_per_byte;
  const LineErrors errors = errors_of(line, copies);
  cost.mean_error = errors.mean;
  cost.max_error = errors.max;
  const auto add_piece = [&](std::span<const TimedCopy> part) {
    const Line piece = fit_line(part);
    cost.pieces.push_back({.from_bytes = cost.pieces.empty() ? 0 : part.front().bytes,
                           .alpha_us = piece.alpha_us,
                           .bytes_per_us = 1 / piece.us_per_byte});
  };
  const std::size_t cut = best_cut(copies, line);
  if (cut > 0) {
    add_piece(copies.first(cut));
  }
  add_piece(copies.subspan(cut));
  return cost;
}

// A copy that ran beside another, or alone (no `beside`).
using CopyKey = std::tuple<std::string, std::string, HostMemory, std::int64_t>;

CopyKey key_of(const CopySample& sample) {
  return {name_of(sample), sample.beside, sample.host, sample.bytes};
}

// Two copies of one size at the same time, and each of them alone.
struct Overlap {
  std::int64_t bytes = 0;
  double together_us = 0;  // until both have ended
  double slow_us = 0;      // alone
  double fast_us = 0;
  bool many_bytes = false;  // enough for bandwidth to count

  double delay() const { return (together_us - slow_us) / fast_us; }
};

class PairFinder {
 public:
  PairFinder(std::span<const CopySample> samples, const std::vector<CopyCost>& costs)
      : costs_(costs) {
    for (const CopySample& sample : samples) {
      if (was_measured(sample)) {
        by_key_.insert_or_assign(key_of(sample), &sample);
      }
    }
  }

  std::vector<CopyPair> find() {
    for (const auto& [key, sample] : by_key_) {
      if (sample->beside.empty() || sample->beside <= name_of(*sample)) {
        continue;
      }
      for (const HostMemory host :
           {HostMemory::kNone, HostMemory::kPinned, HostMemory::kPageable}) {
        // Copies of which one end is the host use the same memory of it.
        const bool same =
            sample->host == host || sample->host == HostMemory::kNone || host == HostMemory::kNone;
        const CopySample* other =
            find_sample({sample->beside, name_of(*sample), host, sample->bytes});
        if (same && other != nullptr) {
          meet(*sample, *other);
        }
      }
    }
    std::vector<CopyPair> pairs;
    pairs.reserve(overlaps_.size());
    for (const auto& [key, overlaps] : overlaps_) {
      pairs.push_back(fit_pair(key, overlaps));
    }
    return pairs;
  }

 private:
  struct PairKey {
    std::string one{};
    std::string other{};
    HostMemory host = HostMemory::kNone;
    bool reverse = false;

    // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 15 takes the 0 behind <=> for a pointer
    auto operator<=>(const PairKey&) const = default;
  };

  const CopySample* find_sample(const CopyKey& key) const {
    const auto found = by_key_.find(key);
    return found != by_key_.end() ? found->second : nullptr;
  }

  const CopyCost* find_cost(const CopySample& sample) const {
    const auto found = std::ranges::find_if(costs_, [&](const CopyCost& cost) {
      return cost.from == sample.from && cost.to == sample.to && cost.host == sample.host;
    });
    return found != costs_.end() ? &*found : nullptr;
  }

  void meet(const CopySample& one, const CopySample& other) {
    const auto alone = [&](const CopySample& sample) {
      return find_sample({name_of(sample), "", sample.host, sample.bytes});
    };
    const CopySample* one_alone = alone(one);
    const CopySample* other_alone = alone(other);
    if (one_alone == nullptr || other_alone == nullptr) {
      return;
    }
    const auto [fast_us, slow_us] =
        std::minmax(one_alone->time.median_us, other_alone->time.median_us);
    const auto many_bytes = [&](const CopySample& sample) {
      const CopyCost* cost = find_cost(sample);
      return cost != nullptr &&
             static_cast<double>(sample.bytes) >= kManyAlphas * cost->alpha_us * cost->bytes_per_us;
    };
    overlaps_[{.one = name_of(one),
               .other = name_of(other),
               .host = std::max(one.host, other.host),
               .reverse = one.from == other.to && one.to == other.from}]
        .push_back({.bytes = one.bytes,
                    .together_us = std::max(one.time.median_us, other.time.median_us),
                    .slow_us = slow_us,
                    .fast_us = fast_us,
                    .many_bytes = many_bytes(one) && many_bytes(other)});
  }

  // Decides by the sizes at which bandwidth counts, or else by the largest.
  static CopyPair fit_pair(const PairKey& key, std::vector<Overlap> overlaps) {
    std::ranges::sort(overlaps, {}, &Overlap::bytes);
    std::vector<Overlap> telling;
    std::ranges::copy_if(overlaps, std::back_inserter(telling), &Overlap::many_bytes);
    if (telling.empty()) {
      telling.push_back(overlaps.back());
    }
    const Overlap largest = telling.back();
    std::ranges::sort(telling, {}, &Overlap::delay);
    const Overlap& median = telling[(telling.size() - 1) / 2];
    CopyPair pair{.one = key.one, .other = key.other, .host = key.host, .reverse = key.reverse};
    pair.delay = median.delay();
    pair.shared = pair.delay >= kSharedFrom;
    pair.bytes_per_us = 2 * static_cast<double>(largest.bytes) / largest.together_us;
    pair.why = fmt::format(
        "{} and {} {}: of {} bytes they take {:.4g} us together, alone {:.4g} and {:.4g} us, a "
        "delay of {:.2f} (median of {} sizes)",
        pair.one, pair.other,
        !pair.shared   ? "do not disturb each other"
        : pair.reverse ? "share a link of half duplex"
                       : "share a link",
        median.bytes, median.together_us, median.slow_us, median.fast_us, pair.delay,
        telling.size());
    return pair;
  }

  const std::vector<CopyCost>& costs_;
  std::map<CopyKey, const CopySample*> by_key_;
  std::map<PairKey, std::vector<Overlap>> overlaps_;
};

}  // namespace

CopyFit fit_copies(std::span<const CopySample> samples) {
  std::map<std::tuple<std::string, std::string, HostMemory>, std::vector<TimedCopy>> alone;
  for (const CopySample& sample : samples) {
    if (was_measured(sample) && sample.beside.empty()) {
      alone[{sample.from, sample.to, sample.host}].push_back(
          {.bytes = sample.bytes, .us = sample.time.median_us});
    }
  }
  CopyFit fit;
  for (auto& [key, copies] : alone) {
    std::ranges::sort(copies, {},
                      [](const TimedCopy& copy) { return std::pair(copy.bytes, copy.us); });
    if (count_sizes(copies) >= 2) {
      CopyCost cost = fit_cost(copies);
      std::tie(cost.from, cost.to, cost.host) = key;
      fit.costs.push_back(std::move(cost));
    }
  }
  fit.pairs = PairFinder(samples, fit.costs).find();
  return fit;
}

}  // namespace emplace::calibrate
