#include "group_limit.hpp"

#include <emplace/base/error.hpp>

#include <fmt/format.h>

namespace emplace::agents::policy_gradient {
namespace {

// Returns the most groups, below `groups`, that fit.
GroupId most_groups(const GroupMemory& memory, GroupId groups) {
  GroupId fits = 0;
  for (GroupId too_many = groups; too_many - fits > 1;) {
    const GroupId middle = fits + (too_many - fits) / 2;
    (memory.bytes(middle) <= kMostBytes ? fits : too_many) = middle;
  }
  return fits;
}

}  // namespace

void check_group_limit(std::string_view agent, GroupId groups, const GroupMemory& memory,
                       std::string_view remedy) {
  constexpr double kBytesPerGigabyte = 1e9;
  if (memory.bytes(groups) > kMostBytes) {
    throw Error(ErrorCode::kUnsupported,
                fmt::format("{} on {} groups would take {:.3g} GB of memory; its limit of {:.3g} "
                            "GB allows {} groups here: give --groups N, or {}",
                            agent, groups, memory.bytes(groups) / kBytesPerGigabyte,
                            kMostBytes / kBytesPerGigabyte, most_groups(memory, groups), remedy));
  }
}

}  // namespace emplace::agents::policy_gradient
