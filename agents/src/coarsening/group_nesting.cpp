#include "group_nesting.hpp"

#include <emplace/base/check.hpp>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace emplace::agents {

GroupNesting::GroupNesting(const Grouping& fine, const Grouping& coarse)
    : coarse_of_(index_of(fine.size())), num_coarse_(coarse.size()) {
  EMPLACE_CHECK(fine.num_ops() == coarse.num_ops(), "groupings of {} and of {} ops", fine.num_ops(),
                coarse.num_ops());
  for (GroupId group = 0; group < fine.size(); ++group) {
    const std::span<const OpId> members = fine.members(group);
    coarse_of_[group] = coarse.group_of(members.front());
    for (const OpId op : members) {
      EMPLACE_CHECK(coarse.group_of(op) == coarse_of_[group], "group {} is not within one group",
                    group);
    }
  }
  members_begin_.resize(index_of(num_coarse_) + 1);
  for (const GroupId group : coarse_of_) {
    ++members_begin_[index_of(group) + 1];
  }
  std::partial_sum(members_begin_.begin(), members_begin_.end(), members_begin_.begin());
  members_.resize(coarse_of_.size());
  std::vector<std::size_t> next(members_begin_.begin(), members_begin_.end() - 1);
  for (GroupId group = 0; group < num_fine(); ++group) {
    members_[next[index_of(coarse_of_[group])]++] = group;
  }
}

std::span<const GroupId> GroupNesting::members(GroupId coarse) const {
  const std::size_t begin = members_begin_[index_of(coarse)];
  return std::span(members_).subspan(begin, members_begin_[index_of(coarse) + 1] - begin);
}

Placement GroupNesting::expand(const Placement& coarse) const {
  EMPLACE_CHECK(coarse.size() == num_coarse_, "a placement of {} groups for {}", coarse.size(),
                num_coarse_);
  Placement fine(num_fine());
  for (GroupId group = 0; group < num_fine(); ++group) {
    fine[group] = coarse[coarse_of_[group]];
  }
  if (coarse.has_priorities()) {
    IdVector<GroupId, Priority> priorities;
    for (const GroupId group : coarse_of_) {
      priorities.push_back(coarse.priorities()[group]);
    }
    fine.set_priorities(std::move(priorities));
  }
  return fine;
}

Placement GroupNesting::project(const Problem& problem, const Placement& fine) const {
  EMPLACE_CHECK(fine.size() == num_fine() && problem.num_groups() == num_fine(),
                "a placement of {} groups for {}", fine.size(), num_fine());
  // By coarse group and device. Time only decides between devices that some member is on.
  const auto cell = [&](GroupId coarse, DeviceId device) {
    return index_of(coarse) * index_of(problem.num_devices()) + index_of(device);
  };
  constexpr double kNone = -1;
  std::vector<double> time_us(index_of(num_coarse_) * index_of(problem.num_devices()), kNone);
  for (GroupId group = 0; group < num_fine(); ++group) {
    double& sum_us = time_us[cell(coarse_of_[group], fine[group])];
    sum_us = std::max(sum_us, 0.0) + problem.group_cost_us(group, fine[group]);
  }
  Placement coarse(num_coarse_);
  for (GroupId group = 0; group < num_coarse_; ++group) {
    for (DeviceId device = 1; device < problem.num_devices(); ++device) {
      if (time_us[cell(group, device)] > time_us[cell(group, coarse[group])]) {
        coarse[group] = device;
      }
    }
  }
  return coarse;
}

bool GroupNesting::can_express(const Placement& fine) const {
  if (fine.has_priorities()) {
    return false;  // project() drops them
  }
  IdVector<GroupId, DeviceId> device_of(index_of(num_coarse_), -1);
  for (GroupId group = 0; group < num_fine(); ++group) {
    DeviceId& device = device_of[coarse_of_[group]];
    if (device >= 0 && device != fine[group]) {
      return false;
    }
    device = fine[group];
  }
  return true;
}

Placement GroupNesting::coarsen(const Placement& fine) const {
  Placement coarse(num_coarse_);
  for (GroupId group = 0; group < num_coarse_; ++group) {
    coarse[group] = fine[members(group).front()];
  }
  if (fine.has_priorities()) {
    IdVector<GroupId, Priority> priorities;
    for (GroupId group = 0; group < num_coarse_; ++group) {
      priorities.push_back(fine.priorities()[members(group).front()]);
    }
    coarse.set_priorities(std::move(priorities));
  }
  return coarse;
}

}  // namespace emplace::agents
