#include "memory_overflow.hpp"

#include "terminal.hpp"

#include <emplace/agents/agent.hpp>
#include <emplace/base/error.hpp>
#include <emplace/base/escape.hpp>
#include <emplace/base/params.hpp>
#include <emplace/bench/problem_set.hpp>
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
#include <utility>
#include <vector>

namespace emplace::cli {
namespace {

constexpr std::size_t kNamedTensors = 3;
constexpr std::int64_t kNamedBytes = 1'000'000;  // less is 0.000 GB

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
  return all == 0 ? "no other device has room"
         : most >= bytes
             ? fmt::format("{} has room for {} GB", device_name(step, roomiest), gigabytes(most))
             : fmt::format("the other devices have room for {}{} GB together",
                           all >= bytes ? "" : "only ", gigabytes(all));
}

// "left:0 (0.822 GB), right (0.411 GB)", and the weights if they are among the most.
std::string largest_to_text(const PlacedStep& step, const MemoryOverflow& overflow) {
  std::vector<std::string> parts;
  for (const Allocation& allocation : overflow.largest) {
    if (parts.size() < kNamedTensors && allocation.bytes >= kNamedBytes) {
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

// A graph of the zoo with its parameters.
struct ZooGraph {
  Spec spec{};
  Params params{};  // with defaults

  bool has(std::string_view parameter) const { return params.values().contains(parameter); }

  // The same with another value.
  std::string with(const std::string& parameter, const std::string& value) const {
    Spec other = spec;
    other.set(parameter, value);
    return other.text();
  }
};

std::optional<ZooGraph> zoo_graph(const PlacedStep& step) {
  if (names_graph_file(step.graph)) {
    return std::nullopt;
  }
  Spec spec = Spec::parse(step.graph);
  Params params = resolve_params(GraphCatalog::global().find(spec.name).parameters, spec, "graph");
  return ZooGraph{std::move(spec), std::move(params)};
}

// Says whether a graph has no proof that nothing fits on the step's cluster.
bool may_fit(const PlacedStep& step, const std::string& graph) {
  try {
    return !find_memory_shortage(
        bench::load_problem(graph, step.cluster, 0, std::string(kDefaultGrouping)));
  } catch (const Error&) {
    return false;  // the value does not go with others: micro-batches of a batch of 1
  }
}

// The largest batch of half the size, a quarter, ... that may fit.
std::optional<std::string> smaller_batch(const PlacedStep& step, const ZooGraph& graph) {
  if (graph.has("batch")) {
    for (auto batch = graph.params.get<std::int64_t>("batch") / 2; batch >= 1; batch /= 2) {
      std::string smaller = graph.with("batch", std::to_string(batch));
      if (may_fit(step, smaller)) {
        return smaller;
      }
    }
  }
  return std::nullopt;
}

// What no proof excludes where nothing fits on the cluster.
std::vector<std::string> ways_out(const PlacedStep& step, const MemoryShortage& shortage) {
  std::vector<std::string> ways;
  if (const auto devices = least_devices(step.one_step())) {
    ways.push_back(fmt::format("{} or more devices like {} (--cluster)", *devices,
                               device_name(step, step.problem().placeable_devices().front())));
  } else {
    ways.push_back(
        fmt::format("devices of {} GB or more (--cluster)", gigabytes(shortage.needed_bytes)));
  }
  const std::optional<ZooGraph> graph = zoo_graph(step);
  if (!graph) {
    if (shortage.op >= 0) {  // it is tensors that are too large, not weights alone
      ways.emplace_back("a smaller batch, if the model has one");
    }
    return ways;
  }
  if (const auto smaller = smaller_batch(step, *graph)) {
    ways.push_back(fmt::format("a smaller batch ({})", *smaller));
  }
  if (graph->has("dtype") && graph->params.get<std::string>("dtype") == "float32") {
    if (const std::string half = graph->with("dtype", "float16"); may_fit(step, half)) {
      ways.push_back(fmt::format("mixed precision ({})", half));
    }
  }
  if (graph->has("recompute") && graph->params.get<std::string>("recompute") == "none") {
    if (const std::string again = graph->with("recompute", "all"); may_fit(step, again)) {
      ways.push_back(fmt::format("recomputation ({})", again));
    }
  }
  return ways;
}

// "a smaller batch (inception-v3:batch=N)" where that would free memory of the full device.
std::string batch_to_try(const PlacedStep& step, const MemoryOverflow& overflow) {
  const std::optional<ZooGraph> graph = zoo_graph(step);
  const bool has_batch =
      graph && graph->has("batch") && graph->params.get<std::int64_t>("batch") > 1;
  return has_batch && overflow.persistent_bytes <= step.devices[overflow.device].capacity_bytes
             ? fmt::format(", a smaller batch ({})", graph->with("batch", "N"))
             : "";
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
  const DeviceUse& device = step.devices[overflow.device];
  return fmt::format(
      "{} has {} GB and needs {} GB at its peak; it is full {}.",
      device_name(step, overflow.device), gigabytes(device.capacity_bytes),
      gigabytes(device.peak_bytes),
      overflow.at_us > 0 ? bench::time_text(overflow.at_us) + " into the step" : "from the start");
}

std::string advice(const PlacedStep& step, const MemoryOverflow& overflow) {
  const DeviceUse& device = step.devices[overflow.device];
  const std::int64_t over_at_peak = bytes_over_at_peak(device);
  std::size_t tensors = 0;
  std::int64_t bytes = 0;
  while (tensors < overflow.largest.size() && bytes < over_at_peak) {
    bytes += overflow.largest[tensors++].bytes;
  }
  const std::string what =
      overflow.persistent_bytes > device.capacity_bytes
          ? "weights and optimizer slots alone are more than it has"
      : bytes < over_at_peak ? fmt::format("more than its {} largest tensors", tensors)
      : tensors == 1         ? "as much as its largest tensor"
                             : fmt::format("as much as its {} largest tensors", tensors);
  return fmt::format("{} GB must go elsewhere: {}; {}.", gigabytes(over_at_peak), what,
                     room_for(step, over_at_peak));
}

void note_out_of_memory(const PlacedStep& step) {
  const std::optional<MemoryOverflow> overflow = first_overflow(step.problem(), step.record);
  if (!overflow) {
    return;
  }
  const auto say = [](const std::string& line) { note(escape_terminal(line)); };
  say(fmt::format("emplace: out of memory: {} {}", to_text(step, *overflow),
                  advice(step, *overflow)));
  say(fmt::format("  Its memory then contains {}.", largest_to_text(step, *overflow)));
  if (const auto shortage = find_memory_shortage(step.problem())) {
    say(fmt::format("  No placement on {} fits: {}.", step.cluster,
                    describe(step.problem(), *shortage)));
    say(fmt::format("  These may fit: {}.", fmt::join(ways_out(step, *shortage), "; ")));
  } else {
    say(fmt::format("  Try another {}, a cluster of more devices or memory (--cluster){}{}.",
                    step.from_file ? "placement" : "agent (--agent)", batch_to_try(step, *overflow),
                    finer_groups(step)));
  }
}

}  // namespace emplace::cli
