#include <emplace/agents/placement_json.hpp>

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace emplace::agents {

Placement placement_from_json(const JsonCursor& json, const Problem& problem) {
  const std::vector<JsonCursor> elements = json.elements();
  if (elements.size() != static_cast<std::size_t>(problem.num_groups())) {
    json.fail(fmt::format("expected one device for each of {} groups, found {}",
                          problem.num_groups(), elements.size()));
  }
  std::vector<DeviceId> devices;
  devices.reserve(elements.size());
  for (const JsonCursor& element : elements) {
    const auto device = static_cast<DeviceId>(element.integer(0, problem.num_devices() - 1));
    if (!problem.is_placeable(device) &&
        device != problem.constraints().pinned_device(static_cast<GroupId>(devices.size()))) {
      element.fail(fmt::format("device {} is not placeable", device));
    }
    devices.push_back(device);
  }
  return Placement(std::move(devices));
}

}  // namespace emplace::agents
