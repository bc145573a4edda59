#include "tie_breaking.hpp"

#include <algorithm>
#include <utility>

namespace emplace::placeto_model {
namespace {

// The orders of EventLoop::EventKey, with the place of the producer where those have a count of
// deliveries that took no time. Places count such deliveries on one device; only the events of that
// time can put those from elsewhere among them.
constexpr std::uint64_t kAtOnceByChannel = std::uint64_t{1} << 62;
constexpr std::uint64_t kAtOnceAsItComes = std::uint64_t{2} << 62;
constexpr std::uint64_t kFromElsewhere = 2;
constexpr std::uint64_t kUnclear = 1;
constexpr int kPlaceBits = 31;

}  // namespace

TieBreaking::TieBreaking(const Problem& problem, const DispatchSequence& sequence,
                         const StepTimes& times)
    : problem_(problem), sequence_(sequence), times_(times), device_ranks_(problem.num_devices()) {
  for (std::uint64_t rank = 0; const DeviceId device : problem.devices_by_name()) {
    device_ranks_[device] = rank++;
  }
}

TieBreaking::Order TieBreaking::order_of(OpId first, OpId second) const {
  const auto right_if = [](bool holds) { return holds ? Order::kRight : Order::kWrong; };
  const double first_us = sequence_.record_of(first).ready_us;
  const double second_us = sequence_.record_of(second).ready_us;
  if (first_us != second_us) {
    return right_if(first_us < second_us);
  }
  // The two that are common: both from the start, or both by the same delivery.
  if (sequence_.is_root(first) && sequence_.is_root(second)) {
    return right_if(first < second);
  }
  const std::int32_t source = only_source(first);
  if (source != StepTimes::kNone && source == only_source(second)) {
    return right_if(problem_.name_rank(first) < problem_.name_rank(second));
  }
  const std::uint64_t one = tie_order(first);
  const std::uint64_t other = tie_order(second);
  if (std::min(one, other) >= kAtOnceAsItComes) {
    const std::uint64_t unknown_if = one == other ? kUnclear : kUnclear | kFromElsewhere;
    if (((one | other) & unknown_if) != 0) {
      return Order::kUnknown;
    }
  }
  return right_if(is_before(first, second));
}

bool TieBreaking::is_before(OpId first, OpId second) const {
  const double first_us = sequence_.record_of(first).ready_us;
  const double second_us = sequence_.record_of(second).ready_us;
  if (first_us != second_us) {
    return first_us < second_us;
  }
  return std::pair(tie_order(first), problem_.name_rank(first)) <
         std::pair(tie_order(second), problem_.name_rank(second));
}

// Returns the source by which an op is ready, StepTimes::kNone if there are several or it would
// take a search.
std::int32_t TieBreaking::only_source(OpId op) const {
  const DispatchSequence::Row& row = sequence_.rows[op];
  if (row.sources_end - row.sources > DispatchSequence::kBlock) {
    return StepTimes::kNone;
  }
  const double ready_us = sequence_.record_of(op).ready_us;
  const std::int32_t one = sequence_.sources[row.sources];
  const std::int32_t other = sequence_.sources[row.sources + 1];
  const bool is_one = times_.known_us[index_of(one)] == ready_us;
  const bool is_other = times_.known_us[index_of(other)] == ready_us;
  const std::int32_t by_which[] = {StepTimes::kNone, one, other, StepTimes::kNone};
  return by_which[is_one + 2 * is_other];
}

// Returns the order of the last delivery to an op (EventLoop::EventKey).
std::uint64_t TieBreaking::tie_order(OpId op) const {
  if (sequence_.is_root(op)) {
    return static_cast<std::uint64_t>(op);
  }
  const DispatchSequence::Row& row = sequence_.rows[op];
  const double ready_us = sequence_.record_of(op).ready_us;
  std::uint64_t last = 0;
  for (std::int32_t at = row.sources; at < row.sources_end; ++at) {
    const std::int32_t source = sequence_.sources[at];
    if (times_.known_us[index_of(source)] == ready_us) {
      const DispatchSequence::Input& input = sequence_.inputs[at];
      const std::uint64_t order = delivery_order(input, source != input.producer, ready_us);
      const bool is_unclear = std::min(last, order) >= kAtOnceAsItComes &&
                              ((last | order) & (kFromElsewhere | kUnclear)) != 0;
      last = std::max(last, order) | (is_unclear ? kUnclear : 0);
    }
  }
  return last;
}

std::uint64_t TieBreaking::delivery_order(const DispatchSequence::Input& input, bool is_elsewhere,
                                          double at_us) const {
  const double now_us = sequence_.record_of(input.producer).start_us;
  const double begin_us = is_elsewhere ? times_.transfer_start_us[input.output] : now_us;
  if (at_us != begin_us) {
    return static_cast<std::uint64_t>(problem_.name_rank(input.producer));
  }
  const auto place = static_cast<std::uint64_t>(sequence_.place[input.producer]);
  if (begin_us > now_us) {
    const DeviceId device = sequence_.rows[input.producer].device;
    return kAtOnceByChannel | device_ranks_[device] << kPlaceBits | place;
  }
  return kAtOnceAsItComes | place << 2 | (is_elsewhere ? kFromElsewhere : 0);
}

}  // namespace emplace::placeto_model
