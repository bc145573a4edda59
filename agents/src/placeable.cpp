#include <emplace/agents/placeable.hpp>
#include <emplace/base/error.hpp>

#include <fmt/format.h>

#include <string>

namespace emplace::agents {
namespace {

[[noreturn]] void refuse(const Problem& problem, GroupId group, DeviceId device,
                         std::string_view source) {
  std::string placeable;
  for (const DeviceId candidate : problem.placeable_devices()) {
    placeable += (placeable.empty() ? "" : ", ") + problem.device(candidate).name;
  }
  const OpId op = problem.grouping().members(group).front();
  const std::string there =
      device >= 0 && device < problem.num_devices()
          ? fmt::format("{}, where nothing may be placed", problem.device(device).name)
          : fmt::format("device {} of {}", device, problem.num_devices());
  throw Error(ErrorCode::kUnsupported, fmt::format("{} has '{}' on {}; expected one of {}", source,
                                                   problem.op(op).name, there, placeable));
}

}  // namespace

void require_placeable(const Problem& problem, const Placement& placement,
                       std::string_view source) {
  for (GroupId group = 0; group < placement.size(); ++group) {
    const bool is_pinned_there = placement[group] != Problem::kNotPinned &&
                                 placement[group] == problem.constraints().pinned_device(group);
    if (!problem.is_placeable(placement[group]) && !is_pinned_there) {
      refuse(problem, group, placement[group], source);
    }
  }
}

}  // namespace emplace::agents
