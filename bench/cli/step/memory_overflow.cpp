#include "memory_overflow.hpp"

#include "terminal.hpp"

#include <emplace/agents/agent.hpp>
#include <emplace/base/escape.hpp>
#include <emplace/bench/text_table.hpp>
#include <emplace/bench/unit_text.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/grouping_strategy.hpp>
#include <emplace/sim/memory_shortage.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

namespace emplace::cli {
namespace {

constexpr std::size_t kNamedTensors = 3;

std::string device_name(const PlacedStep& step, DeviceId device) {
  return escape_terminal(step.devices[device].name);
}

std::int64_t bytes_over_at_peak(const DeviceUse& device) {
  return device.peak_bytes - device.capacity_bytes;
}

// Where there is room for so many bytes, among the devices on which agents may place.
std::string room_for(const PlacedStep& step, std::int64_t bytes) {
  DeviceId roomiest = 0;
  std::int64_t most = 0;
  std::int64_t all = 0;
  for (const DeviceId device : step.problem().placeable_devices()) {
    const std::int64_t room = std::max<std::int64_t>(-bytes_over_at_peak(step.devices[device]), 0);
    all += room;
    if (room > most) {
      roomiest = device;
      most = room;
    }
  }
  return most >= bytes
             ? fmt::format("{} has {} GB to spare", device_name(step, roomiest), gigabytes(most))
         : all >= bytes
             ? fmt::format("the other devices have {} GB to spare together", gigabytes(all))
             : fmt::format(
                   "the other devices have only {} GB to spare together, so the graph "
                   "or its batch must shrink",
                   gigabytes(all));
}

// "left:0 (0.822 GB), right (0.411 GB)", and the weights if they are among the most.
std::string largest_to_text(const PlacedStep& step, const MemoryOverflow& overflow) {
  std::vector<std::string> parts;
  for (const Allocation& allocation : overflow.largest) {
    if (parts.size() < kNamedTensors) {
      parts.push_back(
          fmt::format("{} ({} GB)", tensor_name(step, allocation), gigabytes(allocation.bytes)));
    }
  }
  if (overflow.persistent_bytes > 0) {
    parts.push_back(
        fmt::format("weights and optimizer slots ({} GB)", gigabytes(overflow.persistent_bytes)));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

// "a smaller batch (inception-v3:batch=N)" where the graph has such a parameter.
std::string smaller_batch(const PlacedStep& step) {
  const std::string name = step.graph.substr(0, step.graph.find(':'));
  const GraphCatalog& catalog = GraphCatalog::global();
  const std::vector<std::string> names = catalog.names();
  const bool has_batch =
      std::ranges::find(names, name) != names.end() &&
      std::ranges::count(catalog.find(name).parameters, "batch", &ParamSpec::name) > 0;
  return has_batch ? fmt::format("a smaller batch ({}:batch=N)", name) : "a smaller batch";
}

// Says how the agent could decide on more groups; nothing if it decided on all there are.
std::string finer_groups(const PlacedStep& step) {
  if (step.from_file) {
    return "";
  }
  if (step.grouping != kDefaultGrouping) {
    return fmt::format(", or the finest groups (--grouping {})", kDefaultGrouping);
  }
  return step.decision_groups == step.problem().num_groups()
             ? ""
             : fmt::format(", or more groups for the agent to decide on ({}={})",
                           agents::kGroupsParameter, 2 * step.decision_groups);
}

}  // namespace

std::string gigabytes(std::int64_t bytes) {
  return fmt::format("{:.3f}", static_cast<double>(bytes) / 1e9);
}

std::string tensor_name(const PlacedStep& step, const Allocation& allocation) {
  return allocation.output == Allocation::kAllOutputs ||
                 allocation.kind == Allocation::Kind::kWorkspace
             ? step.op_name(allocation.op)
             : fmt::format("{}:{}", step.op_name(allocation.op),
                           allocation.output - step.problem().outputs(allocation.op).first);
}

std::string to_text(const PlacedStep& step, const MemoryOverflow& overflow) {
  return fmt::format("{} into the step {} needs {} GB more than its {} GB.",
                     bench::time_text(overflow.at_us), device_name(step, overflow.device),
                     gigabytes(overflow.bytes_over),
                     gigabytes(step.devices[overflow.device].capacity_bytes));
}

std::string advice(const PlacedStep& step, const MemoryOverflow& overflow) {
  const DeviceUse& device = step.devices[overflow.device];
  const std::int64_t over_at_peak = bytes_over_at_peak(device);
  std::string text = fmt::format("At its peak it needs {} GB more, which must move elsewhere: ",
                                 gigabytes(over_at_peak));
  std::size_t tensors = 0;
  std::int64_t bytes = 0;
  while (tensors < overflow.largest.size() && bytes < over_at_peak) {
    bytes += overflow.largest[tensors++].bytes;
  }
  if (overflow.persistent_bytes > device.capacity_bytes) {
    text += "weights and optimizer slots alone are more than it has";
  } else if (bytes < over_at_peak) {
    text += "more than its largest tensors together";
  } else {
    text += tensors == 1 ? "as much as its largest tensor"
                         : fmt::format("as much as its {} largest tensors", tensors);
  }
  return fmt::format("{}; {}.", text, room_for(step, over_at_peak));
}

void note_out_of_memory(const PlacedStep& step) {
  const std::optional<MemoryOverflow> overflow = first_overflow(step.problem(), step.record);
  if (!overflow) {
    return;
  }
  note(escape_terminal(fmt::format("emplace: out of memory: {} {}", to_text(step, *overflow),
                                   advice(step, *overflow))));
  note(escape_terminal(
      fmt::format("  Its memory then contains {}.", largest_to_text(step, *overflow))));
  constexpr std::string_view kOtherCluster = "a cluster of more devices or memory (--cluster)";
  if (const auto shortage = find_memory_shortage(step.problem())) {
    note(escape_terminal(
        fmt::format("  No placement fits: {}.", describe(step.problem(), *shortage))));
    note(fmt::format("  Try {}, {}.", kOtherCluster, smaller_batch(step)));
  } else {
    note(fmt::format("  Try another {}, {}, {}{}.",
                     step.from_file ? "placement" : "agent (--agent)", kOtherCluster,
                     smaller_batch(step), finer_groups(step)));
  }
}

}  // namespace emplace::cli
