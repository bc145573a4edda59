#include "cluster_text.hpp"

#include <emplace/base/embedded.hpp>
#include <emplace/base/error.hpp>
#include <emplace/base/json_cursor.hpp>
#include <emplace/base/params.hpp>
#include <emplace/base/text_file.hpp>
#include <emplace/profiles/cluster.hpp>
#include <emplace/profiles/constraints.hpp>
#include <emplace/profiles/what_if.hpp>

#include <boost/algorithm/string/split.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

namespace emplace {

namespace embedded {
// From profiles/data, by emplace_embed() in CMakeLists.txt.
std::span<const Document> clusters();
std::span<const Document> device_profiles();
}  // namespace embedded

namespace {

using embedded::Document;

std::vector<std::string> sorted_names(std::span<const Document> documents) {
  std::vector<std::string> names;
  for (const Document& document : documents) {
    names.emplace_back(document.name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

const Document& find_document(std::span<const Document> documents, std::string_view what,
                              std::string_view name) {
  for (const Document& document : documents) {
    if (document.name == name) {
      return document;
    }
  }
  throw_unknown_name(what, name, sorted_names(documents));
}

bool is_path(std::string_view name_or_path) {
  return name_or_path.find('/') != std::string_view::npos || name_or_path.ends_with(".json");
}

Cluster load_plain_cluster(std::string_view name_or_path) {
  if (is_path(name_or_path)) {
    const std::string path(name_or_path);
    return read_cluster(read_text_file(path), path);
  }
  const Document& document = find_document(embedded::clusters(), "cluster", name_or_path);
  return read_cluster(document.text, document.name);
}

const std::vector<ParamSpec>& parameters() {
  static const std::vector<ParamSpec> all = {
      {.name = "math",
       .default_value = std::string(to_string(MathMode::kFramework)),
       .choices = {kMathModes.begin(), kMathModes.end()},
       .summary = "precision of float32 convolutions and products on devices that have TF32"},
      {.name = "framework",
       .default_value = true,
       .summary = "whether ops cost what they take in a framework's step, or what they take alone"},
      {.name = "launch",
       .default_value = 0.0,
       .min = 0,
       .max = 1e6,
       .summary = "microseconds that the host takes to launch a kernel"},
      whole_number("launch-threads", 1, 1, 1024,
                   "threads of the host that launch; thread d mod N serves device d"),
      {.name = "set",
       .default_value = std::string(),
       .summary = "link:NAME.bandwidth=2x, device:NAME.memory=40GB: what if; several by ';'"},
      {.name = "pin",
       .default_value = std::string(),
       .summary = "SCOPE=DEVICE: ops of this scope or name run there; several by ';'"},
      {.name = "together",
       .default_value = std::string(),
       .summary = "SCOPE: ops of this scope or name share a device; several by ';'"},
      {.name = "exclude",
       .default_value = std::string(),
       .summary = "DEVICE: takes no ops; several by ';'"},
      {.name = "memory",
       .default_value = std::string(),
       .summary = "DEVICE=SIZE: as if it had no more memory; several by ';'"},
      whole_number("granularity", 0, 0, kMaxGranularity,
                   "ops share a device whose scopes begin with the same N elements; 0: none do")};
  return all;
}

// Splits the value of a parameter of constraints.
std::vector<std::string> values_of(const std::string& text) {
  std::vector<std::string> values;
  if (!text.empty()) {
    boost::algorithm::split(values, text, [](char c) { return c == ';'; });
  }
  return values;
}

}  // namespace

std::pair<std::string_view, Spec> without_parameters(std::string_view text) {
  const auto is_of_key = [](char c) { return (c >= 'a' && c <= 'z') || c == '-'; };
  for (std::size_t at = text.find(':'); at != std::string_view::npos; at = text.find(':', at + 1)) {
    const std::string_view rest = text.substr(at + 1);
    const auto* const end = std::ranges::find_if_not(rest, is_of_key);
    if (end != rest.begin() && end != rest.end() && *end == '=') {
      Spec spec = Spec::parse(fmt::format("cluster{}", text.substr(at)));
      spec.name = text.substr(0, at);
      return {text.substr(0, at), std::move(spec)};
    }
  }
  return {text, {.name = std::string(text)}};
}

void add_values(Spec& spec, const std::string& key, const std::vector<std::string>& values) {
  for (const std::string& value : values) {
    if (value.empty() || value.find_first_of(",;") != std::string::npos) {
      throw Error(ErrorCode::kUsage,
                  fmt::format("{} '{}': expected a text without ',' and ';'", key, excerpt(value)));
    }
    const auto found =
        std::ranges::find(spec.given, key, &std::pair<std::string, std::string>::first);
    if (found == spec.given.end()) {
      spec.given.emplace_back(key, value);
    } else {
      found->second += ';' + value;
    }
  }
}

std::vector<std::string> cluster_names() { return sorted_names(embedded::clusters()); }

std::string_view shipped_cluster_file(std::string_view name) {
  return find_document(embedded::clusters(), "cluster", name).text;
}

std::vector<std::string> device_profile_names() {
  return sorted_names(embedded::device_profiles());
}

Cluster load_cluster(std::string_view name_or_path) {
  const auto [name, given] = without_parameters(name_or_path);
  Cluster cluster = load_plain_cluster(name);
  const Params params = resolve_params(parameters(), given, fmt::format("cluster {}", name));
  // Not given, it is as in the file.
  const auto is_given = [&all = given.given](std::string_view parameter) {
    return std::ranges::any_of(all, [&](const auto& one) { return one.first == parameter; });
  };
  if ((is_given("launch") || is_given("launch-threads")) &&
      cluster.transfer_model != TransferModel::kPhysical) {
    throw Error(ErrorCode::kUsage,
                fmt::format("cluster {}: launches are part of the 'physical' model only; its "
                            "transfer model is '{}'",
                            name, to_string(cluster.transfer_model)));
  }
  if (is_given("launch")) {
    cluster.host.launch_us = params.get<double>("launch");
  }
  if (is_given("launch-threads")) {
    cluster.host.threads = static_cast<std::int32_t>(params.get<std::int64_t>("launch-threads"));
  }
  if (is_given("math")) {
    cluster.math = static_cast<MathMode>(
        std::ranges::find(kMathModes, params.get<std::string>("math")) - kMathModes.begin());
  }
  if (!params.get<bool>("framework")) {
    for (DeviceProfile& profile : cluster.profiles) {
      profile.step_factors = DeviceProfile().step_factors;
    }
  }
  change(cluster, values_of(params.get<std::string>("set")));
  constrain(cluster, {.pins = values_of(params.get<std::string>("pin")),
                      .together = values_of(params.get<std::string>("together")),
                      .excluded = values_of(params.get<std::string>("exclude")),
                      .memory = values_of(params.get<std::string>("memory"))});
  cluster.granularity = static_cast<std::int32_t>(params.get<std::int64_t>("granularity"));
  if (name != name_or_path) {
    cluster.name += name_or_path.substr(name.size());
  }
  return cluster;
}

std::string_view without_cluster_parameters(std::string_view name_or_path) {
  return without_parameters(name_or_path).first;
}

std::string without_framework(std::string_view name_or_path) {
  Spec spec = without_parameters(name_or_path).second;
  spec.set("framework", "false");
  return spec.text();
}

DeviceProfile load_device_profile(std::string_view name) {
  const Document& document = find_document(embedded::device_profiles(), "device profile", name);
  return read_device_profile(document.text, document.name);
}

std::vector<DeviceProfile> load_device_profiles(std::string_view name_or_path) {
  if (is_path(name_or_path)) {
    const std::string path(name_or_path);
    const std::string text = read_text_file(path);
    if (JsonDocument::parse(text, path).root().find("devices")) {
      return read_cluster(text, path).profiles;
    }
    return {read_device_profile(text, path)};
  }
  const std::vector<std::string> clusters = cluster_names();
  if (std::binary_search(clusters.begin(), clusters.end(), name_or_path)) {
    return load_cluster(name_or_path).profiles;
  }
  std::vector<std::string> names = device_profile_names();
  if (!std::binary_search(names.begin(), names.end(), name_or_path)) {
    names.insert(names.end(), clusters.begin(), clusters.end());
    throw_unknown_name("device profile or cluster", name_or_path, names);
  }
  return {load_device_profile(name_or_path)};
}

}  // namespace emplace
