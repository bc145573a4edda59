#include "topology_reader.hpp"

#include "profile_reader.hpp"
#include "route_search.hpp"

#include <emplace/base/error.hpp>
#include <emplace/base/id_vector.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace emplace {
namespace {

// No real machine comes near, so that a hostile file costs seconds at most.
constexpr std::size_t kMaxLinks = 16384;

// What the file calls a link: a cable with two ends, or a link without ends. `forward` and
// `backward` are the indices of its Links, from the first end to the second and back; they are the
// same where both directions share one.
struct Cable {
  std::string name{};
  std::optional<std::array<Place, 2>> ends{};
  std::int32_t forward = 0;
  std::int32_t backward = 0;
};

// The links through which all goes that leaves or enters a device.
struct CopyEngines {
  std::optional<std::int32_t> out{};
  std::optional<std::int32_t> in{};
};

class TopologyReader {
 public:
  explicit TopologyReader(const std::vector<Device>& devices)
      : num_devices_(static_cast<DeviceId>(devices.size())) {
    for (const Device& device : devices) {
      add_place(device.name);
    }
  }

  Topology read(const JsonCursor& physical, const JsonCursor& devices) {
    read_links(physical.at("links"));
    for (const JsonCursor& device : devices.elements()) {
      engines_.push_back(
          {.out = read_engine(device, "copy_out"), .in = read_engine(device, "copy_in")});
    }
    topology_ = Topology(num_devices_, links_);
    if (const auto routes = physical.find("routes")) {
      for (const JsonCursor& route : routes->elements()) {
        read_route(route);
      }
    }
    derive_routes(physical);
    return std::move(topology_);
  }

 private:
  Place add_place(const std::string& name) {
    const auto [entry, is_new] = place_of_.emplace(name, places_.end_id());
    if (is_new) {
      places_.push_back(name);
    }
    return entry->second;
  }

  const std::string& name_of(Place place) const { return places_[place]; }

  void read_links(const JsonCursor& json) {
    const std::vector<JsonCursor> elements = json.elements();
    if (elements.size() > kMaxLinks) {
      json.fail(fmt::format("expected at most {} links, found {}", kMaxLinks, elements.size()));
    }
    for (const JsonCursor& element : elements) {
      read_link(element);
    }
    refuse_dead_ends(elements);
  }

  void read_link(const JsonCursor& json) {
    const std::array<std::string_view, 2> duplexes = {"full", "half"};
    json.expect_only(
        {"name", "between", "bandwidth_bytes_per_us", "latency_us", "sharing", "duplex"});
    Link link;
    link.name = read_name(json.at("name"));
    link.bytes_per_us = json.at("bandwidth_bytes_per_us").number(kMinBytesPerUs, kMaxBytesPerUs);
    link.latency_us = json.at("latency_us").number(0, kMaxLatencyUs);
    if (const auto sharing = json.find("sharing")) {
      link.sharing = static_cast<LinkSharing>(sharing->one_of(kLinkSharings));
    }
    const auto between = json.find("between");
    const auto duplex = json.find("duplex");
    if (duplex && !between) {
      duplex->fail("expected only where the link has the member 'between'");
    }
    Cable cable = {.name = link.name};
    take_name(json.at("name"), link.name);
    if (between) {
      cable.ends = read_ends(*between);
    }
    const bool is_half = duplex && duplex->one_of(duplexes) == 1;
    if (cable.ends && !is_half) {
      const auto [one, two] = *cable.ends;
      cable.forward = add_direction(json, link, one, two);
      cable.backward = add_direction(json, link, two, one);
    } else {
      cable.forward = cable.backward = add_link(link);
    }
    cable_of_.emplace(cable.name, cables_.size());
    cables_.push_back(std::move(cable));
  }

  std::array<Place, 2> read_ends(const JsonCursor& json) {
    const std::vector<JsonCursor> ends = json.elements();
    if (ends.size() != 2) {
      json.fail(fmt::format("expected the two ends of the link, found {}", ends.size()));
    }
    const std::array<Place, 2> places = {add_place(read_name(ends[0])),
                                         add_place(read_name(ends[1]))};
    if (places[0] == places[1]) {
      json.fail(fmt::format("both ends are '{}'", excerpt(name_of(places[0]))));
    }
    return places;
  }

  std::int32_t add_direction(const JsonCursor& json, Link link, Place from, Place to) {
    link.name += fmt::format(" {}>{}", name_of(from), name_of(to));
    take_name(json.at("name"), link.name);
    return add_link(std::move(link));
  }

  std::int32_t add_link(Link link) {
    links_.push_back(std::move(link));
    return static_cast<std::int32_t>(links_.size()) - 1;
  }

  void take_name(const JsonCursor& json, const std::string& name) {
    if (!link_names_.insert(name).second) {
      json.fail(fmt::format("another link is called '{}'", excerpt(name)));
    }
  }

  // A switch where one link ends forwards nothing: the name of a place is misspelt.
  void refuse_dead_ends(const std::vector<JsonCursor>& elements) {
    IdVector<Place, int> num_ends(places_.size());
    for (const Cable& cable : cables_) {
      if (cable.ends) {
        ++num_ends[(*cable.ends)[0]];
        ++num_ends[(*cable.ends)[1]];
      }
    }
    for (std::size_t at = 0; at < cables_.size(); ++at) {
      for (std::size_t end = 0; cables_[at].ends && end < 2; ++end) {
        const Place place = (*cables_[at].ends)[end];
        if (place >= num_devices_ && num_ends[place] == 1) {
          IdVector<Place, std::string> others = places_;
          others.erase(others.begin() + place);
          elements[at].at("between").elements()[end].fail(
              fmt::format("'{}' is not a device, and no other link ends there{}",
                          excerpt(name_of(place)), suggest_names(name_of(place), others)));
        }
      }
    }
  }

  const Cable& find_cable(const JsonCursor& json) const {
    const std::string name = read_name(json);
    const auto found = cable_of_.find(name);
    if (found == cable_of_.end()) {
      std::vector<std::string> names;
      for (const Cable& cable : cables_) {
        names.push_back(cable.name);
      }
      fail_unknown_name(json, "link", name, names);
    }
    return cables_[found->second];
  }

  std::optional<std::int32_t> read_engine(const JsonCursor& device, std::string_view member) {
    const auto json = device.find(member);
    if (!json) {
      return std::nullopt;
    }
    const Cable& cable = find_cable(*json);
    if (cable.ends) {
      json->fail(fmt::format("expected a link without the member 'between', which '{}' has",
                             excerpt(cable.name)));
    }
    return cable.forward;
  }

  DeviceId find_device(const JsonCursor& json) const {
    const std::string name = read_name(json);
    const auto found = place_of_.find(name);
    if (found == place_of_.end() || found->second >= num_devices_) {
      fail_unknown_name(json, "device", name, {places_.begin(), places_.begin() + num_devices_});
    }
    return found->second;
  }

  void read_route(const JsonCursor& json) {
    json.expect_only({"from", "to", "links", "both"});
    const DeviceId from = find_device(json.at("from"));
    const DeviceId to = find_device(json.at("to"));
    if (from == to) {
      json.at("to").fail("expected another device than 'from'");
    }
    std::vector<const Cable*> cables = read_route_cables(json.at("links"), from, to);
    set_route(json, from, to, cables);
    const auto both = json.find("both");
    if (both && both->boolean()) {
      std::reverse(cables.begin(), cables.end());
      set_route(json, to, from, cables);
    }
  }

  // Returns the cables of a route, which lead from one device to the other if any of them has ends.
  std::vector<const Cable*> read_route_cables(const JsonCursor& json, Place from, Place to) const {
    const std::vector<JsonCursor> elements = json.elements();
    if (elements.empty() || elements.size() > kMaxRouteLinks) {
      json.fail(fmt::format("expected 1 to {} links, found {}", kMaxRouteLinks, elements.size()));
    }
    std::vector<const Cable*> cables;
    std::set<std::string> names;
    std::optional<Place> here;
    for (const JsonCursor& element : elements) {
      const Cable& cable = find_cable(element);
      if (!names.insert(cable.name).second) {
        element.fail(fmt::format("the route takes '{}' twice", excerpt(cable.name)));
      }
      if (cable.ends) {
        const auto [one, two] = *cable.ends;
        const Place place = here.value_or(from);
        if (place != one && place != two) {
          element.fail(fmt::format("the route is at '{}', but '{}' is between '{}' and '{}'",
                                   excerpt(name_of(place)), excerpt(cable.name),
                                   excerpt(name_of(one)), excerpt(name_of(two))));
        }
        here = place == one ? two : one;
      }
      cables.push_back(&cable);
    }
    if (here.value_or(to) != to) {
      json.fail(fmt::format("the route ends at '{}', not at '{}'", excerpt(name_of(*here)),
                            excerpt(name_of(to))));
    }
    return cables;
  }

  // Walks along the cables, whose directions follow.
  void set_route(const JsonCursor& json, DeviceId from, DeviceId to,
                 const std::vector<const Cable*>& cables) {
    if (!topology_.route(from, to).empty()) {
      json.fail(fmt::format("another route leads from '{}' to '{}'", excerpt(name_of(from)),
                            excerpt(name_of(to))));
    }
    std::vector<std::int32_t> links;
    Place here = from;
    for (const Cable* cable : cables) {
      const bool turned = cable->ends && (*cable->ends)[0] != here;
      links.push_back(turned ? cable->backward : cable->forward);
      if (cable->ends) {
        here = (*cable->ends)[turned ? 0 : 1];
      }
    }
    topology_.set_route(from, to, with_engines(from, to, std::move(links)));
  }

  // A transfer occupies a link once, however often the way names it: a pair of devices may share an
  // engine, and a route in the file may name one.
  std::vector<std::int32_t> with_engines(DeviceId from, DeviceId to,
                                         std::vector<std::int32_t> links) const {
    const auto lacks = [&](std::int32_t link) {
      return std::find(links.begin(), links.end(), link) == links.end();
    };
    const auto out = engines_[from].out;
    const auto in = engines_[to].in;
    if (out && lacks(*out)) {
      links.insert(links.begin(), *out);
    }
    if (in && lacks(*in)) {
      links.push_back(*in);
    }
    return links;
  }

  void derive_routes(const JsonCursor& json) {
    RouteSearch search(num_devices_, places_.end_id());
    for (const Cable& cable : cables_) {
      if (cable.ends) {
        const auto [one, two] = *cable.ends;
        search.add_arc(one, two, cable.forward, links_[index_of(cable.forward)]);
        search.add_arc(two, one, cable.backward, links_[index_of(cable.backward)]);
      }
    }
    for (DeviceId to = 0; to < num_devices_; ++to) {
      const IdVector<Place, RouteStep> steps = search.steps_to(to);
      for (DeviceId from = 0; from < num_devices_; ++from) {
        if (from == to || !topology_.route(from, to).empty()) {
          continue;
        }
        const RouteCost cost = steps[Place{from}].cost;
        if (cost == RouteSearch::kNoRoute) {
          json.fail(fmt::format("no links lead from '{}' to '{}'", excerpt(name_of(from)),
                                excerpt(name_of(to))));
        }
        if (index_of(cost.links) > kMaxRouteLinks) {
          json.fail(fmt::format("the route from '{}' to '{}' has {} links, expected at most {}",
                                excerpt(name_of(from)), excerpt(name_of(to)), cost.links,
                                kMaxRouteLinks));
        }
        topology_.set_route(from, to, with_engines(from, to, follow(steps, from)));
      }
    }
  }

  DeviceId num_devices_;
  IdVector<Place, std::string> places_;
  std::map<std::string, Place> place_of_;
  std::vector<Cable> cables_;
  std::map<std::string, std::size_t> cable_of_;
  std::vector<Link> links_;
  std::set<std::string> link_names_;
  IdVector<DeviceId, CopyEngines> engines_;
  Topology topology_;
};

}  // namespace

Topology read_topology(const JsonCursor& physical, const JsonCursor& devices_json,
                       const std::vector<Device>& devices) {
  return TopologyReader(devices).read(physical, devices_json);
}

}  // namespace emplace
