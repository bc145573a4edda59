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
  // Of the samples that it was fitted to.
  double loss = 0;
  double mean_error = 0;
  double max_error = 0;
};

Line fit_line(std::span<const TimedCopy> copies) {
  std::vector<Triple> equations;
  for (const TimedCopy& copy : copies) {
    equations.push_back({1 / copy.us, static_cast<double>(copy.bytes) / copy.us, 0});
  }
  const RobustFit fit = fit_robustly<RelativeError>(equations, {0, 1 / kMaxBytesPerUs, 0});
  Line line{.alpha_us = fit.x[0], .us_per_byte = fit.x[1], .loss = fit.loss};
  for (const TimedCopy& copy : copies) {
    const double us = line.alpha_us + static_cast<double>(copy.bytes) * line.us_per_byte;
    const double error = std::abs(us / copy.us - 1);
    line.mean_error += error / static_cast<double>(copies.size());
    line.max_error = std::max(line.max_error, error);
  }
  return line;
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
  if (line.mean_error <= kGoodError) {
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
  const Line line = fit_line(copies);
  CopyCost cost{.alpha_us = line.alpha_us,
                .bytes_per_us = 1 / line.us_per_byte,
                .samples = static_cast<std::int32_t>(copies.size()),
                .mean_error = line.mean_error,
                .max_error = line.max_error};
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

// Two copies of one size at the same time, and each of them alone.
struct Overlap {
  std::int64_t bytes = 0;
  double together_us = 0;  // until both have ended
  double slow_us = 0;      // alone
  double fast_us = 0;
  bool many_bytes = false;  // enough for bandwidth to count

  double delay() const { return (together_us - slow_us) / fast_us; }
};

// Decides by the sizes at which bandwidth counts, or else by the largest.
void fit_pair(CopyPair& pair, std::vector<Overlap> overlaps) {
  std::ranges::sort(overlaps, {}, &Overlap::bytes);
  std::vector<Overlap> telling;
  std::ranges::copy_if(overlaps, std::back_inserter(telling), &Overlap::many_bytes);
  if (telling.empty()) {
    telling.push_back(overlaps.back());
  }
  const Overlap largest = telling.back();
  std::ranges::sort(telling, {}, &Overlap::delay);
  const Overlap& median = telling[(telling.size() - 1) / 2];
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
      median.bytes, median.together_us, median.slow_us, median.fast_us, pair.delay, telling.size());
}

std::vector<CopyPair> find_pairs(std::span<const CopySample> samples,
                                 std::span<const CopyCost> costs) {
  // By copy, the one that ran beside it or none, the host's memory, and bytes.
  std::map<std::tuple<std::string, std::string, HostMemory, std::int64_t>, const CopySample*>
      by_key;
  for (const CopySample& sample : samples) {
    if (was_measured(sample)) {
      by_key.insert_or_assign({name_of(sample), sample.beside, sample.host, sample.bytes}, &sample);
    }
  }
  const auto find = [&](const std::string& copy, const std::string& beside, HostMemory host,
                        std::int64_t bytes) -> const CopySample* {
    const auto found = by_key.find({copy, beside, host, bytes});
    return found != by_key.end() ? found->second : nullptr;
  };
  const auto has_many_bytes = [&](const CopySample& sample) {
    return std::ranges::any_of(costs, [&](const CopyCost& cost) {
      return cost.from == sample.from && cost.to == sample.to && cost.host == sample.host &&
             static_cast<double>(sample.bytes) >= kManyAlphas * cost.alpha_us * cost.bytes_per_us;
    });
  };
  std::map<std::tuple<std::string, std::string, HostMemory, bool>, std::vector<Overlap>> overlaps;
  for (const auto& entry : by_key) {
    const CopySample& one = *entry.second;
    const std::string name = name_of(one);
    if (one.beside.empty() || one.beside <= name) {
      continue;
    }
    for (const HostMemory host : {HostMemory::kNone, HostMemory::kPinned, HostMemory::kPageable}) {
      const CopySample* const other = find(one.beside, name, host, one.bytes);
      const CopySample* const one_alone = find(name, "", one.host, one.bytes);
      const CopySample* const other_alone = find(one.beside, "", host, one.bytes);
      // Copies of which one end is the host use the same memory of it.
      const bool is_same =
          one.host == host || one.host == HostMemory::kNone || host == HostMemory::kNone;
      if (!is_same || other == nullptr || one_alone == nullptr || other_alone == nullptr) {
        continue;
      }
      const auto [fast_us, slow_us] =
          std::minmax(one_alone->time.median_us, other_alone->time.median_us);
      const bool is_reverse = one.from == other->to && one.to == other->from;
      overlaps[{name, one.beside, std::max(one.host, host), is_reverse}].push_back(
          {.bytes = one.bytes,
           .together_us = std::max(one.time.median_us, other->time.median_us),
           .slow_us = slow_us,
           .fast_us = fast_us,
           .many_bytes = has_many_bytes(one) && has_many_bytes(*other)});
    }
  }
  std::vector<CopyPair> pairs;
  for (const auto& [key, of_pair] : overlaps) {
    CopyPair& pair = pairs.emplace_back();
    std::tie(pair.one, pair.other, pair.host, pair.reverse) = key;
    fit_pair(pair, of_pair);
  }
  return pairs;
}

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
  fit.pairs = find_pairs(samples, fit.costs);
  return fit;
}

}  // namespace emplace::calibrate
