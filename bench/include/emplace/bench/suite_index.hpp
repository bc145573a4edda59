#pragma once

// Finds the position of a cell in its suite: the indices of its graph, cluster and agent.

#include <emplace/bench/cell.hpp>
#include <emplace/bench/suite.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>

namespace emplace::bench {

/// The indices of a cell in the lists of its suite. They sort in the order of cells_of().
struct CellPosition {
  std::size_t graph = 0;
  std::size_t cluster = 0;
  std::size_t agent = 0;
  std::int64_t repetition = 0;

  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 15 takes the 0 behind <=> for a pointer
  auto operator<=>(const CellPosition&) const = default;
};

/// Finds cells of one suite.
class SuiteIndex {
 public:
  /// Prepares for the cells of a run. Requires: `suite` outlives the index.
  SuiteIndex(const Suite& suite, std::uint64_t root_seed);

  /// Returns the position of `cell`, or nothing if the suite has no such cell.
  std::optional<CellPosition> find(const Cell& cell) const;

  /// Returns what reports call the agent of `cell`. Requires: the suite has the cell.
  const std::string& label_of(const Cell& cell) const;

 private:
  using AgentKey = std::tuple<std::string, std::int64_t, std::string, bool>;

  const Suite& suite_;
  std::uint64_t root_seed_;
  std::map<std::string, std::size_t> graphs_;
  std::map<std::string, std::size_t> clusters_;
  std::multimap<AgentKey, std::size_t> agents_;
};

}  // namespace emplace::bench
