#include <emplace/base/embedded.hpp>
#include <emplace/base/error.hpp>
#include <emplace/base/json_cursor.hpp>
#include <emplace/base/text_file.hpp>
#include <emplace/profiles/cluster.hpp>

#include <algorithm>
#include <span>

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

}  // namespace

std::vector<std::string> cluster_names() { return sorted_names(embedded::clusters()); }

std::string_view shipped_cluster_file(std::string_view name) {
  return find_document(embedded::clusters(), "cluster", name).text;
}

std::vector<std::string> device_profile_names() {
  return sorted_names(embedded::device_profiles());
}

Cluster load_cluster(std::string_view name_or_path) {
  constexpr std::string_view kMath = ":math=";
  if (const std::size_t at = name_or_path.rfind(kMath); at != std::string_view::npos) {
    const std::string_view mode = name_or_path.substr(at + kMath.size());
    std::vector<std::string> names;
    for (const MathMode math : {MathMode::kFloat32, MathMode::kTf32}) {
      if (mode == to_string(math)) {
        Cluster cluster = load_cluster(name_or_path.substr(0, at));
        cluster.math = math;
        return cluster;
      }
      names.emplace_back(to_string(math));
    }
    throw_unknown_name("math mode", mode, names);
  }
  if (is_path(name_or_path)) {
    const std::string path(name_or_path);
    return read_cluster(read_text_file(path), path);
  }
  const Document& document = find_document(embedded::clusters(), "cluster", name_or_path);
  return read_cluster(document.text, document.name);
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
