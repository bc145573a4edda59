#include <emplace/base/error.hpp>
#include <emplace/sim/group_constraints.hpp>

#include <boost/pending/disjoint_sets.hpp>
#include <fmt/format.h>

#include <map>

namespace emplace {
namespace {

// Throws where ops that share a device are pinned to two; `one` was pinned first.
[[noreturn]] void refuse(const OpProblem& ops, OpId one, OpId other) {
  throw Error(ErrorCode::kUsage,
              fmt::format("constraints contradict each other: '{}' is pinned to {}, and '{}', "
                          "which must be on the same device, to {}",
                          ops.op(one).name, ops.device(ops.pinned_device(one)).name,
                          ops.op(other).name, ops.device(ops.pinned_device(other)).name));
}

}  // namespace

GroupConstraints::GroupConstraints(const OpProblem& ops, const Grouping& grouping,
                                   std::span<const GroupId> order) {
  if (ops.cluster().pins.empty() && ops.together().empty()) {
    return;
  }
  const std::size_t count = index_of(grouping.size());
  boost::disjoint_sets_with_storage<> sets(count);
  for (const std::vector<OpId>& together : ops.together()) {
    for (const OpId op : together) {
      sets.union_set(index_of(grouping.group_of(together.front())),
                     index_of(grouping.group_of(op)));
    }
  }
  std::map<std::size_t, OpId> pinning;  // a pinned op of a set
  for (OpId op = 0; op < ops.num_ops(); ++op) {
    if (ops.pinned_device(op) != OpProblem::kNotPinned) {
      const auto [first, is_new] =
          pinning.emplace(sets.find_set(index_of(grouping.group_of(op))), op);
      if (ops.pinned_device(first->second) != ops.pinned_device(op)) {
        refuse(ops, first->second, op);
      }
    }
  }
  pinned_.assign(count, OpProblem::kNotPinned);
  tie_.assign(count, -1);
  class_.assign(count, -1);
  std::map<std::size_t, std::vector<GroupId>> members;
  for (const GroupId group : order) {
    const std::size_t set = sets.find_set(index_of(group));
    members[set].push_back(group);
    if (const auto found = pinning.find(set); found != pinning.end()) {
      pinned_[group] = ops.pinned_device(found->second);
      class_[group] = pinned_[group];
    }
  }
  for (auto& [set, groups] : members) {
    if (groups.size() > 1) {
      for (const GroupId group : groups) {
        tie_[group] = static_cast<std::int32_t>(ties_.size());
        if (class_[group] < 0) {
          class_[group] = ops.num_devices() + tie_[group];
        }
      }
      ties_.push_back(std::move(groups));
    }
  }
}

}  // namespace emplace
