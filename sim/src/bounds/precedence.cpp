#include "precedence.hpp"

#include <emplace/base/infinity.hpp>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace emplace::bounds {
namespace {

// Knows the least time that an output takes between any two of some devices.
class LeastTransfer {
 public:
  LeastTransfer(const Problem& problem, std::span<const DeviceId> devices) : problem_(problem) {
    // Times are a latency plus bytes over a bandwidth, so two amounts tell routes apart.
    std::map<std::pair<double, double>, std::pair<DeviceId, DeviceId>> routes;
    for (const DeviceId from : devices) {
      for (const DeviceId to : devices) {
        if (from != to) {
          routes.emplace(std::pair(problem.transfer_us(0, from, to),
                                   problem.transfer_us(std::int64_t{1} << 40, from, to)),
                         std::pair(from, to));
        }
      }
    }
    for (const auto& [times, ends] : routes) {
      routes_.push_back(ends);
    }
  }

  // Returns the time; infinity if there is one device.
  double operator()(OutputId output) const {
    double least_us = kInfinity;
    for (const auto& [from, to] : routes_) {
      least_us = std::min(least_us, problem_.transfer_us(problem_.output_bytes(output), from, to));
    }
    return least_us;
  }

 private:
  const Problem& problem_;
  std::vector<std::pair<DeviceId, DeviceId>> routes_;
};

}  // namespace

Precedence::Precedence(const Problem& problem, std::span<const DeviceId> devices)
    : busy_us_(index_of(problem.num_ops()), kInfinity),
      order_(problem.topological_order().begin(), problem.topological_order().end()) {
  const LeastTransfer transfer_us(problem, devices);
  std::vector<Dependence> dependences;
  for (OpId op = 0; op < problem.num_ops(); ++op) {
    group_of_.push_back(problem.grouping().group_of(op));
    for (const DeviceId device : devices) {
      busy_us_[op] = std::min(busy_us_[op], problem.busy_us(op, device));
    }
    if (problem.cluster().transfer_model == TransferModel::kPlaceto) {
      for (const Problem::Child& child : problem.children(op)) {
        dependences.push_back({op, child.op, transfer_us(child.output) - problem.gap_us(op)});
      }
    } else {
      // Several uses of one producer are as many dependences, of which the slowest counts.
      for (auto [use, end] = problem.uses_of(op); use < end; ++use) {
        const auto& [producer, consumer, output] = problem.uses()[use];
        const double extra_us = output == Dependency::kControl ? 0.0 : transfer_us(output);
        dependences.push_back({producer, consumer, extra_us});
      }
    }
  }
  for (Dependence& each : dependences) {
    if (group_of_[each.producer] == group_of_[each.consumer]) {
      each.extra_us = kInfinity;
    }
  }
  link(dependences);
}

void Precedence::link(const std::vector<Dependence>& dependences) {
  before_begin_.assign(busy_us_.size() + 1, 0);
  after_begin_.assign(busy_us_.size() + 1, 0);
  for (const Dependence& each : dependences) {
    ++before_begin_[each.consumer + 1];
    ++after_begin_[each.producer + 1];
  }
  for (OpId op = 0; op < num_ops(); ++op) {
    before_begin_[op + 1] += before_begin_[op];
    after_begin_[op + 1] += after_begin_[op];
  }
  before_.resize(dependences.size());
  after_.resize(dependences.size());
  IdVector<OpId, std::size_t> before_end = before_begin_;
  IdVector<OpId, std::size_t> after_end = after_begin_;
  for (const auto& [producer, consumer, extra_us] : dependences) {
    before_[before_end[consumer]++] = {producer, extra_us};
    after_[after_end[producer]++] = {consumer, extra_us};
  }
}

Precedence Precedence::reversed() const {
  Precedence reversed = *this;
  std::reverse(reversed.order_.begin(), reversed.order_.end());
  std::swap(reversed.before_, reversed.after_);
  std::swap(reversed.before_begin_, reversed.after_begin_);
  return reversed;
}

}  // namespace emplace::bounds
