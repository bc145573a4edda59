#include <emplace/base/check.hpp>
#include <emplace/base/id_vector.hpp>
#include <emplace/profiles/topology.hpp>

#include <algorithm>
#include <limits>
#include <utility>

namespace emplace {

Topology::Topology(DeviceId num_devices, std::vector<Link> links)
    : num_devices_(num_devices), links_(std::move(links)) {
  routes_.resize(index_of(num_devices) * index_of(num_devices));
}

void Topology::set_route(DeviceId from, DeviceId to, std::vector<std::int32_t> links) {
  EMPLACE_CHECK(from != to && from >= 0 && from < num_devices_ && to >= 0 && to < num_devices_,
                "no route from device {} to {} among {}", from, to, num_devices_);
  routes_[cell(from, to)] = std::move(links);
}

double Topology::latency_us(DeviceId from, DeviceId to) const {
  double sum_us = 0;
  for (const std::int32_t link : route(from, to)) {
    sum_us += links_[index_of(link)].latency_us;
  }
  return sum_us;
}

double Topology::bytes_per_us(DeviceId from, DeviceId to) const {
  double slowest = std::numeric_limits<double>::infinity();
  for (const std::int32_t link : route(from, to)) {
    slowest = std::min(slowest, links_[index_of(link)].bytes_per_us);
  }
  return slowest;
}

}  // namespace emplace
