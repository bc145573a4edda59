#pragma once

// A suite says what is compared: graphs x clusters x agents x repetitions, under one budget. It is
// a JSON file (bench/schema/suite.schema.json); some are shipped by name.

#include <emplace/graphs/grouping_strategy.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace emplace::bench {

/// Describes a comparison.
struct Suite {
  std::string name{};                   ///< kebab-case
  std::string summary{};                ///< one line
  std::vector<std::string> graphs{};    ///< as for load_graph()
  std::vector<std::string> clusters{};  ///< as for load_cluster()
  std::vector<std::string> agents{};  ///< `NAME[:key=value,...]`; "*" in the file means all, sorted
  std::int64_t repetitions = 1;       ///< of agents that are not deterministic; others run once
  std::int64_t max_evaluations = 1000;     ///< per cell
  std::int64_t groups = 0;                 ///< target of the grouping; 0 for its default
  std::string grouping{kDefaultGrouping};  ///< strategy, as for find_grouping()

  bool operator==(const Suite&) const = default;
};

/// Reads a suite; `source` names it in errors. Throws kFormat, with the nearest names where a
/// graph, cluster, agent or parameter does not exist. Files that the suite names are not opened
/// here.
Suite read_suite(std::string_view text, const std::string& source);

/// Returns the suite as JSON text, which read_suite() accepts; agents are listed one by one.
std::string write_suite(const Suite& suite);

/// Returns the names of the shipped suites, sorted.
std::vector<std::string> suite_names();

/// Returns the shipped suite called `name`, or reads the file that it names (anything with a '/' or
/// ending in ".json"). Throws kUnknownName, kIo or kFormat.
Suite load_suite(std::string_view name_or_path);

}  // namespace emplace::bench
