#include "suite_json.hpp"

#include <emplace/base/embedded.hpp>
#include <emplace/base/error.hpp>
#include <emplace/bench/suite.hpp>

#include <algorithm>
#include <span>

namespace emplace::embedded {
std::span<const Document> suites();
}  // namespace emplace::embedded

namespace emplace::bench {
namespace {

JsonDocument open_suite(std::string_view name_or_path) {
  if (names_file(name_or_path)) {
    return JsonDocument::read(std::string(name_or_path));
  }
  for (const embedded::Document& document : embedded::suites()) {
    if (name_or_path == document.name) {
      return JsonDocument::parse(document.text, "suite " + std::string(document.name));
    }
  }
  throw_unknown_name("suite", name_or_path, suite_names());
}

JsonDocument open_extended(const JsonCursor& name) {
  try {
    return open_suite(name.non_empty_text());
  } catch (const Error& error) {
    name.fail(error.what());
  }
}

Suite read_suite(const JsonDocument& document) {
  const JsonCursor root = document.root();
  const std::optional<JsonCursor> name = root.is_object() ? root.find("extends") : std::nullopt;
  if (!name) {
    return suite_from_json(root, KnownNames::kRequired);
  }
  const JsonDocument extended = open_extended(*name);
  return suite_from_json(root, KnownNames::kRequired, extended.root());
}

}  // namespace

bool names_file(std::string_view name_or_path) {
  return name_or_path.find('/') != std::string_view::npos || name_or_path.ends_with(".json");
}

bool SuiteGraph::is_placed_on(const std::string& cluster) const {
  return clusters.empty() || std::ranges::find(clusters, cluster) != clusters.end();
}

std::int64_t Suite::groups_of(const SuiteGraph& graph, const SuiteAgent& agent) const {
  return find_grouping(grouping_of(graph, agent)).takes_target ? groups_of(graph) : 0;
}

Suite read_suite(std::string_view text, const std::string& source) {
  return read_suite(JsonDocument::parse(text, source));
}

std::string write_suite(const Suite& suite) { return suite_to_json(suite).indented(2) + "\n"; }

std::vector<std::string> suite_names() {
  std::vector<std::string> names;
  for (const embedded::Document& document : embedded::suites()) {
    names.emplace_back(document.name);
  }
  std::ranges::sort(names);
  return names;
}

Suite load_suite(std::string_view name_or_path) { return read_suite(open_suite(name_or_path)); }

}  // namespace emplace::bench
