#include <emplace/base/check.hpp>
#include <emplace/base/id_vector.hpp>
#include <emplace/graphs/grouping.hpp>

#include <boost/range/iterator_range.hpp>

#include <algorithm>
#include <numeric>
#include <set>

namespace emplace {
Grouping::Grouping(std::vector<GroupId> group_of) : group_of_(std::move(group_of)) {
  offset_.resize(group_of_.empty() ? 1 : index_of(*std::ranges::max_element(group_of_)) + 2, 0);
  for (const GroupId group : group_of_) {
    EMPLACE_CHECK(group >= 0, "group {}", group);
    ++offset_[index_of(group) + 1];
  }
  for (std::size_t group = 1; group < offset_.size(); ++group) {
    EMPLACE_CHECK(offset_[group] > 0, "group {} has no ops", group - 1);
    offset_[group] += offset_[group - 1];
  }
  members_.resize(group_of_.size());
  auto next = offset_;
  for (OpId op = 0; op < num_ops(); ++op) {
    members_[next[index_of(group_of_[index_of(op)])]++] = op;
  }
}

std::span<const OpId> Grouping::members(GroupId group) const {
  const auto first = offset_[index_of(group)];
  return std::span(members_).subspan(first, offset_[index_of(group) + 1] - first);
}

Grouping ungrouped(const OpGraph& graph) {
  std::vector<GroupId> group_of(boost::num_vertices(graph));
  std::iota(group_of.begin(), group_of.end(), 0);
  return Grouping(std::move(group_of));
}

std::vector<std::int64_t> outgoing_bytes(const OpGraph& graph, const Grouping& grouping) {
  IdVector<GroupId, std::int64_t> sums(index_of(grouping.size()), 0);
  std::set<std::int32_t> outgoing;  // outputs of one op
  for (OpId op = 0; op < num_ops(graph); ++op) {
    const GroupId group = grouping.group_of(op);
    outgoing.clear();
    for (const auto edge : boost::make_iterator_range(boost::out_edges(index_of(op), graph))) {
      const std::int32_t output = graph[edge].output;
      const auto consumer = static_cast<OpId>(boost::target(edge, graph));
      if (output != Dependency::kControl && grouping.group_of(consumer) != group &&
          outgoing.insert(output).second) {
        sums[group] += graph[index_of(op)].outputs[index_of(output)].bytes;
      }
    }
  }
  return sums;
}

std::int64_t cut_bytes(const OpGraph& graph, const Grouping& grouping) {
  const std::vector<std::int64_t> bytes = outgoing_bytes(graph, grouping);
  return std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0});
}

}  // namespace emplace
