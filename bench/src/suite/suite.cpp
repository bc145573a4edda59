#include "suite_json.hpp"

#include <emplace/base/embedded.hpp>
#include <emplace/base/error.hpp>
#include <emplace/bench/suite.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <span>
#include <vector>

namespace emplace::embedded {
std::span<const Document> suites();
}  // namespace emplace::embedded

namespace emplace::bench {
namespace {

constexpr std::size_t kMaxExtended = 10;

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

// The suite that another extends, or nothing.
std::optional<JsonCursor> extended_by(const JsonCursor& suite) {
  return suite.is_object() ? suite.find("extends") : std::nullopt;
}

Suite read_suite(const JsonDocument& document) {
  std::deque<JsonDocument> documents;
  std::vector<JsonCursor> extended;
  for (auto name = extended_by(document.root()); name; name = extended_by(extended.back())) {
    if (extended.size() == kMaxExtended) {  // files may extend each other in a circle
      name->fail(fmt::format("expected at most {} suites that extend one another", kMaxExtended));
    }
    documents.push_back(open_extended(*name));
    extended.push_back(documents.back().root());
  }
  return suite_from_json(document.root(), KnownNames::kRequired, extended);
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
