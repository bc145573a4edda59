#include "suite_json.hpp"

#include <emplace/agents/registry.hpp>
#include <emplace/bench/suite.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/embedded.hpp>
#include <emplace/graphs/error.hpp>
#include <emplace/graphs/params.hpp>
#include <emplace/graphs/text_file.hpp>
#include <emplace/profiles/cluster.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <span>

namespace emplace::embedded {
std::span<const Document> suites();
}  // namespace emplace::embedded

namespace emplace::bench {
namespace {

constexpr std::string_view kSchema = "emplace-suite";
constexpr std::int64_t kVersion = 1;
constexpr std::size_t kMaxNameLength = 64;
constexpr std::int64_t kMaxRepetitions = 10'000;
constexpr std::int64_t kMaxEvaluations = 1'000'000'000;
constexpr std::int64_t kMaxGroups = 1'000'000;
// A million cells of the cheapest agents take hours; a longer list is a mistake in the file.
constexpr std::int64_t kMaxCells = 1'000'000;

bool names_file(std::string_view name_or_path) {
  return name_or_path.find('/') != std::string_view::npos || name_or_path.ends_with(".json");
}

// Folders of results are called after suites, so a name must be safe as one.
bool is_kebab_case(std::string_view name) {
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !name.empty() && plain(name.front()) && plain(name.back()) &&
         std::ranges::all_of(name, [&](char c) { return plain(c) || c == '-'; }) &&
         name.find("--") == std::string_view::npos;
}

using Names = std::vector<std::string>;

// What a name in a suite stands for; throws where it does not exist.
Names expand_graph(const std::string& name) { return expand_graphs(name); }

Names expand_cluster(const std::string& name) {
  const Names names = cluster_names();
  if (!names_file(name) && !std::ranges::binary_search(names, name)) {
    throw_unknown_name("cluster", name, names);
  }
  return {name};
}

Names expand_agent(const std::string& name) {
  const Spec spec = Spec::parse(name);
  resolve_params(agents::AgentRegistry::global().info(spec.name).parameters, spec,
                 "agent " + spec.name);
  return {name};
}

Names expanded(const JsonCursor& name, Names (*expand)(const std::string&)) {
  try {
    return expand(name.non_empty_text());
  } catch (const Error& error) {
    name.fail(error.what());
  }
}

// Reads a list of different names.
Names read_names(const JsonCursor& json, KnownNames known_names,
                 Names (*expand)(const std::string&)) {
  Names names;
  std::set<std::string> seen;
  for (const JsonCursor& element : json.elements()) {
    const bool required = known_names == KnownNames::kRequired;
    for (const std::string& name :
         required ? expanded(element, expand) : Names{element.non_empty_text()}) {
      if (!seen.insert(name).second) {
        element.fail("'" + name + "' is in the list already");
      }
      names.push_back(name);
    }
  }
  if (names.empty()) {
    json.fail("expected at least one name");
  }
  return names;
}

std::int64_t read_integer(const JsonCursor& json, std::string_view key, std::int64_t min,
                          std::int64_t max, std::int64_t default_value) {
  const std::optional<JsonCursor> member = json.find(key);
  return member ? member->integer(min, max) : default_value;
}

}  // namespace

Suite suite_from_json(const JsonCursor& json, KnownNames known_names) {
  json.expect_schema(kSchema, kVersion);
  json.expect_only({"schema", "version", "name", "summary", "graphs", "clusters", "agents",
                    "repetitions", "max_evaluations", "groups", "grouping"});
  Suite suite;
  suite.name = json.at("name").text();
  if (!is_kebab_case(suite.name) || suite.name.size() > kMaxNameLength) {
    json.at("name").fail("expected lower-case letters, digits and single '-', at most 64 of them");
  }
  if (const auto summary = json.find("summary")) {
    suite.summary = summary->text();
  }
  suite.graphs = read_names(json.at("graphs"), known_names, expand_graph);
  suite.clusters = read_names(json.at("clusters"), known_names, expand_cluster);
  const JsonCursor agents = json.at("agents");
  if (agents.is_text()) {
    if (agents.text() != "*") {
      agents.fail("expected a list of agents, or \"*\" for all");
    }
    suite.agents = agents::AgentRegistry::global().names();
  } else {
    suite.agents = read_names(agents, known_names, expand_agent);
  }
  suite.repetitions = read_integer(json, "repetitions", 1, kMaxRepetitions, suite.repetitions);
  suite.max_evaluations =
      read_integer(json, "max_evaluations", 1, kMaxEvaluations, suite.max_evaluations);
  suite.groups = read_integer(json, "groups", 0, kMaxGroups, suite.groups);
  if (const auto grouping = json.find("grouping")) {
    suite.grouping = grouping->non_empty_text();
    if (known_names == KnownNames::kRequired) {
      try {
        target_of(find_grouping(suite.grouping), suite.groups);
      } catch (const Error& error) {
        grouping->fail(error.what());
      }
    }
  }

  const double cells =
      static_cast<double>(suite.graphs.size()) * static_cast<double>(suite.clusters.size()) *
      static_cast<double>(suite.agents.size()) * static_cast<double>(suite.repetitions);
  if (cells > static_cast<double>(kMaxCells)) {
    json.fail("expected at most 1000000 cells (graphs x clusters x agents x repetitions)");
  }
  return suite;
}

nlohmann::ordered_json suite_to_json(const Suite& suite) {
  return {{"schema", kSchema},
          {"version", kVersion},
          {"name", suite.name},
          {"summary", suite.summary},
          {"graphs", suite.graphs},
          {"clusters", suite.clusters},
          {"agents", suite.agents},
          {"repetitions", suite.repetitions},
          {"max_evaluations", suite.max_evaluations},
          {"groups", suite.groups},
          {"grouping", suite.grouping}};
}

Suite read_suite(std::string_view text, const std::string& source) {
  const JsonDocument document = JsonDocument::parse(text, source);
  return suite_from_json(document.root(), KnownNames::kRequired);
}

std::string write_suite(const Suite& suite) { return suite_to_json(suite).dump(2) + "\n"; }

std::vector<std::string> suite_names() {
  std::vector<std::string> names;
  for (const embedded::Document& document : embedded::suites()) {
    names.emplace_back(document.name);
  }
  std::ranges::sort(names);
  return names;
}

Suite load_suite(std::string_view name_or_path) {
  if (names_file(name_or_path)) {
    const std::string path(name_or_path);
    return read_suite(read_text_file(path), path);
  }
  for (const embedded::Document& document : embedded::suites()) {
    if (name_or_path == document.name) {
      return read_suite(document.text, "suite " + std::string(document.name));
    }
  }
  throw_unknown_name("suite", name_or_path, suite_names());
}

}  // namespace emplace::bench
