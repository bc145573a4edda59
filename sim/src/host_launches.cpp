#include "host_launches.hpp"

#include <algorithm>

namespace emplace {

HostLaunches::HostLaunches(const Problem& problem)
    : problem_(problem),
      at_us_(exist() ? problem.num_ops() : OpId(0)),
      threads_us_(static_cast<std::size_t>(problem.cluster().host.threads)) {
  in_order_.reserve(at_us_.size());
}

void HostLaunches::set(const Placement& placement) {
  in_order_.clear();
  next_ = 0;
  std::ranges::fill(threads_us_, 0.0);
  for (OpId op = 0; op < problem_.num_ops(); ++op) {
    const DeviceId device = placement[problem_.grouping().group_of(op)];
    const double us = problem_.host_us(op, device);
    at_us_[op] = 0;
    if (us > 0) {
      double& thread_us = threads_us_[static_cast<std::size_t>(device) % threads_us_.size()];
      at_us_[op] = thread_us += us;
      in_order_.push_back(op);
    }
  }
  if (threads_us_.size() > 1) {
    std::ranges::stable_sort(in_order_, {}, [&](OpId op) { return at_us_[op]; });
  }
}

}  // namespace emplace
