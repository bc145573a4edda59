#include "grouping_strategies.hpp"

#include <emplace/graphs/scope.hpp>

#include <algorithm>
#include <map>
#include <utility>

namespace emplace {
namespace {

// Each level is a pass over all scopes; what lies deeper than this is one level.
constexpr int kMaxScopeDepth = 128;

// Returns the group of each op where colocated groups of one pass and one scope are together, as
// far as they need not wait for one another.
std::vector<GroupId> layers(const OpGraph& graph, const std::vector<GroupId>& colocated,
                            const std::vector<GroupContent>& contents, int depth) {
  std::map<std::pair<bool, std::string_view>, std::int32_t> part_with;
  std::vector<std::int32_t> part_of;
  for (const GroupContent& content : contents) {
    const std::pair layer(content.backward, outer_scope(content.scope, depth));
    part_of.push_back(
        part_with.try_emplace(layer, static_cast<std::int32_t>(part_with.size())).first->second);
  }
  const MergeOrder within_layers{.rank = [](const MergePair& pair) -> std::optional<MergeRank> {
    return pair.same_part ? std::optional(MergeRank{}) : std::nullopt;
  }};
  return groups_of_parts(graph, colocated, part_of, 1, within_layers);
}

}  // namespace

Grouping group_by_scope(const OpGraph& graph, GroupId target) {
  std::vector<GroupId> colocated = colocated_groups(graph);
  const std::vector<GroupContent> contents = contents_of(graph, colocated);
  int depth = 0;
  for (const GroupContent& content : contents) {
    depth = std::max(depth, depth_of(content.scope));
  }
  depth = std::min(depth, kMaxScopeDepth);
  std::vector<GroupId> group_of = layers(graph, colocated, contents, depth);
  while (count_groups(group_of) > target && depth > 0) {
    group_of = layers(graph, colocated, contents, --depth);
  }
  return in_topological_order(
      graph, merge_groups(graph, std::move(group_of), target, by_scope_and_balance()));
}

}  // namespace emplace
