#pragma once

// A part of a suite, chosen by names.

#include <emplace/bench/suite.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace emplace::bench {

/// Selects a part of a suite. An empty list selects everything. A name is one of the suite's, as a
/// whole or only the part before its colon ("placeto" selects "placeto:preset=paper"); several may
/// be separated by commas.
struct SuiteFilter {
  std::vector<std::string> graphs{};  ///< or families
  std::vector<std::string> clusters{};
  std::vector<std::string> agents{};              ///< as reports call them, or the agents' names
  std::optional<std::int64_t> max_evaluations{};  ///< of all agents, whatever the suite says
};

/// Returns what the filter leaves, without the baselines, policies, families and published figures
/// that nothing in it uses. Throws kUnknownName for a name that the suite does not have, and kUsage
/// if nothing is left or if two agents become the same.
Suite narrowed(Suite suite, const SuiteFilter& filter);

}  // namespace emplace::bench
