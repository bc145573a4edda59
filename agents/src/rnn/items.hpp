#pragma once

// The input sequence of the recurrent agents: the groups of a problem in topological order, each
// with the kinds of its ops, the shapes of the tensors that leave it, and its neighbours.

#include <emplace/base/ids.hpp>
#include <emplace/sim/problem.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace emplace::agents::rnn {

/// Limits the outputs that describe an item, those of the most bytes, and the dimensions of each.
inline constexpr std::size_t kShapes = 6;
inline constexpr std::size_t kDimensions = 4;

/// Describes one item: a group.
struct Item {
  GroupId group = 0;
  std::vector<float> kinds{};  ///< ops of each kind; unknown kinds last
  /// Dimensions of the outputs that leave the group; -1 where there is none.
  std::array<std::int64_t, kShapes * kDimensions> shapes{};
  std::vector<std::int32_t> producers{};  ///< items whose results it reads
  std::vector<std::int32_t> consumers{};  ///< items that read its results
  std::int32_t breadth_first =
      0;  ///< position in a breadth-first search from the items without producers
};

/// Returns the number of op kinds, with one for all unknown ones.
std::size_t num_kinds();

/// Lists the items of `problem`.
std::vector<Item> items_of(const Problem& problem);

/// Returns log(1 + dimension) / 10, which is below 2 for any tensor that fits a memory; `absent`
/// for -1. A sum of dimensions may be larger than any integer.
double scaled_dimension(double dimension, double absent);

}  // namespace emplace::agents::rnn
