#include "grouping_strategies.hpp"

#include <emplace/base/error.hpp>
#include <emplace/graphs/grouping_strategy.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>

namespace emplace {
namespace {

Grouping group_by_colocation(const OpGraph& graph, GroupId) {
  return in_topological_order(graph, colocated_groups(graph));
}

Grouping group_single_consumers(const OpGraph& graph, GroupId) {
  const MergeOrder order{.rank = [](const MergePair& pair) -> std::optional<MergeRank> {
    return pair.only_consumer ? std::optional(MergeRank{}) : std::nullopt;
  }};
  return in_topological_order(graph, merge_groups(graph, colocated_groups(graph), 1, order));
}

Grouping group_heavy_edges(const OpGraph& graph, GroupId target) {
  return in_topological_order(
      graph, merge_groups(graph, colocated_groups(graph), target, by_bytes_and_balance(false)));
}

constexpr GroupingStrategy kStrategies[] = {
    {.name = "colocation",
     .summary = "what must share a device, and nothing else",
     .reference = "TensorFlow's colocation constraints; Mirhoseini et al. 2017, rule (a)",
     .takes_target = false,
     .group = group_by_colocation},
    {.name = "heavy-edge",
     .summary = "merges along the edge with most bytes first, light groups before heavy ones",
     .reference = "heavy-edge matching of Karypis, Kumar, SIAM J. Sci. Comput. 20(1), 1998",
     .group = group_heavy_edges},
#ifdef EMPLACE_HAS_METIS
    {.name = "metis",
     .summary = "parts of even work and a small cut by METIS, made acyclic",
     .reference = "Karypis, Kumar, SIAM J. Sci. Comput. 20(1), 1998",
     .group = group_by_metis},
#endif
    {.name = "neighbours",
     .summary = "groups join their only consumer, then neighbours of one layer, light groups first",
     .reference = "Mirhoseini et al. 2017; Addanki et al. 2019",
     .group = group_ops},
    {.name = "scope",
     .summary = "one group for each layer and pass",
     .reference = "layers by name, like the human experts of Mirhoseini et al. 2017",
     .group = group_by_scope},
    {.name = "single-consumer",
     .summary = "whatever only one group consumes joins that group, until nothing changes",
     .reference = "Mirhoseini et al. 2017, rules (a) and (b)",
     .takes_target = false,
     .group = group_single_consumers},
};

}  // namespace

MergeOrder by_scope_and_balance() {
  return {.rank = [](const MergePair& pair) -> std::optional<MergeRank> {
    constexpr std::int64_t kRule2 = 2;
    constexpr std::int64_t kRule3 = 3;
    // Weights count by order of magnitude only, so that a pair's place changes a few times at most.
    const bool crosses_passes = pair.both.forward && pair.both.backward;
    return MergeRank{crosses_passes, -depth_of(pair.both.scope), pair.excess,
                     pair.only_consumer ? kRule2 : kRule3,
                     static_cast<std::int64_t>(std::bit_width(pair.both.work))};
  }};
}

MergeOrder by_bytes_and_balance(bool parts_first) {
  return {.rank = [parts_first](const MergePair& pair) -> std::optional<MergeRank> {
            return MergeRank{parts_first && !pair.same_part, pair.excess, -pair.bytes};
          },
          .by_bytes = true};
}

Grouping group_ops(const OpGraph& graph, GroupId target) {
  if (target < 1) {
    throw Error(ErrorCode::kUsage, fmt::format("expected at least 1 group, found {}", target));
  }
  return in_topological_order(
      graph, merge_groups(graph, colocated_groups(graph), target, by_scope_and_balance()));
}

std::span<const GroupingStrategy> grouping_strategies() { return kStrategies; }

std::vector<std::string> grouping_names() {
  std::vector<std::string> names;
  for (const GroupingStrategy& strategy : kStrategies) {
    names.emplace_back(strategy.name);
  }
  return names;
}

const GroupingStrategy& find_grouping(std::string_view name) {
  const auto found = std::ranges::find(kStrategies, name, &GroupingStrategy::name);
  if (found == std::end(kStrategies)) {
    throw_unknown_name("grouping", name, grouping_names());
  }
  return *found;
}

GroupId target_of(const GroupingStrategy& strategy, std::int64_t groups) {
  if (groups < 0 || groups > std::numeric_limits<GroupId>::max()) {
    throw Error(ErrorCode::kUsage, fmt::format("cannot make {} groups", groups));
  }
  if (groups != 0 && !strategy.takes_target) {
    throw Error(ErrorCode::kUsage,
                fmt::format("grouping '{}' decides by itself how many groups there are; it takes "
                            "no number, found {}",
                            strategy.name, groups));
  }
  return groups == 0 ? kDefaultGroups : static_cast<GroupId>(groups);
}

}  // namespace emplace
