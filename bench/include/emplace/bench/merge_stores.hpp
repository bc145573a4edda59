#pragma once

// Merges stores of one suite, such as those of its shards, into one store. It contains what one run
// would have written, except for measured times and the order of the lines: each cell once, and all
// policies with their learning curves. If two stores have the same cell or policy, they must agree
// in every bit except for measured times.

#include <emplace/bench/cell.hpp>
#include <emplace/bench/manifest.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace emplace::bench {

/// What a merge found.
struct Merge {
  Manifest manifest{};  ///< of the merged store: of the whole suite, with the starts of all stores
  std::int64_t num_cells = 0;       ///< in the merged store
  std::int64_t num_duplicates = 0;  ///< results that more than one store had
  std::int64_t num_policies = 0;
  std::vector<Cell> missing{};  ///< cells of the suite that no store has, in its order
  std::vector<std::string> missing_policies{};  ///< files of policies that cells started from
  std::vector<Shard> absent{};      ///< if all stores are shards of one count: those not given
  bool has_several_builds = false;  ///< of emplace
};

/// Merges the stores in `folders` into a new store in `output`. Reads each twice and keeps the text
/// of one in memory at a time. Throws kUsage if `output` has a store, and kFormat if the stores are
/// of different suites, seeds or problems, or if results or policies differ, which it names; then
/// nothing is written. Throws kIo, and kUnknownName if cells are missing of an agent that this
/// program does not have.
Merge merge_stores(const std::vector<std::string>& folders, const std::string& output);

}  // namespace emplace::bench
