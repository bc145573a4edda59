#include <emplace/graphs/check.hpp>
#include <emplace/graphs/partition_graph.hpp>

#include <metis.h>

#include <array>
#include <cstddef>
#include <mutex>
#include <numeric>

namespace emplace {
namespace {

constexpr idx_t kSeed = 1;

std::size_t index(std::int32_t id) { return static_cast<std::size_t>(id); }

// METIS can recurse by itself, but prints to the standard output when a part runs empty on the way
// (more parts than heavy vertices); hence the recursion is here and METIS bisects only.
class RecursiveBisection {
 public:
  RecursiveBisection(const PartitionGraph& graph, std::span<const double> shares)
      : graph_(graph),
        shares_(shares),
        local_(graph.weights.size(), kOutside),
        part_(graph.weights.size(), 0) {
    std::vector<std::int32_t> all(part_.size());
    std::iota(all.begin(), all.end(), 0);
    split(all, 0, shares_.size());
  }

  std::vector<std::int32_t> parts() && { return std::move(part_); }

 private:
  static constexpr idx_t kOutside = -1;

  // Spreads `vertices` over the parts [first, last).
  void split(const std::vector<std::int32_t>& vertices, std::size_t first, std::size_t last) {
    if (last - first == 1 || vertices.size() < 2) {
      for (const std::int32_t vertex : vertices) {
        part_[index(vertex)] = static_cast<std::int32_t>(first);
      }
      return;
    }
    const std::size_t middle = first + (last - first) / 2;
    const auto sum = [this](std::size_t from, std::size_t to) {
      return std::accumulate(shares_.begin() + static_cast<std::ptrdiff_t>(from),
                             shares_.begin() + static_cast<std::ptrdiff_t>(to), 0.0);
    };
    const auto left = static_cast<real_t>(sum(first, middle) / sum(first, last));
    const std::vector<idx_t> side = bisect(vertices, left);
    std::array<std::vector<std::int32_t>, 2> halves;
    for (std::size_t i = 0; i < vertices.size(); ++i) {
      halves[index(side[i])].push_back(vertices[i]);
    }
    split(halves[0], first, middle);
    split(halves[1], middle, last);
  }

  // Returns the side, 0 or 1, of each of `vertices`; side 0 gets the share `left` of their weight.
  std::vector<idx_t> bisect(const std::vector<std::int32_t>& vertices, real_t left) {
    for (std::size_t i = 0; i < vertices.size(); ++i) {
      local_[index(vertices[i])] = static_cast<idx_t>(i);
    }
    std::vector<idx_t> begin{0};
    std::vector<idx_t> neighbours;
    std::vector<idx_t> edge_weights;
    std::vector<idx_t> weights;
    for (const std::int32_t vertex : vertices) {
      weights.push_back(graph_.weights[index(vertex)]);
      for (auto at = index(graph_.begin[index(vertex)]);
           at < index(graph_.begin[index(vertex) + 1]); ++at) {
        const idx_t neighbour = local_[index(graph_.neighbours[at])];
        if (neighbour != kOutside) {
          neighbours.push_back(neighbour);
          edge_weights.push_back(graph_.edge_weights[at]);
        }
      }
      begin.push_back(static_cast<idx_t>(neighbours.size()));
    }
    for (const std::int32_t vertex : vertices) {
      local_[index(vertex)] = kOutside;
    }

    auto num_vertices = static_cast<idx_t>(vertices.size());
    idx_t num_constraints = 1;
    idx_t num_parts = 2;
    idx_t cut = 0;
    std::array<real_t, 2> targets{left, 1 - left};
    std::array<idx_t, METIS_NOPTIONS> options{};
    METIS_SetDefaultOptions(options.data());
    options[METIS_OPTION_SEED] = kSeed;
    std::vector<idx_t> side(vertices.size(), 0);
    const int status =
        METIS_PartGraphRecursive(&num_vertices, &num_constraints, begin.data(), neighbours.data(),
                                 weights.data(), nullptr, edge_weights.data(), &num_parts,
                                 targets.data(), nullptr, options.data(), &cut, side.data());
    EMPLACE_CHECK(status == METIS_OK, "METIS returned {} for {} vertices", status, vertices.size());
    return side;
  }

  const PartitionGraph& graph_;
  std::span<const double> shares_;
  std::vector<idx_t> local_;  // by vertex: its number in the graph that METIS sees
  std::vector<std::int32_t> part_;
};

}  // namespace

std::vector<std::int32_t> metis_parts(const PartitionGraph& graph, std::span<const double> shares) {
  // METIS 5.1 keeps the state of its random numbers in globals.
  static std::mutex mutex;
  const std::scoped_lock lock(mutex);
  return RecursiveBisection(graph, shares).parts();
}

}  // namespace emplace
