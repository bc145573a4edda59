#include "resident_bytes.hpp"

#include <algorithm>
#include <functional>

namespace emplace {
namespace {

constexpr std::size_t kMaxOps = 16;

// The `placeto` model frees a tensor up to 2 us before the end of its last reader. What takes
// longer than that everywhere finds its inputs there when it starts, in all models.
constexpr double kMinCostUs = 2;

}  // namespace

ResidentBytes::ResidentBytes(const Problem& problem, std::span<const DeviceId> devices)
    : problem_(problem),
      devices_(devices),
      is_placeto_(problem.cluster().transfer_model == TransferModel::kPlaceto),
      position_(problem.num_ops()),
      mark_(problem.num_ops(), Mark::kNeither),
      is_counted_(problem.num_outputs(), false) {
  const std::span<const OpId> order = problem.topological_order();
  for (std::size_t at = 0; at < order.size(); ++at) {
    position_[order[at]] = at;
  }
}

bool ResidentBytes::is_long(OpId op) const {
  return std::ranges::all_of(
      devices_, [&](DeviceId device) { return problem_.cost_us(op, device) >= kMinCostUs; });
}

// An op that may write over an input counts as that input only, which is alive while it runs.
std::int64_t ResidentBytes::own_bytes(OpId op) const {
  std::int64_t bytes =
      problem_.allocated_bytes(op) + (is_placeto_ ? 0 : problem_.op(op).workspace_bytes);
  if (std::ranges::any_of(problem_.inputs(op),
                          [&](UseId input) { return problem_.may_overwrite(op, input); })) {
    bytes -= problem_.output_allocated_bytes(problem_.outputs(op).first);
  }
  return bytes;
}

std::vector<OpId> ResidentBytes::fullest_ops(std::span<const OpId> ops) const {
  std::vector<OpId> sorted(ops.begin(), ops.end());
  std::ranges::sort(sorted, {}, [&](OpId op) { return position_[op]; });
  std::vector<std::int64_t> change(sorted.size() + 1, 0);
  for (std::size_t at = 0; at < sorted.size(); ++at) {
    std::size_t last = at;
    for (const Problem::Child& child : problem_.children(sorted[at])) {
      const auto found = std::ranges::lower_bound(sorted, position_[child.op], {},
                                                  [&](OpId op) { return position_[op]; });
      if (found != sorted.end() && *found == child.op) {
        last = std::max(last, static_cast<std::size_t>(found - sorted.begin()));
      }
    }
    change[at] += problem_.allocated_bytes(sorted[at]);
    change[last + 1] -= problem_.allocated_bytes(sorted[at]);
  }
  struct Candidate {
    std::int64_t bytes;
    OpId op;
  };
  std::vector<Candidate> candidates;
  std::int64_t alive = 0;
  for (std::size_t at = 0; at < sorted.size(); ++at) {
    alive += change[at];
    if (is_long(sorted[at])) {
      candidates.push_back(
          {alive + own_bytes(sorted[at]) - problem_.allocated_bytes(sorted[at]), sorted[at]});
    }
  }
  std::ranges::stable_sort(candidates, std::greater{}, &Candidate::bytes);
  candidates.resize(std::min(candidates.size(), kMaxOps));
  std::vector<OpId> fullest;
  fullest.reserve(candidates.size());
  for (const Candidate& candidate : candidates) {
    fullest.push_back(candidate.op);
  }
  return fullest;
}

std::int64_t ResidentBytes::during(OpId op, GroupId group) {
  std::int64_t bytes = own_bytes(op);
  visit_alive(op, group, [&](GroupId /*holder*/, std::int64_t tensor) { bytes += tensor; });
  return bytes;
}

IdVector<GroupId, std::int64_t> ResidentBytes::by_group(OpId op) {
  IdVector<GroupId, std::int64_t> bytes;
  bytes.reserve(index_of(problem_.num_groups()));
  for (GroupId group = 0; group < problem_.num_groups(); ++group) {
    bytes.push_back(problem_.group_persistent_bytes(group));
  }
  bytes[problem_.grouping().group_of(op)] += own_bytes(op);
  visit_alive(op, kAllGroups,
              [&](GroupId holder, std::int64_t tensor) { bytes[holder] += tensor; });
  return bytes;
}

// Calls visit(group, bytes) for each tensor that is there when `op` starts, with a group on whose
// device it is. Of the ops after `op` only those of `group` count, if it is one: what they read is
// on its device, since no path leads out of a group and back. In the `placeto` model that goes for
// what the group itself produces only, and all outputs of an op are one tensor.
template <class Visit>
void ResidentBytes::visit_alive(OpId op, GroupId group, Visit visit) {
  mark_before(op, group);
  const std::size_t num_before = marked_.size();
  mark_after(op, group);
  const auto uses = problem_.uses();
  for (const OpId producer : std::span(marked_).first(num_before)) {
    if (is_placeto_ && !is_within(producer, group)) {
      continue;
    }
    const auto [begin, end] = problem_.uses_of(producer);
    for (UseId at = begin; at < end; ++at) {
      const auto& [from, reader, output] = uses[at];
      if (mark_[reader] != Mark::kAfter) {
        continue;
      }
      if (is_placeto_) {
        visit(problem_.grouping().group_of(producer), problem_.allocated_bytes(producer));
        break;
      }
      if (output == Dependency::kControl) {
        continue;
      }
      const OutputId tensor = problem_.storage(output);
      if (!is_counted_[tensor]) {
        is_counted_[tensor] = true;
        counted_.push_back(tensor);
        visit(problem_.grouping().group_of(reader), problem_.output_allocated_bytes(tensor));
      }
    }
  }
  for (const OpId marked : marked_) {
    mark_[marked] = Mark::kNeither;
  }
  marked_.clear();
  for (const OutputId tensor : counted_) {
    is_counted_[tensor] = false;
  }
  counted_.clear();
}

bool ResidentBytes::is_within(OpId op, GroupId group) const {
  return group == kAllGroups || problem_.grouping().group_of(op) == group;
}

void ResidentBytes::set_mark(OpId op, Mark mark) {
  mark_[op] = mark;
  marked_.push_back(op);
}

// Marks the ops from which a path leads to `op`: those of the group, and those that these read.
void ResidentBytes::mark_before(OpId op, GroupId group) {
  stack_.assign(1, op);
  while (!stack_.empty()) {
    const OpId consumer = stack_.back();
    stack_.pop_back();
    for (const UseId input : problem_.inputs(consumer)) {
      const OpId producer = problem_.uses()[input].producer;
      if (mark_[producer] == Mark::kNeither) {
        set_mark(producer, Mark::kBefore);
        if (is_within(producer, group)) {
          stack_.push_back(producer);
        }
      }
    }
  }
}

// Marks `op` and the ops of the group to which a path leads from it.
void ResidentBytes::mark_after(OpId op, GroupId group) {
  set_mark(op, Mark::kAfter);
  stack_.assign(1, op);
  while (!stack_.empty()) {
    const OpId producer = stack_.back();
    stack_.pop_back();
    for (const Problem::Child& child : problem_.children(producer)) {
      if (mark_[child.op] == Mark::kNeither && is_within(child.op, group)) {
        set_mark(child.op, Mark::kAfter);
        stack_.push_back(child.op);
      }
    }
  }
}

}  // namespace emplace
