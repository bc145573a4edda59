#include <emplace/base/check.hpp>
#include <emplace/base/id_vector.hpp>
#include <emplace/graphs/partition_graph.hpp>

#include <metis.h>

#include <array>
#include <cstddef>
#include <mutex>
#include <numeric>

namespace emplace {
namespace {

constexpr idx_t kSeed = 1;

// METIS can recurse by itself, but prints to the standard output when a part runs empty on the way
// (more parts than heavy vertices); hence the recursion is here and METIS bisects only.
class RecursiveBisection {
 public:
  RecursiveBisection(const PartitionGraph& graph, std::span<const double> shares)
      : graph_(graph),
        shares_(shares),
        local_(graph.weights.size(), kOutside),
        part_(graph.weights.size(), 0) {
    std::vector<Vertex> all(part_.size());
    std::iota(all.begin(), all.end(), 0);
    split(all, 0, shares_.size());
  }

  std::vector<std::int32_t> parts() && { return std::move(part_); }

 private:
  using Vertex = PartitionGraph::Vertex;
  static constexpr idx_t kOutside = -1;

  // Spreads `vertices` over the parts [first, last).
  void split(const std::vector<Vertex>& vertices, std::size_t first, std::size_t last) {
    if (last - first == 1 || vertices.size() < 2) {
      for (const Vertex vertex : vertices) {
        part_[vertex] = static_cast<std::int32_t>(first);
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
    std::array<std::vector<Vertex>, 2> halves;
    for (std::size_t i = 0; i < vertices.size(); ++i) {
      halves[index_of(side[i])].push_back(vertices[i]);
    }
    split(halves[0], first, middle);
    split(halves[1], middle, last);
  }

  // Returns the side, 0 or 1, of each of `vertices`; side 0 gets the share `left` of their weight.
  std::vector<idx_t> bisect(const std::vector<Vertex>& vertices, real_t left) {
    for (std::size_t i = 0; i < vertices.size(); ++i) {
      local_[vertices[i]] = static_cast<idx_t>(i);
    }
    std::vector<idx_t> begin{0};
    std::vector<idx_t> neighbours;
    std::vector<idx_t> edge_weights;
    std::vector<idx_t> weights;
    for (const Vertex vertex : vertices) {
      weights.push_back(graph_.weights[vertex]);
      for (auto at = index_of(graph_.begin[vertex]); at < index_of(graph_.begin[vertex + 1]);
           ++at) {
        const idx_t neighbour = local_[graph_.neighbours[at]];
        if (neighbour != kOutside) {
          neighbours.push_back(neighbour);
          edge_weights.push_back(graph_.edge_weights[at]);
        }
      }
      begin.push_back(static_cast<idx_t>(neighbours.size()));
    }
    for (const Vertex vertex : vertices) {
      local_[vertex] = kOutside;
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
  IdVector<Vertex, idx_t> local_;  // its number in the graph that METIS sees
  IdVector<Vertex, std::int32_t> part_;
};

}  // namespace

std::vector<std::int32_t> metis_parts(const PartitionGraph& graph, std::span<const double> shares) {
  // METIS 5.1 keeps the state of its random numbers in globals.
  static std::mutex mutex;
  const std::scoped_lock lock(mutex);
  return RecursiveBisection(graph, shares).parts();
}

}  // namespace emplace
