#include <emplace/graphs/embedded.hpp>
#include <emplace/graphs/error.hpp>
#include <emplace/graphs/text_file.hpp>
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

std::vector<std::string> device_profile_names() {
  return sorted_names(embedded::device_profiles());
}

Cluster load_cluster(std::string_view name_or_path) {
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

}  // namespace emplace
