#pragma once

// Unites stores of one suite, such as those of its shards, in one store. It holds what one run
// would have written, but for measured times and the order of the lines: each cell once, and all
// policies with their learning curves. Where two stores have the same cell or policy, both must
// agree in every bit but for measured times.

#include <emplace/bench/cell.hpp>
#include <emplace/bench/manifest.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace emplace::bench {

/// Tells what a merge found.
struct Merge {
  Manifest manifest{};  ///< of the united store: of the whole suite, with the starts of all stores
  std::int64_t num_cells = 0;       ///< in the united store
  std::int64_t num_duplicates = 0;  ///< results that more than one store had
  std::int64_t num_policies = 0;
  std::vector<Cell> missing{};  ///< cells of the suite that no store has, in its order
  std::vector<std::string> missing_policies{};  ///< files of policies that cells started from
  std::vector<Shard> absent{};      ///< if all stores are shards of one count: those not given
  bool has_several_builds = false;  ///< of emplace
};

/// Unites the stores in `folders` in a new store in `output`. Reads each twice and holds the
/// text of one at a time. Throws kUsage if `output` holds a store, kFormat if the stores are of
/// other suites, seeds or problems, or if results or policies differ, which it names; then nothing
/// is written. Also kIo, and kUnknownName if cells of an agent are missing that this program does
/// not have.
Merge merge_stores(const std::vector<std::string>& folders, const std::string& output);

}  // namespace emplace::bench
