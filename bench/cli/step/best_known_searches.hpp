#pragma once

// Where `emplace dev best-known` takes placements from: a search by an agent, placement files,
// and results of runs.

#include "options.hpp"

#include <emplace/bench/best_known.hpp>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace emplace::cli {

/// Says of which problems to look for better placements, and where.
struct BestKnownSources {
  std::vector<std::string> graphs{};    ///< none: those of all entries
  std::vector<std::string> clusters{};  ///< none where there are no graphs
  std::vector<std::string> from{};  ///< placement files and folders of runs; excludes the others
  AgentOptions agent{};             ///< without a name: nothing is searched
};

/// Describes a search for one graph and cluster.
struct BestKnownSearch {
  std::string graph{};
  std::string cluster{};
  /// Returns an entry for this problem of load_finest_problem(); nothing if what was found runs out
  /// of memory. An agent starts from the present entry. Throws Error. Empty: there is nothing to
  /// search.
  std::function<std::optional<bench::BestKnown>(const Problem&,
                                                const std::optional<bench::BestKnown>& present)>
      run{};
  double least_us = 0;  ///< the search finds nothing faster
};

/// Returns the searches in order; `folder` holds the entries. Throws Error, of kUsage for graphs
/// without clusters or clusters without graphs.
std::vector<BestKnownSearch> searches_of(const BestKnownSources& sources,
                                         const std::string& folder);

}  // namespace emplace::cli
