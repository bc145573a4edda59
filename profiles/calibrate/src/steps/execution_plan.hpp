#pragma once

// A placed step as work for queues: what a machine must run and copy, in which order, and where in
// memory each tensor lies. The plan follows the rules of the physical engine
// (docs/concepts/simulation.md): ops of one device run one after the other, an output is copied
// once to each other device that reads it, copies of one ordered pair of devices follow one
// another. Planning needs no hardware.

#include <emplace/base/id_vector.hpp>
#include <emplace/base/ids.hpp>
#include <emplace/graphs/op_graph.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace emplace::calibrate {

/// Index of an item in its plan.
using ItemId = std::int32_t;

/// Index of a queue in its plan. The queue of a device's ops has the index of the device.
using QueueId = std::int32_t;

/// Names a byte in the memory of a device: an offset into the one block that the plan asks for.
struct Address {
  DeviceId device = 0;
  std::int64_t offset = 0;
};

/// Describes one piece of work of a queue: a run of an op, or a copy of one of its outputs.
struct WorkItem {
  enum class Kind : std::uint8_t { kRun, kCopy };
  Kind kind = Kind::kRun;
  OpId op = 0;                     ///< that runs, or whose output is copied
  QueueId queue = 0;               ///< that does the work
  std::vector<ItemId> after{};     ///< items of other queues that must have ended before
  std::vector<Address> inputs{};   ///< of a run; of a copy, where it reads
  std::vector<Address> outputs{};  ///< of a run; of a copy, where it writes
  Address state{};                 ///< of a run: optimizer slots
  std::int64_t bytes = 0;          ///< of a copy
};

/// Says whose work a queue does: a device's ops, or copies from one device to another.
struct WorkQueue {
  DeviceId device = 0;
  DeviceId to = 0;  ///< the same device for ops
};

/// Holds a placed step as work for queues.
struct ExecutionPlan {
  IdVector<QueueId, WorkQueue> queues{};
  IdVector<ItemId, WorkItem> items{};               ///< an order in which they may be enqueued
  IdVector<DeviceId, std::int64_t> memory_bytes{};  ///< of each device, without workspaces
};

/// Plans one step of `graph`. `device_of` holds a device in [0, num_devices) for each op, `order`
/// is a topological order of all ops; ops of one device run in this order. Outputs that only ops of
/// their own device read share memory with later ones; everything else keeps its address, so that
/// nothing waits for memory.
ExecutionPlan plan_step(const OpGraph& graph, IdSpan<OpId, const DeviceId> device_of,
                        std::int32_t num_devices, std::span<const OpId> order);

}  // namespace emplace::calibrate
