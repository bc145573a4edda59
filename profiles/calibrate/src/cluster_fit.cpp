#include <emplace/base/check.hpp>
#include <emplace/base/error.hpp>
#include <emplace/base/id_vector.hpp>
#include <emplace/calibrate/copy_fit.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace emplace::calibrate {
namespace {

// The copy by which relays are compared, as for derived routes of cluster files.
constexpr double kTypicalBytes = 1 << 20;

// Makes links and routes of copies: one link for each copy, and one for each set of copies of which
// every two share bandwidth.
class LinkBuilder {
 public:
  LinkBuilder(std::span<const std::string> devices, const CopyFit& copies, HostMemory host) {
    std::ranges::copy(devices, std::back_inserter(names_));
    add_copies(copies, host);
    add_shared_links(copies);
  }

  // Returns the topology; adds to `notes` which routes go by way of a third device.
  Topology build(std::string& notes) const {
    const auto num_devices = names_.end_id();
    Topology topology(num_devices, links_);
    for (DeviceId from = 0; from < num_devices; ++from) {
      for (DeviceId to = 0; to < num_devices; ++to) {
        if (from == to) {
          continue;
        }
        if (const Route* direct = find_route(from, to)) {
          topology.set_route(from, to, *direct);
        } else {
          const DeviceId by = best_relay(from, to);
          topology.set_route(from, to, relayed(from, by, to));
          notes += fmt::format(" No copy from {} to {} was measured: it goes through {}.",
                               name(from), name(to), name(by));
        }
      }
    }
    return topology;
  }

 private:
  using Route = std::vector<std::int32_t>;

  const std::string& name(DeviceId device) const { return names_[device]; }

  // Of copies between the same devices that differ in the host's memory, those of `host` count, and
  // the first where there are none.
  void add_copies(const CopyFit& copies, HostMemory host) {
    std::map<std::string, const CopyCost*> chosen;
    for (const CopyCost& cost : copies.costs) {
      if (cost.from == cost.to) {
        continue;  // within a device nothing is transferred
      }
      const CopyCost*& entry = chosen[cost.from + '>' + cost.to];
      if (entry == nullptr || cost.host == host) {
        entry = &cost;
      }
    }
    for (const auto& [copy, cost] : chosen) {
      route_of_[copy] = {static_cast<std::int32_t>(links_.size())};
      host_of_[copy] = cost->host;
      links_.push_back(
          {.name = copy,
           .bytes_per_us = std::clamp(cost->bytes_per_us, kMinBytesPerUs, kMaxBytesPerUs),
           .latency_us = std::min(cost->alpha_us, kMaxLatencyUs)});
    }
  }

  // Says whether a pair that was measured is one of the copies that count.
  bool counts(const CopyPair& pair) const {
    const auto one = host_of_.find(pair.one);
    const auto other = host_of_.find(pair.other);
    return one != host_of_.end() && other != host_of_.end() &&
           pair.host == std::max(one->second, other->second);
  }

  // Covers the pairs that share by sets of which all do, each begun by a pair that is in none yet.
  void add_shared_links(const CopyFit& copies) {
    std::map<std::pair<std::string, std::string>, double> rate_of;
    for (const CopyPair& pair : copies.pairs) {
      if (pair.shared && counts(pair)) {
        rate_of[{pair.one, pair.other}] = pair.bytes_per_us;
      }
    }
    std::vector<std::set<std::string>> sets;
    for (const auto& begun : rate_of) {
      const auto& [one, other] = begun.first;
      if (std::ranges::any_of(sets, [&pair = begun.first](const auto& set) {
            return set.contains(pair.first) && set.contains(pair.second);
          })) {
        continue;
      }
      std::set<std::string>& set = sets.emplace_back(std::set{one, other});
      for (const auto& route : route_of_) {
        const std::string& copy = route.first;
        if (std::ranges::all_of(set, [&](const std::string& member) {
              return rate_of.contains(std::minmax(member, copy));
            })) {
          set.insert(copy);
        }
      }
      // The link has what two copies got together, and no less than any of them alone.
      double bytes_per_us = 0;
      for (const auto& [pair, rate] : rate_of) {
        if (set.contains(pair.first) && set.contains(pair.second)) {
          bytes_per_us = std::max(bytes_per_us, rate);
        }
      }
      const auto link = static_cast<std::int32_t>(links_.size());
      for (const std::string& copy : set) {
        Route& route = route_of_.at(copy);
        bytes_per_us = std::max(bytes_per_us, links_[index_of(route.front())].bytes_per_us);
        route.push_back(link);
      }
      links_.push_back(
          {.name = fmt::format("shared:{}", sets.size() - 1), .bytes_per_us = bytes_per_us});
    }
  }

  // Returns the links of the copy, or null if it was not measured.
  const Route* find_route(DeviceId from, DeviceId to) const {
    const auto found = route_of_.find(name(from) + '>' + name(to));
    return found != route_of_.end() ? &found->second : nullptr;
  }

  // A transfer occupies a link once.
  Route relayed(DeviceId from, DeviceId by, DeviceId to) const {
    Route route = *find_route(from, by);
    for (const std::int32_t link : *find_route(by, to)) {
      if (std::ranges::count(route, link) == 0) {
        route.push_back(link);
      }
    }
    return route;
  }

  DeviceId best_relay(DeviceId from, DeviceId to) const {
    DeviceId best = -1;
    double least_us = std::numeric_limits<double>::infinity();
    for (DeviceId by = 0; by < names_.end_id(); ++by) {
      if (by == from || by == to || find_route(from, by) == nullptr ||
          find_route(by, to) == nullptr) {
        continue;
      }
      double us = 0;
      for (const std::int32_t link : relayed(from, by, to)) {
        const Link& on = links_[index_of(link)];
        us += on.latency_us + kTypicalBytes / on.bytes_per_us;
      }
      if (us < least_us) {
        least_us = us;
        best = by;
      }
    }
    if (best < 0) {
      throw Error(ErrorCode::kUnsupported,
                  fmt::format("no copy from {} to {} was measured, nor through another device",
                              name(from), name(to)));
    }
    return best;
  }

  IdVector<DeviceId, std::string> names_;
  std::vector<Link> links_;
  std::map<std::string, Route> route_of_;  // by "from>to"
  std::map<std::string, HostMemory> host_of_;
};

}  // namespace

void expect_routes(std::span<const std::string> devices, const CopyFit& copies) {
  std::string ignored;
  LinkBuilder(devices, copies, HostMemory::kPinned).build(ignored);
}

Cluster fit_cluster(std::string name, std::string summary, Provenance provenance,
                    std::span<const MeasuredDevice> devices, const CopyFit& copies,
                    HostMemory host) {
  Cluster cluster;
  cluster.name = std::move(name);
  cluster.summary = std::move(summary);
  cluster.provenance = std::move(provenance);
  cluster.transfer_model = TransferModel::kPhysical;
  for (const MeasuredDevice& device : devices) {
    auto found = std::ranges::find(cluster.profiles, device.profile.name, &DeviceProfile::name);
    if (found == cluster.profiles.end()) {
      cluster.profiles.push_back(device.profile);
      found = cluster.profiles.end() - 1;
    }
    EMPLACE_CHECK(*found == device.profile, "two profiles are called '{}'", device.profile.name);
    cluster.devices.push_back(
        {.name = device.name,
         .profile = static_cast<std::size_t>(found - cluster.profiles.begin()),
         .placeable = device.placeable});
  }
  std::vector<std::string> names;
  std::ranges::transform(cluster.devices, std::back_inserter(names), &Device::name);
  std::string& notes = cluster.provenance.notes;
  for (const CopyPair& pair : copies.pairs) {
    notes += fmt::format("{}{}.", notes.empty() ? "" : " ", pair.why);
  }
  cluster.topology = LinkBuilder(names, copies, host).build(notes);
  return cluster;
}

}  // namespace emplace::calibrate
