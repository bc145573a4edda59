#include "step_facts.hpp"

#include <emplace/base/check.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <tuple>

namespace emplace {
StepFacts::StepFacts(const Problem& problem, const StepRecord& record)
    : problem_(problem),
      record_(record),
      is_placeto_(problem.cluster().transfer_model == TransferModel::kPlaceto),
      has_latency_on_link_(problem.cluster().transfer_model == TransferModel::kGrappler),
      links_(problem.topology().links()) {
  const Cluster& cluster = problem_.cluster();
  if (is_placeto_) {
    gap_after_transfer_us_ = cluster.placeto.gap_after_transfer_us;
    for (const Device& device : cluster.devices) {
      channels_.push_back(static_cast<std::int32_t>(links_.size()));
      links_.push_back({.name = "channel of " + device.name,
                        .bytes_per_us = cluster.placeto.bytes_per_us,
                        .sharing = LinkSharing::kFifo});
    }
  }
  if (has_latency_on_link_) {
    for (Link& link : links_) {
      link.latency_us = cluster.grappler.latency_us;
    }
  }
  ops_by_end_.resize(problem_.num_devices());
  for (OpId op = 0; op < problem_.num_ops(); ++op) {
    ops_by_end_[device_of(op)].push_back(op);
  }
  for (std::vector<OpId>& ops : ops_by_end_) {
    std::sort(ops.begin(), ops.end(), [&](OpId a, OpId b) {
      return std::tuple(free_us(a), start_us(b), a) < std::tuple(free_us(b), start_us(a), b);
    });
  }
  index_inputs();
  index_transfers();
}

// In the `placeto` model an op waits for one output of each producer (its rules 1 and 2).
void StepFacts::index_inputs() {
  std::vector<std::pair<OpId, Input>> by_consumer;
  if (is_placeto_) {
    for (OpId op = 0; op < problem_.num_ops(); ++op) {
      for (const Problem::Child& child : problem_.children(op)) {
        by_consumer.push_back({child.op, {op, child.output}});
      }
    }
  } else {
    for (const Problem::Use& use : problem_.uses()) {
      by_consumer.push_back({use.consumer, {use.producer, use.output}});
    }
  }
  std::stable_sort(by_consumer.begin(), by_consumer.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  input_begin_.assign(problem_.num_ops() + 1, 0);
  for (const auto& [consumer, input] : by_consumer) {
    ++input_begin_[consumer + 1];
    inputs_.push_back(input);
  }
  std::partial_sum(input_begin_.begin(), input_begin_.end(), input_begin_.begin());
}

void StepFacts::index_transfers() {
  transfers_.resize(record_.transfers.size());
  std::iota(transfers_.begin(), transfers_.end(), 0);
  std::sort(transfers_.begin(), transfers_.end(), [&](std::int32_t a, std::int32_t b) {
    return std::tuple(transfer(a).output, transfer(a).to) <
           std::tuple(transfer(b).output, transfer(b).to);
  });
}

std::span<const std::int32_t> StepFacts::route(const Transfer& transfer) const {
  return is_placeto_ ? std::span(channels_).subspan(transfer.from, 1)
                     : problem_.topology().route(transfer.from, transfer.to);
}

std::int32_t StepFacts::slowest_link(const Transfer& transfer, std::int32_t without) const {
  std::int32_t slowest = kNone;
  for (const std::int32_t id : route(transfer)) {
    if (id != without && (slowest == kNone || link(id).bytes_per_us < link(slowest).bytes_per_us)) {
      slowest = id;
    }
  }
  return slowest;
}

double StepFacts::latency_us(const Transfer& transfer) const {
  double sum = 0;
  for (const std::int32_t id : route(transfer)) {
    sum += link(id).latency_us;
  }
  return sum;
}

double StepFacts::moving_us(const Transfer& transfer) const {
  return static_cast<double>(problem_.output_bytes(transfer.output)) /
         link(slowest_link(transfer)).bytes_per_us;
}

double StepFacts::asks_us(const Transfer& transfer) const {
  return transfer.wanted_us + (has_latency_on_link_ ? 0 : latency_us(transfer));
}

bool StepFacts::occupies_links(const Transfer& transfer) const {
  const double on_link_us = moving_us(transfer) + (has_latency_on_link_ ? latency_us(transfer) : 0);
  return is_placeto_ || on_link_us * link(slowest_link(transfer)).bytes_per_us >= 1;
}

StepFacts::Arrival StepFacts::last_arrival(OpId op) const {
  Arrival last;
  for (std::size_t at = input_begin_[op]; at < input_begin_[op + 1]; ++at) {
    const Arrival next = arrival(op, inputs_[at]);
    if (last.producer == kNone || next.at_us > last.at_us) {
      last = next;
    }
  }
  return last;
}

StepFacts::Arrival StepFacts::arrival(OpId consumer, const Input& input) const {
  const DeviceId device = device_of(consumer);
  if (input.output == Dependency::kControl || device == device_of(input.producer)) {
    return {.at_us = record_.end_us[input.producer], .producer = input.producer};
  }
  const auto wanted = std::tuple(input.output, is_placeto_ ? Transfer::kToAll : device);
  const auto found = std::lower_bound(
      transfers_.begin(), transfers_.end(), wanted, [&](std::int32_t id, const auto& key) {
        return std::tuple(transfer(id).output, transfer(id).to) < key;
      });
  EMPLACE_CHECK(found != transfers_.end() && transfer(*found).output == input.output,
                "no transfer of output {} to device {}", input.output, device);
  return {.at_us = transfer(*found).end_us, .producer = input.producer, .transfer = *found};
}

}  // namespace emplace
