#include "network.hpp"

#include <emplace/base/infinity.hpp>

#include <algorithm>

namespace emplace::physical {
namespace {

// Removes from a list the element at `position` by moving the last one there.
template <class Owner>
void remove_from(std::vector<std::int32_t>& list, IdVector<std::int32_t, Owner>& owners,
                 std::int32_t position) {
  list[position] = list.back();
  owners[list.back()].position = position;
  list.pop_back();
}

}  // namespace

Network::Network(const Topology& topology, DeviceId num_devices, std::int32_t max_flows)
    : num_devices_(num_devices) {
  for (const Link& link : topology.links()) {
    links_.push_back({.bytes_per_us = link.bytes_per_us});
  }
  for (DeviceId from = 0; from < num_devices; ++from) {
    for (DeviceId to = 0; to < num_devices; ++to) {
      shared_begin_.push_back(static_cast<std::int32_t>(shared_.size()));
      fifo_begin_.push_back(static_cast<std::int32_t>(fifo_.size()));
      limit_.push_back(kInfinity);
      bottleneck_.push_back(kInfinity);
      for (const std::int32_t link : topology.route(from, to)) {
        const Link& facts = topology.links()[link];
        if (facts.sharing == LinkSharing::kFatpipe) {
          limit_.back() = std::min(limit_.back(), facts.bytes_per_us);
          has_limits_ = true;
        } else {
          shared_.push_back(link);
          bottleneck_.back() = std::min(bottleneck_.back(), facts.bytes_per_us);
        }
        if (facts.sharing == LinkSharing::kFifo) {
          fifo_.push_back(link);
        }
      }
      max_fifo_ = std::max(max_fifo_, fifo_.size() - fifo_begin_.back());
    }
  }
  shared_begin_.push_back(static_cast<std::int32_t>(shared_.size()));
  fifo_begin_.push_back(static_cast<std::int32_t>(fifo_.size()));
  routes_.resize(limit_.size());
  flows_.resize(max_flows);
  nodes_.resize(max_flows * max_fifo_);
  busy_routes_.reserve(routes_.size());
  routes_of_links_.resize(shared_.size());
  busy_links_.reserve(links_.size());
  open_links_.reserve(links_.size());
  admitted_.reserve(max_flows);
}

void Network::reset() {
  std::fill(routes_.begin(), routes_.end(), Route{});
  for (LinkUse& link : links_) {
    link = {.bytes_per_us = link.bytes_per_us};
  }
  busy_routes_.clear();
  busy_links_.clear();
  admitted_.clear();
  has_changed_ = false;
  must_fill_ = false;
  next_end_us_ = kInfinity;
}

std::span<const std::int32_t> Network::fifo_links(std::int32_t route) const {
  return {fifo_.data() + fifo_begin_[route], fifo_.data() + fifo_begin_[route + 1]};
}

void Network::add(std::int32_t flow, DeviceId from, DeviceId to, double bytes, double now_us) {
  const std::int32_t route = from * num_devices_ + to;
  flows_[flow] = {.bytes = bytes, .route = route};
  std::size_t node = flow * max_fifo_;
  for (const std::int32_t link : fifo_links(route)) {
    LinkUse& use = links_[link];
    nodes_[node] = {flow, kNone};
    if (use.first == kNone) {
      use.first = static_cast<std::int32_t>(node);
    } else {
      nodes_[use.last].next = static_cast<std::int32_t>(node);
      ++flows_[flow].num_blocked;
    }
    use.last = static_cast<std::int32_t>(node++);
  }
  if (flows_[flow].num_blocked == 0) {
    start(flow, now_us);
  }
}

// Lets a flow move: it begins at what the clock of its route shows now.
void Network::start(std::int32_t flow, double now_us) {
  const std::int32_t id = flows_[flow].route;
  Route& route = routes_[id];
  const bool was_idle = route.num_flows == 0;
  if (was_idle) {
    route = {.read_us = now_us, .position = static_cast<std::int32_t>(busy_routes_.size())};
    busy_routes_.push_back(id);
  } else {
    route.served += route.rate * (now_us - route.read_us);
    route.read_us = now_us;
  }
  ++route.num_flows;
  route.is_stale = true;
  flows_[flow].end_at = route.served + flows_[flow].bytes;
  push(route, flow);
  for (const std::int32_t link : shared_links(id)) {
    LinkUse& use = links_[link];
    use.num_routes += was_idle;
    if (use.num_flows++ == 0) {
      use.position = static_cast<std::int32_t>(busy_links_.size());
      busy_links_.push_back(link);
    }
    must_fill_ |= use.num_routes > 1;
  }
  has_changed_ = true;
}

void Network::take_ended(double until_us, std::vector<Ended>& ended) {
  for (std::size_t at = busy_routes_.size(); at-- > 0;) {
    Route& route = routes_[busy_routes_[at]];
    while (route.num_flows > 0 && route.end_us <= until_us) {
      ended.push_back({route.first, route.end_us});
      stop_first(route);
      if (route.num_flows > 0) {
        const double left = flows_[route.first].end_at - route.served;
        route.end_us = std::max(route.end_us, route.read_us + left / route.rate);
      }
    }
  }
}

// Takes the first flow of a route out of the heap, off its links, and out of their queues.
void Network::stop_first(Route& route) {
  const std::int32_t flow = route.first;
  const std::int32_t id = flows_[flow].route;
  route.first = meld_all(flows_[flow].child);
  route.is_stale = true;
  const bool is_idle = --route.num_flows == 0;
  if (is_idle) {
    remove_from(busy_routes_, routes_, route.position);
  }
  for (const std::int32_t link : shared_links(id)) {
    LinkUse& use = links_[link];
    use.num_routes -= is_idle;
    if (--use.num_flows == 0) {
      remove_from(busy_links_, links_, use.position);
    }
    must_fill_ |= use.num_routes > (is_idle ? 0 : 1);
  }
  for (const std::int32_t link : fifo_links(id)) {
    LinkUse& use = links_[link];
    use.first = nodes_[use.first].next;
    if (use.first != kNone) {
      const std::int32_t next = nodes_[use.first].flow;
      if (--flows_[next].num_blocked == 0) {
        admitted_.push_back(next);
      }
    }
  }
  has_changed_ = true;
}

void Network::share(double now_us) {
  // In the order of their routes, because the order in which others ended says nothing. A route
  // that waits for its `fifo` links gets one at a time.
  if (admitted_.size() > 1) {
    std::sort(admitted_.begin(), admitted_.end(),
              [this](std::int32_t a, std::int32_t b) { return flows_[a].route < flows_[b].route; });
  }
  for (const std::int32_t flow : admitted_) {
    start(flow, now_us);
  }
  admitted_.clear();
  has_changed_ = false;
  const bool is_filled = must_fill_;
  if (must_fill_) {
    must_fill_ = false;
    fill(now_us);
  }
  next_end_us_ = kInfinity;
  for (const std::int32_t id : busy_routes_) {
    Route& route = routes_[id];
    if (route.is_stale) {
      if (!is_filled) {
        set_rate(route, rate_alone(id), now_us);
      }
      const double left = flows_[route.first].end_at - route.served;
      route.end_us = std::max(now_us, route.read_us + left / route.rate);
      route.is_stale = false;
    }
    next_end_us_ = std::min(next_end_us_, route.end_us);
  }
}

// Returns the rate of the flows of a route that shares no link with another one.
double Network::rate_alone(std::int32_t id) const {
  return std::min(limit_[id], bottleneck_[id] / routes_[id].num_flows);
}

// Gives each busy route its max-min fair rate.
void Network::fill(double now_us) {
  list_routes_of_links();
  std::size_t num_open = busy_routes_.size();
  double rate = 0;
  while (num_open > 0) {
    // The link with the least share; a share is compared without dividing.
    std::int32_t narrowest = kNone;
    double left = kInfinity;
    double unfixed = 1;
    for (std::size_t at = 0; at < open_links_.size();) {
      const LinkUse& use = links_[open_links_[at]];
      if (use.unfixed == 0) {
        open_links_[at] = open_links_.back();
        open_links_.pop_back();
        continue;
      }
      if (use.left * unfixed < left * use.unfixed) {
        narrowest = open_links_[at];
        left = use.left;
        unfixed = use.unfixed;
      }
      ++at;
    }
    // Rates never fall from one link to the next, but for rounding.
    rate = std::max(rate, left / unfixed);
    if (has_limits_) {
      if (const std::size_t num_fixed = fix_limited(rate, now_us); num_fixed > 0) {
        num_open -= num_fixed;
        continue;
      }
    }
    const LinkUse& link = links_[narrowest];
    for (std::int32_t at = link.first_route; at < link.end_route; ++at) {
      const std::int32_t route = routes_of_links_[at];
      if (routes_[route].is_open) {
        fix(route, rate, now_us);
        --num_open;
      }
    }
  }
}

// Prepares for sharing: all busy links and routes are open.
void Network::list_routes_of_links() {
  open_links_ = busy_links_;
  LinkUse* const links = links_.data();
  std::int32_t* const routes_of_links = routes_of_links_.data();
  std::int32_t first_route = 0;
  for (const std::int32_t link : busy_links_) {
    LinkUse& use = links[link];
    use.left = use.bytes_per_us;
    use.unfixed = use.num_flows;
    use.first_route = use.end_route = first_route;
    first_route += use.num_routes;
  }
  for (const std::int32_t route : busy_routes_) {
    routes_[route].is_open = true;
    for (const std::int32_t link : shared_links(route)) {
      routes_of_links[links[link].end_route++] = route;
    }
  }
}

// Fixes the routes whose flows could not use `rate`; returns how many.
std::size_t Network::fix_limited(double rate, double now_us) {
  std::size_t num_fixed = 0;
  for (const std::int32_t route : busy_routes_) {
    if (routes_[route].is_open && limit_[route] <= rate) {
      fix(route, limit_[route], now_us);
      ++num_fixed;
    }
  }
  return num_fixed;
}

// Fixes the rate of a route's flows and takes it off its links.
inline void Network::fix(std::int32_t id, double rate, double now_us) {
  Route& route = routes_[id];
  route.is_open = false;
  for (const std::int32_t link : shared_links(id)) {
    LinkUse& use = links_[link];
    use.left -= rate * route.num_flows;
    use.unfixed -= route.num_flows;
  }
  set_rate(route, rate, now_us);
}

inline void Network::set_rate(Route& route, double rate, double now_us) {
  if (route.rate != rate) {
    route.served += route.rate * (now_us - route.read_us);
    route.read_us = now_us;
    route.rate = rate;
    route.is_stale = true;
  }
}

// The flows of a route are a pairing heap (Fredman et al. 1986) by the times of their ends: those
// of the same time in the order of their ids.

void Network::push(Route& route, std::int32_t flow) {
  route.first = route.first == kNone ? flow : meld(route.first, flow);
}

std::int32_t Network::meld(std::int32_t a, std::int32_t b) {
  const auto key = [this](std::int32_t flow) { return std::pair(flows_[flow].end_at, flow); };
  if (key(b) < key(a)) {
    std::swap(a, b);
  }
  flows_[b].sibling = flows_[a].child;
  flows_[a].child = b;
  return a;
}

// Melds a list of siblings, in pairs from the left, then from the right.
std::int32_t Network::meld_all(std::int32_t first) {
  std::int32_t pairs = kNone;
  while (first != kNone) {
    const std::int32_t a = first;
    const std::int32_t b = flows_[a].sibling;
    first = b == kNone ? kNone : flows_[b].sibling;
    const std::int32_t melded = b == kNone ? a : meld(a, b);
    flows_[melded].sibling = pairs;
    pairs = melded;
  }
  std::int32_t all = kNone;
  while (pairs != kNone) {
    const std::int32_t next = flows_[pairs].sibling;
    all = all == kNone ? pairs : meld(all, pairs);
    pairs = next;
  }
  return all;
}

}  // namespace emplace::physical
