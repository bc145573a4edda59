#pragma once

// A placed step as work for queues: what a machine must run and copy, in which order, and where in
// memory everything lies. The plan follows the rules of the `physical` model (sim/README.md): ops
// of one device run one after the other, an output is copied once to each other device that reads
// it, copies of one ordered pair of devices follow one another. It is made without any hardware.

#include <emplace/calibrate/op_site.hpp>
#include <emplace/graphs/ids.hpp>
#include <emplace/graphs/op_graph.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace emplace::calibrate {

/// A place in the memory of a device: an offset into the one block that the plan asks for.
struct Place {
  std::int32_t device = 0;
  std::int64_t offset = 0;
};

/// One piece of work of a queue.
struct WorkItem {
  enum class Kind : std::uint8_t { kRun, kCopy };
  Kind kind = Kind::kRun;
  OpId op = 0;                        ///< that runs, or whose output is copied
  std::int32_t queue = 0;             ///< index into WorkPlan::queues
  std::vector<std::int32_t> after{};  ///< items of other queues that must have ended before
  std::vector<Place> inputs{};        ///< of a run; of a copy, where it reads
  std::vector<Place> outputs{};       ///< of a run; of a copy, where it writes
  Place state{};                      ///< of a run: optimizer slots
  std::int64_t bytes = 0;             ///< of a copy
};

/// Says whose work a queue does: a device's ops, or copies from one device to another.
struct WorkQueue {
  std::int32_t device = 0;
  std::int32_t to = 0;  ///< the same device for ops
};

/// A placed step; see the head of this file.
struct WorkPlan {
  std::vector<WorkQueue> queues{};
  std::vector<WorkItem> items{};             ///< an order in which they may be enqueued
  std::vector<std::int64_t> memory_bytes{};  ///< of each device, without workspaces
};

/// Plans one step of `graph`. `device_of` holds a device in [0, num_devices) for each op, `order`
/// is a topological order of all ops; ops of one device run in this order. Outputs that only ops of
/// their own device read share memory with later ones; everything else keeps its place, so that
/// nothing waits for memory.
WorkPlan plan_step(const OpGraph& graph, std::span<const std::int32_t> device_of,
                   std::int32_t num_devices, std::span<const OpId> order);

}  // namespace emplace::calibrate
