#include "network.hpp"

#include <emplace/base/infinity.hpp>

#include <algorithm>
#include <numeric>
#include <utility>

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

// On a smaller network, changes reach most routes, and finding them costs more than it saves.
constexpr std::size_t kManyLinks = 128;

}  // namespace

Network::Network(const Topology& topology, DeviceId num_devices, std::int32_t max_flows)
    : num_devices_(num_devices) {
  for (const Link& link : topology.links()) {
    links_.push_back({.bytes_per_us = link.bytes_per_us});
  }
  list_begin_.resize(links_.size() + 1);
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
          ++list_begin_[link + 1];
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
  std::partial_sum(list_begin_.begin(), list_begin_.end(), list_begin_.begin());
  lists_.resize(shared_.size());
  open_at_.resize(links_.size());
  opened_in_.resize(links_.size());
  reached_in_.resize(routes_.size());
  fixed_in_.resize(routes_.size());
  busy_links_.reserve(links_.size());
  changed_links_.reserve(links_.size());
  reached_routes_.reserve(routes_.size());
  open_links_.resize(links_.size());
  admitted_.reserve(max_flows);
}

void Network::reset() {
  for (const std::int32_t id : busy_routes_) {  // of a run that was cut off
    routes_[id] = {};
  }
  for (LinkUse& link : links_) {
    link = {.bytes_per_us = link.bytes_per_us};
  }
  busy_routes_.clear();
  busy_links_.clear();
  changed_links_.clear();
  admitted_.clear();
  has_changed_ = false;
  must_fill_ = false;
  next_end_us_ = kInfinity;
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
inline void Network::start(std::int32_t flow, double now_us) {
  const std::int32_t id = flows_[flow].route;
  Route& route = routes_[id];
  const bool was_idle = route.num_flows == 0;
  if (was_idle) {
    route = {.read_us = now_us};
    make_busy(id);
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
    if (use.num_flows++ == 0) {
      use.position = static_cast<std::int32_t>(busy_links_.size());
      busy_links_.push_back(link);
    }
    mark_as_changed(link);
    must_fill_ |= use.num_routes > 1;
  }
  has_changed_ = true;
}

inline void Network::mark_as_changed(std::int32_t link) {
  if (!std::exchange(links_[link].has_changed, true)) {
    changed_links_.push_back(link);
  }
}

// Puts a route at the end of all busy ones and of the lists of its links.
inline void Network::make_busy(std::int32_t id) {
  routes_[id].position = static_cast<std::int32_t>(busy_routes_.size());
  busy_routes_.push_back(id);
  for (const std::int32_t link : shared_links(id)) {
    lists_[list_begin_[link] + links_[link].num_routes++] = id;
  }
}

// Takes a route off these lists. The last of all busy ones, which ends all its lists, moves to its
// place.
inline void Network::make_idle(std::int32_t id) {
  for (const std::int32_t link : shared_links(id)) {
    const std::span<std::int32_t> list = busy_routes_of(link);
    const auto found = std::find(list.begin(), list.end(), id);
    std::copy(found + 1, list.end(), found);
    --links_[link].num_routes;
  }
  const std::int32_t last = busy_routes_.back();
  remove_from(busy_routes_, routes_, routes_[id].position);
  if (last == id) {
    return;
  }
  for (const std::int32_t link : shared_links(last)) {
    const std::span<std::int32_t> list = busy_routes_of(link);
    std::size_t at = list.size() - 1;
    for (; at > 0 && routes_[list[at - 1]].position > routes_[last].position; --at) {
      list[at] = list[at - 1];
    }
    list[at] = last;
  }
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
inline void Network::stop_first(Route& route) {
  const std::int32_t flow = route.first;
  const std::int32_t id = flows_[flow].route;
  route.first = meld_all(flows_[flow].child);
  route.is_stale = true;
  const bool is_idle = --route.num_flows == 0;
  if (is_idle) {
    make_idle(id);
  }
  for (const std::int32_t link : shared_links(id)) {
    LinkUse& use = links_[link];
    if (--use.num_flows == 0) {
      remove_from(busy_links_, links_, use.position);
    }
    mark_as_changed(link);
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
  const bool is_filled = std::exchange(must_fill_, false);
  if (is_filled) {
    fill(now_us);
  }
  for (const std::int32_t link : changed_links_) {
    links_[link].has_changed = false;
  }
  changed_links_.clear();
  next_end_us_ = kInfinity;
  for (const std::int32_t id : busy_routes_) {
    Route& route = routes_[id];
    if (route.is_stale) {
      if (!is_filled || fixed_in_[id] != filling_) {
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

// Gives each route that the changes reach its max-min fair rate.
void Network::fill(double now_us) {
  ++filling_;
  num_open_links_ = 0;
  reached_routes_.clear();
  if (links_.size() >= kManyLinks) {
    reach();
  } else {
    reach_all();
  }
  double rate = 0;
  for (std::size_t num_open = reached_routes_.size(); num_open > 0;) {
    const OpenLink narrowest = find_narrowest();
    // Rates never fall from one link to the next, but for rounding.
    rate = std::max(rate, narrowest.left / narrowest.unfixed);
    const std::size_t num_limited = has_limits_ ? fix_limited(rate, now_us) : 0;
    num_open -= num_limited > 0 ? num_limited : fix_routes_of(narrowest.link, rate, now_us);
  }
}

// Finds the routes that links join, directly or through others, to those with changes, and opens
// their links.
inline void Network::reach() {
  for (const std::int32_t link : changed_links_) {
    open(link);
  }
  for (std::size_t at = 0; at < num_open_links_; ++at) {
    for (const std::int32_t route : busy_routes_of(open_links_[at].link)) {
      if (std::exchange(reached_in_[route], filling_) != filling_) {
        reached_routes_.push_back(route);
        for (const std::int32_t link : shared_links(route)) {
          open(link);
        }
      }
    }
  }
}

inline void Network::reach_all() {
  reached_routes_.assign(busy_routes_.begin(), busy_routes_.end());
  for (const std::int32_t link : busy_links_) {
    open(link);
  }
}

inline void Network::open(std::int32_t link) {
  const LinkUse& use = links_[link];
  if (use.num_flows > 0 && std::exchange(opened_in_[link], filling_) != filling_) {
    open_at_[link] = static_cast<std::int32_t>(num_open_links_);
    open_links_[num_open_links_++] = {use.bytes_per_us, static_cast<double>(use.num_flows), link};
  }
}

// Returns the link with the least share, which is compared without dividing, and closes those whose
// flows all have a rate.
inline Network::OpenLink Network::find_narrowest() {
  OpenLink narrowest{.left = kInfinity, .unfixed = 1, .link = kNone};
  OpenLink* const first = open_links_.data();
  OpenLink* last = first + num_open_links_;
  for (OpenLink* open = first; open != last;) {
    if (!(open->unfixed > 0)) {
      *open = *--last;
      open_at_[open->link] = static_cast<std::int32_t>(open - first);
      continue;
    }
    if (open->left * narrowest.unfixed < narrowest.left * open->unfixed) {
      narrowest = *open;
    }
    ++open;
  }
  num_open_links_ = static_cast<std::size_t>(last - first);
  return narrowest;
}

// Fixes the routes whose flows could not use `rate`; returns how many.
std::size_t Network::fix_limited(double rate, double now_us) {
  std::size_t num_fixed = 0;
  for (const std::int32_t route : reached_routes_) {
    if (fixed_in_[route] != filling_ && limit_[route] <= rate) {
      fix(route, limit_[route], now_us);
      ++num_fixed;
    }
  }
  return num_fixed;
}

// Fixes the routes of a link that have no rate yet; returns how many.
inline std::size_t Network::fix_routes_of(std::int32_t link, double rate, double now_us) {
  std::size_t num_fixed = 0;
  for (const std::int32_t route : busy_routes_of(link)) {
    if (fixed_in_[route] != filling_) {
      fix(route, rate, now_us);
      ++num_fixed;
    }
  }
  return num_fixed;
}

// Fixes the rate of a route's flows and takes it off its links.
inline void Network::fix(std::int32_t id, double rate, double now_us) {
  Route& route = routes_[id];
  fixed_in_[id] = filling_;
  const double num_flows = route.num_flows;
  const double bytes_per_us = rate * num_flows;
  OpenLink* const open_links = open_links_.data();
  const std::int32_t* const open_at = open_at_.data();
  for (const std::int32_t link : shared_links(id)) {
    OpenLink& open = open_links[open_at[link]];
    open.left -= bytes_per_us;
    open.unfixed -= num_flows;
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
