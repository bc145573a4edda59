#include "cluster_text.hpp"

#include <emplace/base/error.hpp>
#include <emplace/profiles/constraints.hpp>
#include <emplace/profiles/what_if.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <utility>

namespace emplace {
namespace {

constexpr std::string_view kOfLink = "link:";
constexpr std::string_view kOfDevice = "device:";

struct Change {
  std::string_view text{};
  std::string name{};  // of devices or links
  std::string_view field{};
  std::string_view value{};

  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(ErrorCode::kUsage, fmt::format("set '{}': {}", excerpt(text), why));
  }

  double size(std::string_view bytes) const {
    return static_cast<double>(parse_size(bytes, fmt::format("set '{}'", excerpt(text))));
  }
};

Change read(std::string_view text) {
  Change change{.text = text};
  const std::size_t begin = text.find(':') + 1;
  const std::size_t equals = text.find('=');
  const std::size_t dot = text.substr(0, equals).rfind('.');
  if (equals == std::string_view::npos || dot == std::string_view::npos || dot <= begin) {
    change.refuse(
        "expected link:NAME.FIELD=VALUE or device:NAME.FIELD=VALUE, for example "
        "link:nvlink.bandwidth=2x");
  }
  change.name = text.substr(begin, dot - begin);
  change.field = text.substr(dot + 1, equals - dot - 1);
  change.value = text.substr(equals + 1);
  return change;
}

// Returns the number of "2x", or nothing of other texts.
std::optional<double> factor_of(std::string_view text) {
  double factor = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), factor);
  if (error != std::errc() || end + 1 != text.data() + text.size() || *end != 'x') {
    return std::nullopt;
  }
  return factor;
}

double factor_of(const Change& change) {
  const auto factor = factor_of(change.value);
  if (!factor || !(*factor > 0 && *factor <= kMaxSpeed)) {
    change.refuse(
        fmt::format("expected a factor above 0 and up to {:g}, for example 2x or 0.5x", kMaxSpeed));
  }
  return *factor;
}

// Returns `now` times the factor that the change is, or the quantity that `parse` reads.
double changed(const Change& change, double now, double least, double most, std::string_view unit,
               const std::function<double(std::string_view)>& parse) {
  const double value = factor_of(change.value) ? now * factor_of(change) : parse(change.value);
  if (!(value >= least && value <= most)) {
    change.refuse(fmt::format("expected {:g} to {:g} {}", least, most, unit));
  }
  return value;
}

double bytes_per_us(const Change& change, double now) {
  return changed(change, now, kMinBytesPerUs, kMaxBytesPerUs, "bytes/us",
                 [&](std::string_view text) {
                   if (!text.ends_with("/s")) {
                     change.refuse("expected a factor or a bandwidth, for example 2x or 25GB/s");
                   }
                   text.remove_suffix(2);
                   return change.size(text) / 1e6;
                 });
}

double microseconds(const Change& change, double now) {
  return changed(change, now, 0, kMaxLatencyUs, "us", [&](std::string_view text) {
    static constexpr std::array<std::pair<std::string_view, double>, 3> kUnits = {
        {{"us", 1}, {"ms", 1e3}, {"s", 1e6}}};
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
    const auto* const found =
        std::ranges::find(kUnits, unit, [](const auto& one) { return one.first; });
    if (error != std::errc() || found == kUnits.end()) {
      change.refuse("expected a factor or a time, for example 0.5x or 5us");
    }
    return number * found->second;
  });
}

// "nvlink:0-1 gpu:0>gpu:1" is also called "nvlink:0-1" and "nvlink".
bool is_called(const std::string& link, const std::string& pattern) {
  return matches(pattern, link) || matches(pattern, link.substr(0, link.find(' '))) ||
         matches(pattern, link.substr(0, link.find_first_of(": ")));
}

void change_link(Link& link, const Change& change) {
  if (change.field == "bandwidth") {
    link.bytes_per_us = bytes_per_us(change, link.bytes_per_us);
  } else if (change.field == "latency") {
    link.latency_us = microseconds(change, link.latency_us);
  } else {
    change.refuse("a link has a bandwidth and a latency");
  }
}

void change_links(Cluster& cluster, const Change& change) {
  std::vector<Link> links = cluster.topology.links();
  std::vector<std::string> names;
  bool is_found = false;
  for (Link& link : links) {
    names.push_back(link.name.substr(0, link.name.find(' ')));
    if (is_called(link.name, change.name)) {
      is_found = true;
      change_link(link, change);
    }
  }
  if (!is_found) {
    names.erase(std::unique(names.begin(), names.end()), names.end());
    throw_unknown_name(fmt::format("link of cluster {}", cluster.name), change.name, names);
  }
  Topology topology(cluster.topology.num_devices(), std::move(links));
  for (DeviceId from = 0; from < topology.num_devices(); ++from) {
    for (DeviceId to = 0; to < topology.num_devices(); ++to) {
      if (from != to) {
        const auto route = cluster.topology.route(from, to);
        topology.set_route(from, to, {route.begin(), route.end()});
      }
    }
  }
  cluster.topology = std::move(topology);
}

void change_channels(Cluster& cluster, const Change& change) {
  const std::string_view model = to_string(cluster.transfer_model);
  if (change.name != "*") {
    change.refuse(fmt::format("all channels of the '{}' model are alike; expected link:*", model));
  }
  const bool is_placeto = cluster.transfer_model == TransferModel::kPlaceto;
  if (change.field == "bandwidth") {
    double& bandwidth = is_placeto ? cluster.placeto.bytes_per_us : cluster.grappler.bytes_per_us;
    bandwidth = bytes_per_us(change, bandwidth);
  } else if (change.field == "latency" && !is_placeto) {
    cluster.grappler.latency_us = microseconds(change, cluster.grappler.latency_us);
  } else {
    change.refuse(fmt::format("a channel of the '{}' model has a bandwidth{}", model,
                              is_placeto ? "" : " and a latency"));
  }
}

void change_profile(DeviceProfile& profile, const Change& change) {
  if (change.field == "memory") {
    const double bytes = changed(change, static_cast<double>(profile.memory_bytes), 1, 1e18,
                                 "bytes", [&](std::string_view text) { return change.size(text); });
    profile.memory_bytes = std::llround(bytes);
    if (profile.usable_bytes() <= 0) {
      change.refuse("context and framework take more than this memory");
    }
  } else if (change.field == "speed") {
    profile.speed *= factor_of(change);
  } else if (change.field == "launch") {
    profile.launch_us = microseconds(change, profile.launch_us);
  } else {
    change.refuse("a device has a memory, a speed and a launch time");
  }
}

// Devices that change leave their profile to the others.
void change_devices(Cluster& cluster, const Change& change) {
  if (change.field == "launch" && cluster.transfer_model != TransferModel::kPhysical) {
    change.refuse(fmt::format("launches are part of the 'physical' model only; {} is of '{}'",
                              cluster.name, to_string(cluster.transfer_model)));
  }
  std::vector<std::string> names;
  std::vector<DeviceProfile> profiles;
  std::map<std::pair<std::size_t, bool>, std::size_t> places;
  bool is_found = false;
  for (Device& device : cluster.devices) {
    names.push_back(device.name);
    const bool changes = matches(change.name, device.name);
    is_found |= changes;
    const auto [place, is_new] = places.try_emplace({device.profile, changes}, profiles.size());
    if (is_new) {
      profiles.push_back(cluster.profiles[device.profile]);
      if (changes) {
        change_profile(profiles.back(), change);
        profiles.back().name += "-" + device.name;
        std::ranges::replace(profiles.back().name, ':', '-');
      }
    }
    device.profile = place->second;
  }
  if (!is_found) {
    throw_unknown_name(fmt::format("device of cluster {}", cluster.name), change.name, names);
  }
  cluster.profiles = std::move(profiles);
}

}  // namespace

bool changes_cluster(std::string_view change) {
  return change.starts_with(kOfLink) || change.starts_with(kOfDevice);
}

void change(Cluster& cluster, const std::vector<std::string>& changes) {
  for (const std::string& text : changes) {
    const Change change = read(text);
    if (text.starts_with(kOfDevice)) {
      change_devices(cluster, change);
    } else if (!text.starts_with(kOfLink)) {
      change.refuse("expected link:NAME or device:NAME");
    } else if (cluster.transfer_model == TransferModel::kPhysical) {
      change_links(cluster, change);
    } else {
      change_channels(cluster, change);
    }
  }
}

std::string with_changes(std::string_view cluster, const std::vector<std::string>& changes) {
  Spec spec = without_parameters(cluster).second;
  add_values(spec, "set", changes);
  return spec.text();
}

}  // namespace emplace
