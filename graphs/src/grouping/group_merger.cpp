#include "group_merger.hpp"

#include "acyclic_parts.hpp"
#include "model/topological_sort.hpp"

#include <emplace/base/id_vector.hpp>
#include <emplace/graphs/contractible_dag.hpp>

#include <bit>
#include <compare>
#include <queue>

namespace emplace {
namespace {

// Two neighbours that may merge, least first. An entry can be checked when its turn comes, since
// ranks get better in two ways only, which are noticed when they happen.
struct Candidate {
  MergeRank rank;
  GroupId producer;
  GroupId consumer;

  auto operator<=>(const Candidate&) const = default;
};

class Merger {
 public:
  Merger(const OpGraph& graph, std::vector<GroupId> group_of, GroupId target,
         const MergeOrder& order, IdVector<GroupId, std::int32_t> part_of)
      : Merger(graph, group_of, edges_between(graph, group_of), target, order, std::move(part_of)) {
  }

  // Merges until the target is reached or nothing can merge; returns the group of each op.
  std::vector<GroupId> run() && {
    while (num_groups_ > target_ && !queue_.empty()) {
      const Candidate candidate = queue_.top();
      queue_.pop();
      consider(candidate);
    }
    for (GroupId& group : group_of_) {
      group = dag_.find(group);
    }
    return std::move(group_of_);
  }

 private:
  static constexpr std::int32_t kNoPart = -1;

  Merger(const OpGraph& graph, const std::vector<GroupId>& group_of, const GroupEdges& edges,
         GroupId target, const MergeOrder& order, IdVector<GroupId, std::int32_t> part_of)
      : target_(target),
        order_(order),
        group_of_(group_of),
        num_groups_(count_groups(group_of)),
        contents_(contents_of(graph, group_of)),
        part_of_(std::move(part_of)),
        dag_(edges.ends, edges.bytes, sort_topologically(num_groups_, edges.ends).order,
             kMaxCycleSearch) {
    part_of_.resize(index_of(num_groups_), kNoPart);
    for (const GroupContent& content : contents_) {
      average_work_ += content.work;
    }
    average_work_ = average_work_ / static_cast<std::uint64_t>(target) + 1;
    for (GroupId producer = 0; producer < num_groups_; ++producer) {
      for (const auto& [consumer, bytes] : dag_.successors(producer)) {
        enqueue(producer, consumer);
      }
    }
  }

  std::optional<Candidate> rate(GroupId producer, GroupId consumer) {
    const GroupId from = dag_.find(producer);
    const GroupId to = dag_.find(consumer);
    const auto& successors = dag_.successors(from);
    const GroupContent both = merged(contents_[from], contents_[to]);
    const auto rank =
        order_.rank({.both = both,
                     .bytes = successors.at(to),
                     .only_consumer = successors.size() == 1,
                     .same_part = part_of_[from] == part_of_[to] && part_of_[to] != kNoPart,
                     .excess = static_cast<int>(std::bit_width(both.work / average_work_))});
    if (!rank) {
      return std::nullopt;
    }
    return Candidate{.rank = *rank, .producer = producer, .consumer = consumer};
  }

  void enqueue(GroupId producer, GroupId consumer) {
    if (const auto candidate = rate(producer, consumer)) {
      queue_.push(*candidate);
    }
  }

  void consider(const Candidate& candidate) {
    const GroupId from = dag_.find(candidate.producer);
    const GroupId to = dag_.find(candidate.consumer);
    if (from == to) {
      return;
    }
    if (const auto now = rate(candidate.producer, candidate.consumer); now != candidate) {
      if (now) {
        queue_.push(*now);
      }
      return;
    }
    const auto joined = dag_.contract(from, to);
    if (!joined) {
      // Nothing is lost: once the second path has shrunk into one of the two groups, its last edge
      // joins them, and that edge is a candidate too.
      return;
    }
    contents_[*joined] = merged(contents_[from], contents_[to]);
    if (part_of_[from] != part_of_[to]) {
      part_of_[*joined] = kNoPart;
    }
    --num_groups_;
    for (const GroupId producer : dag_.narrowed()) {
      enqueue(producer, *joined);
    }
    if (const auto& successors = dag_.successors(*joined); successors.size() == 1) {
      enqueue(*joined, successors.begin()->first);
    }
    if (order_.by_bytes) {
      for (const auto& [producer, consumer] : dag_.thickened()) {
        enqueue(producer, consumer);
      }
    }
  }

  GroupId target_;
  const MergeOrder& order_;
  std::vector<GroupId> group_of_;
  GroupId num_groups_;
  std::uint64_t average_work_ = 0;  // of a group when the target is reached, rounded up
  IdVector<GroupId, GroupContent> contents_;
  IdVector<GroupId, std::int32_t> part_of_;
  ContractibleDag dag_;
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue_;
};

}  // namespace

std::vector<GroupId> merge_groups(const OpGraph& graph, std::vector<GroupId> group_of,
                                  GroupId target, const MergeOrder& order,
                                  IdVector<GroupId, std::int32_t> part_of) {
  return numbered_by_first_op(
      Merger(graph, std::move(group_of), target, order, std::move(part_of)).run());
}

std::vector<GroupId> groups_of_parts(const OpGraph& graph, std::vector<GroupId> colocated,
                                     const std::vector<std::int32_t>& part_of, GroupId target,
                                     const MergeOrder& order) {
  const std::vector<std::int32_t> piece_of =
      acyclic_parts(edges_between(graph, colocated).ends, part_of);
  std::vector<GroupId> group_of;
  for (const GroupId group : colocated) {
    group_of.push_back(piece_of[index_of(group)]);
  }
  group_of = numbered_by_first_op(group_of);
  IdVector<GroupId, std::int32_t> part_of_piece(index_of(count_groups(group_of)));
  for (std::size_t op = 0; op < group_of.size(); ++op) {
    part_of_piece[group_of[op]] = part_of[index_of(colocated[op])];
  }
  return merge_groups(graph, std::move(group_of), target, order, std::move(part_of_piece));
}

}  // namespace emplace
