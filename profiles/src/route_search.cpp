#include "route_search.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>
#include <utility>

namespace emplace {
namespace {

constexpr double kTypicalBytes = 1 << 20;
constexpr double kNanosecondsPerMicrosecond = 1e3;

RouteCost cost_of(const Link& link) {
  const double us = link.latency_us + kTypicalBytes / link.bytes_per_us;
  return {.ns = std::llround(us * kNanosecondsPerMicrosecond), .links = 1};
}

}  // namespace

RouteSearch::RouteSearch(DeviceId num_devices, Place num_places)
    : num_devices_(num_devices), arcs_from_(index_of(num_places)), arcs_to_(index_of(num_places)) {}

void RouteSearch::add_arc(Place from, Place to, std::int32_t index, const Link& link) {
  const Arc arc = {.from = from, .to = to, .link = index, .cost = cost_of(link)};
  arcs_from_[from].push_back(arc);
  arcs_to_[to].push_back(arc);
}

IdVector<Place, RouteStep> RouteSearch::steps_to(DeviceId goal) const {
  using Entry = std::pair<RouteCost, Place>;
  IdVector<Place, RouteStep> steps(arcs_to_.size(), {.cost = kNoRoute});
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
  steps[Place{goal}].cost = {};
  open.emplace(RouteCost{}, goal);
  while (!open.empty()) {
    const auto [cost, place] = open.top();
    open.pop();
    if (cost != steps[place].cost || !may_enter(place, goal)) {
      continue;
    }
    for (const Arc& arc : arcs_to_[place]) {
      const RouteCost through = arc.cost + cost;
      if (through < steps[arc.from].cost) {
        steps[arc.from].cost = through;
        open.emplace(through, arc.from);
      }
    }
  }
  // Which of the links that cost least is taken is decided only now that all costs are known.
  for (std::size_t place = 0; place < steps.size(); ++place) {
    const auto best =
        std::find_if(arcs_from_[place].begin(), arcs_from_[place].end(), [&](const Arc& arc) {
          return may_enter(arc.to, goal) && arc.cost + steps[arc.to].cost == steps[place].cost;
        });
    if (best != arcs_from_[place].end()) {
      steps[place].link = best->link;
      steps[place].next = best->to;
    }
  }
  return steps;
}

std::vector<std::int32_t> follow(const IdVector<Place, RouteStep>& steps, DeviceId from) {
  std::vector<std::int32_t> links;
  for (RouteStep step = steps[Place{from}]; step.link >= 0; step = steps[step.next]) {
    links.push_back(step.link);
  }
  return links;
}

}  // namespace emplace
