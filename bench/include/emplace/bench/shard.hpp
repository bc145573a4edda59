#pragma once

// A shard is a part of a suite that one machine runs: `--shard 2/8` is the second of eight. Every
// machine divides the suite for itself, and in the same way: the parts depend on the suite, the
// seed and the work of each cell (suite_costs.hpp) alone.
//
// What is divided are pieces. A policy of the suite and all cells that start from it are one piece,
// so each policy is trained once. Every other cell is a piece of its own. The piece of most work
// goes first, and each to the shard with the least work so far ("longest processing time", Graham
// 1969): the longest shard takes at most 4/3 - 1/(3 count) of what the best division would.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace emplace::bench {

/// The most parts of a suite.
inline constexpr std::int64_t kMaxShards = 1'000'000;

/// Names a part of a suite.
struct Shard {
  std::int64_t index = 1;  ///< from 1 to `count`
  std::int64_t count = 1;

  /// Returns whether it is the whole suite.
  bool is_whole() const { return count == 1; }

  /// Returns "INDEX/COUNT".
  std::string text() const;

  /// Returns the name of a run of this part of `suite`, the default name of its folder.
  std::string name_of_run(const std::string& suite) const;

  bool operator==(const Shard&) const = default;
};

/// Reads "INDEX/COUNT"; throws kUsage.
Shard read_shard(std::string_view text);

/// What cannot be divided between shards: some cells, and the training that they need.
struct Piece {
  std::vector<std::size_t> cells{};      ///< positions among the cells of the suite, in order
  std::vector<std::size_t> trainings{};  ///< among its trainings: one, or none
  double work = 0;
};

/// What a shard runs: positions among the cells and the trainings of the suite, in order.
struct ShardWork {
  std::vector<std::size_t> cells{};
  std::vector<std::size_t> trainings{};
  double work = 0;
};

/// Divides `pieces` into `count` shards; takes n log n for n pieces. Shards may be empty.
std::vector<ShardWork> divide(const std::vector<Piece>& pieces, std::int64_t count);

}  // namespace emplace::bench
