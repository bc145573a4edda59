#include "partition_graph.hpp"

#include <emplace/agents/agent.hpp>
#include <emplace/graphs/check.hpp>

#include <metis.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <numeric>
#include <span>
#include <vector>

namespace emplace::agents {
namespace {

constexpr idx_t kSeed = 1;

// Parts the vertices for the devices by recursive bisection with METIS, which keeps the parts' work
// in proportion to the devices' speeds and cuts few bytes. METIS can recurse by itself, but prints
// to the standard output when a part runs empty on the way (more devices than heavy groups); hence
// the recursion is here and METIS bisects only.
class RecursiveBisection {
 public:
  explicit RecursiveBisection(const Problem& problem)
      : graph_(partition_graph(problem)),
        shares_(speed_shares(problem)),
        local_(static_cast<std::size_t>(problem.num_groups()), kOutside),
        part_(static_cast<std::size_t>(problem.num_groups()), 0) {
    std::vector<GroupId> all(part_.size());
    std::iota(all.begin(), all.end(), 0);
    split(all, 0, shares_.size());
  }

  // Returns the part of a group, an index into the placeable devices.
  std::size_t part(GroupId group) const { return part_[static_cast<std::size_t>(group)]; }

 private:
  static constexpr idx_t kOutside = -1;

  // Spreads `groups` over the devices [first, last).
  void split(const std::vector<GroupId>& groups, std::size_t first, std::size_t last) {
    if (last - first == 1 || groups.size() < 2) {
      for (const GroupId group : groups) {
        part_[static_cast<std::size_t>(group)] = first;
      }
      return;
    }
    const std::size_t middle = first + (last - first) / 2;
    const auto sum = [this](std::size_t from, std::size_t to) {
      return std::accumulate(shares_.begin() + static_cast<std::ptrdiff_t>(from),
                             shares_.begin() + static_cast<std::ptrdiff_t>(to), 0.0);
    };
    const auto left = static_cast<real_t>(sum(first, middle) / sum(first, last));
    const std::vector<idx_t> side = bisect(groups, left);
    std::array<std::vector<GroupId>, 2> halves;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      halves[static_cast<std::size_t>(side[i])].push_back(groups[i]);
    }
    split(halves[0], first, middle);
    split(halves[1], middle, last);
  }

  // Returns the side, 0 or 1, of each of `groups`; side 0 gets the share `left` of their work.
  std::vector<idx_t> bisect(const std::vector<GroupId>& groups, real_t left) {
    for (std::size_t i = 0; i < groups.size(); ++i) {
      local_[static_cast<std::size_t>(groups[i])] = static_cast<idx_t>(i);
    }
    std::vector<idx_t> begin{0};
    std::vector<idx_t> neighbours;
    std::vector<idx_t> edge_weights;
    std::vector<idx_t> weights;
    for (const GroupId group : groups) {
      const auto vertex = static_cast<std::size_t>(group);
      weights.push_back(graph_.weights[vertex]);
      for (auto at = static_cast<std::size_t>(graph_.begin[vertex]);
           at < static_cast<std::size_t>(graph_.begin[vertex + 1]); ++at) {
        const idx_t neighbour = local_[static_cast<std::size_t>(graph_.neighbours[at])];
        if (neighbour != kOutside) {
          neighbours.push_back(neighbour);
          edge_weights.push_back(graph_.edge_weights[at]);
        }
      }
      begin.push_back(static_cast<idx_t>(neighbours.size()));
    }
    for (const GroupId group : groups) {
      local_[static_cast<std::size_t>(group)] = kOutside;
    }

    auto num_vertices = static_cast<idx_t>(groups.size());
    idx_t num_constraints = 1;
    idx_t num_parts = 2;
    idx_t cut = 0;
    std::array<real_t, 2> targets{left, 1 - left};
    std::array<idx_t, METIS_NOPTIONS> options{};
    METIS_SetDefaultOptions(options.data());
    options[METIS_OPTION_SEED] = kSeed;
    std::vector<idx_t> side(groups.size(), 0);
    const int status =
        METIS_PartGraphRecursive(&num_vertices, &num_constraints, begin.data(), neighbours.data(),
                                 weights.data(), nullptr, edge_weights.data(), &num_parts,
                                 targets.data(), nullptr, options.data(), &cut, side.data());
    EMPLACE_CHECK(status == METIS_OK, "METIS returned {} for {} groups", status, groups.size());
    return side;
  }

  PartitionGraph graph_;
  std::vector<double> shares_;
  std::vector<idx_t> local_;  // by group: its vertex in the graph that METIS sees
  std::vector<std::size_t> part_;
};

class Metis final : public Agent {
 public:
  explicit Metis(const Params&) {}

  Placement place(const Problem& problem, Session&) override {
    // METIS 5.1 keeps the state of its random numbers in globals.
    static std::mutex mutex;
    const std::scoped_lock lock(mutex);
    const RecursiveBisection parts(problem);
    Placement placement(problem.num_groups());
    for (GroupId group = 0; group < problem.num_groups(); ++group) {
      placement[group] = problem.placeable_devices()[parts.part(group)];
    }
    return placement;
  }
};

EMPLACE_REGISTER_AGENT(Metis, {.name = "metis",
                               .kind = AgentKind::kHeuristic,
                               .summary = "balanced parts with a small cut, by METIS",
                               .reference = "Karypis, Kumar, SIAM J. Sci. Comput. 20(1), 1998"});

}  // namespace
}  // namespace emplace::agents
