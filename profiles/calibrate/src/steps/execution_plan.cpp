#include "execution_plan.hpp"

#include "memory_arena.hpp"

#include <emplace/base/check.hpp>
#include <emplace/graphs/op_kind.hpp>

#include <boost/range/iterator_range.hpp>

#include <algorithm>
#include <map>
#include <utility>

namespace emplace::calibrate {
namespace {

// Index of a tensor on a device among all tensors of the plan.
using TensorId = std::int32_t;

constexpr ItemId kFromTheStart = -1;

// A tensor in the memory of one device: where its op made it, or where a copy of it arrived.
struct Tensor {
  DeviceId device = 0;
  std::int64_t bytes = 0;
  std::int32_t uses = 0;  // by ops of the device that are still to run
  bool released = false;
  bool kept = false;             // copied to others, received, or there from the start
  ItemId ready = kFromTheStart;  // the item that makes it
  Address address{};
};

class Planner {
 public:
  Planner(const OpGraph& graph, IdSpan<OpId, const DeviceId> device_of, std::int32_t num_devices,
          std::span<const OpId> order)
      : graph_(graph),
        device_of_(device_of),
        order_(order),
        made_(boost::num_vertices(graph)),
        read_(boost::num_vertices(graph)),
        done_(boost::num_vertices(graph)),
        state_(boost::num_vertices(graph)),
        arenas_(index_of(num_devices)) {
    for (DeviceId device = 0; device < num_devices; ++device) {
      plan_.queues.push_back({device, device});
    }
  }

  ExecutionPlan plan() {
    for (const OpId op : order_) {
      find_tensors(op);
    }
    // What is there from the start, or arrives whenever it is sent, must not lie where something
    // else lay before; so it gets its address before anything is given back.
    for (Tensor& tensor : tensors_) {
      if (tensor.kept) {
        tensor.address = take(tensor.device, tensor.bytes);
      }
    }
    for (const OpId op : order_) {
      if (launches(op_at(op).kind) && op_at(op).persistent_bytes > 0) {
        state_[op] = take(device_of_[op], op_at(op).persistent_bytes);
      }
    }
    for (const OpId op : order_) {
      emit(op);
    }
    for (const MemoryArena& arena : arenas_) {
      plan_.memory_bytes.push_back(arena.bytes());
    }
    return std::move(plan_);
  }

 private:
  const Op& op_at(OpId op) const { return graph_[index_of(op)]; }

  // Finds which tensors the op reads on its device, makes those that it writes and those that
  // others will receive, and counts uses.
  void find_tensors(OpId op) {
    const Op& what = op_at(op);
    const bool runs = launches(what.kind);
    for (const auto edge : boost::make_iterator_range(boost::in_edges(index_of(op), graph_))) {
      const std::int32_t output = graph_[edge].output;
      if (output == Dependency::kControl) {
        continue;
      }
      const auto producer = static_cast<OpId>(boost::source(edge, graph_));
      const TensorId id = device_of_[producer] == device_of_[op]
                              ? made_[producer][index_of(output)]
                              : received_.at({producer, output, device_of_[op]});
      read_[op].push_back(id);
      tensors_[id].uses += runs ? 1 : 0;
    }
    for (const Output& output : what.outputs) {
      // What launches nothing and reads something gives its input another shape, in place.
      if (!runs && !read_[op].empty()) {
        made_[op].push_back(read_[op].front());
        continue;
      }
      made_[op].push_back(tensors_.end_id());
      tensors_.push_back({.device = device_of_[op], .bytes = output.bytes, .kept = !runs});
    }
    for (const auto edge : boost::make_iterator_range(boost::out_edges(index_of(op), graph_))) {
      const std::int32_t output = graph_[edge].output;
      const DeviceId to = device_of_[static_cast<OpId>(boost::target(edge, graph_))];
      if (output == Dependency::kControl || to == device_of_[op]) {
        continue;
      }
      const TensorId source = made_[op][index_of(output)];
      if (received_.emplace(Receipt{op, output, to}, tensors_.end_id()).second) {
        tensors_[source].kept = true;
        const std::int64_t bytes = what.outputs[index_of(output)].bytes;
        tensors_.push_back({.device = to, .bytes = bytes, .kept = true});
      }
    }
  }

  void emit(OpId op) {
    std::vector<ItemId> after = items_before(op);
    if (launches(op_at(op).kind)) {
      const ItemId item = plan_.items.end_id();
      WorkItem run{.kind = WorkItem::Kind::kRun, .op = op, .queue = device_of_[op]};
      run.after = of_other_queues(std::move(after), run.queue);
      for (const TensorId id : made_[op]) {
        tensors_[id].ready = item;
        if (!tensors_[id].kept) {
          tensors_[id].address = take(tensors_[id].device, tensors_[id].bytes);
        }
        run.outputs.push_back(tensors_[id].address);
      }
      for (const TensorId id : read_[op]) {
        run.inputs.push_back(tensors_[id].address);
      }
      run.state = state_[op];
      plan_.items.push_back(std::move(run));
      done_[op] = {item};
      release(op);
    } else {
      done_[op] = std::move(after);
    }
    emit_copies(op);
  }

  // One copy of each output to each other device that reads it, in the order of outputs and
  // devices.
  void emit_copies(OpId op) {
    const auto end = received_.lower_bound({op + 1, 0, 0});
    for (auto it = received_.lower_bound({op, 0, 0}); it != end; ++it) {
      const auto [producer, output, to] = it->first;
      const Tensor& source = tensors_[made_[op][index_of(output)]];
      Tensor& target = tensors_[it->second];
      target.ready = source.ready;
      if (target.bytes == 0) {
        continue;
      }
      WorkItem copy{.kind = WorkItem::Kind::kCopy,
                    .op = op,
                    .queue = copy_queue(source.device, to),
                    .inputs = {source.address},
                    .outputs = {target.address},
                    .bytes = target.bytes};
      if (source.ready != kFromTheStart) {
        copy.after = {source.ready};
      }
      target.ready = plan_.items.end_id();
      plan_.items.push_back(std::move(copy));
    }
  }

  // The items that must have ended before the op: what makes its inputs, and what its control
  // predecessors stand for.
  std::vector<ItemId> items_before(OpId op) {
    std::vector<ItemId> items;
    for (const TensorId id : read_[op]) {
      if (tensors_[id].ready != kFromTheStart) {
        items.push_back(tensors_[id].ready);
      }
    }
    for (const auto edge : boost::make_iterator_range(boost::in_edges(index_of(op), graph_))) {
      if (graph_[edge].output == Dependency::kControl) {
        const auto& done = done_[boost::source(edge, graph_)];
        items.insert(items.end(), done.begin(), done.end());
      }
    }
    std::ranges::sort(items);
    items.erase(std::unique(items.begin(), items.end()), items.end());
    return items;
  }

  std::vector<ItemId> of_other_queues(std::vector<ItemId> items, QueueId queue) const {
    std::erase_if(items, [&](ItemId item) { return plan_.items[item].queue == queue; });
    return items;
  }

  // Gives back the memory of what the op was the last to use.
  void release(OpId op) {
    for (const TensorId id : read_[op]) {
      --tensors_[id].uses;
    }
    for (const auto* ids : {&read_[op], &made_[op]}) {
      for (const TensorId id : *ids) {
        Tensor& used = tensors_[id];
        if (!used.kept && !used.released && used.uses == 0) {
          used.released = true;  // an op may read a tensor twice
          arenas_[used.device].give_back(used.address.offset, used.bytes);
        }
      }
    }
  }

  Address take(DeviceId device, std::int64_t bytes) {
    return {device, arenas_[device].take(bytes)};
  }

  QueueId copy_queue(DeviceId from, DeviceId to) {
    const auto [found, is_new] = copy_queues_.emplace(std::pair(from, to), plan_.queues.end_id());
    if (is_new) {
      plan_.queues.push_back({from, to});
    }
    return found->second;
  }

  struct Receipt {
    OpId op;
    std::int32_t output;
    DeviceId to;
    // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 15 takes the 0 behind <=> for a pointer
    auto operator<=>(const Receipt&) const = default;
  };

  const OpGraph& graph_;
  IdSpan<OpId, const DeviceId> device_of_;
  std::span<const OpId> order_;
  IdVector<TensorId, Tensor> tensors_;
  IdVector<OpId, std::vector<TensorId>> made_;  // one for each output
  IdVector<OpId, std::vector<TensorId>> read_;  // one for each data edge
  IdVector<OpId, std::vector<ItemId>> done_;    // after whose end the op is done
  std::map<Receipt, TensorId> received_;        // tensors on other devices
  IdVector<OpId, Address> state_;
  std::map<std::pair<DeviceId, DeviceId>, QueueId> copy_queues_;
  IdVector<DeviceId, MemoryArena> arenas_;
  ExecutionPlan plan_;
};

}  // namespace

ExecutionPlan plan_step(const OpGraph& graph, IdSpan<OpId, const DeviceId> device_of,
                        std::int32_t num_devices, std::span<const OpId> order) {
  EMPLACE_CHECK(device_of.size() == boost::num_vertices(graph), "{} devices for {} ops",
                device_of.size(), boost::num_vertices(graph));
  EMPLACE_CHECK(order.size() == boost::num_vertices(graph), "{} of {} ops ordered", order.size(),
                boost::num_vertices(graph));
  return Planner(graph, device_of, num_devices, order).plan();
}

}  // namespace emplace::calibrate
