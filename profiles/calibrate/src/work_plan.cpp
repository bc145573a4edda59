#include "memory_arena.hpp"

#include <emplace/calibrate/work_plan.hpp>
#include <emplace/graphs/check.hpp>
#include <emplace/graphs/op_kind.hpp>

#include <boost/range/iterator_range.hpp>

#include <algorithm>
#include <map>
#include <utility>

namespace emplace::calibrate {
namespace {

constexpr std::int32_t kFromTheStart = -1;

// A tensor in the memory of one device: where its op made it, or where a copy of it arrived.
struct Tensor {
  std::int32_t device = 0;
  std::int64_t bytes = 0;
  std::int32_t uses = 0;  // by ops of the device that are still to run
  bool released = false;
  bool kept = false;                   // copied to others, received, or there from the start
  std::int32_t ready = kFromTheStart;  // the item that makes it
  Place place{};
};

class Planner {
 public:
  Planner(const OpGraph& graph, std::span<const std::int32_t> device_of, std::int32_t num_devices,
          std::span<const OpId> order)
      : graph_(graph),
        device_of_(device_of),
        order_(order),
        made_(boost::num_vertices(graph)),
        read_(boost::num_vertices(graph)),
        done_(boost::num_vertices(graph)),
        state_(boost::num_vertices(graph)),
        arenas_(static_cast<std::size_t>(num_devices)) {
    for (std::int32_t device = 0; device < num_devices; ++device) {
      plan_.queues.push_back({device, device});
    }
  }

  WorkPlan plan() {
    for (const OpId op : order_) {
      find_tensors(op);
    }
    // What is there from the start, or arrives whenever it is sent, must not lie where something
    // else lay before; so it is given its place before anything is given back.
    for (Tensor& tensor : tensors_) {
      if (tensor.kept) {
        tensor.place = take(tensor.device, tensor.bytes);
      }
    }
    for (const OpId op : order_) {
      if (launches(graph_[at(op)].kind) && graph_[at(op)].persistent_bytes > 0) {
        state_[at(op)] = take(device_of(op), graph_[at(op)].persistent_bytes);
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
  static std::size_t at(OpId op) { return static_cast<std::size_t>(op); }
  std::int32_t device_of(OpId op) const { return device_of_[at(op)]; }
  Tensor& tensor(std::int32_t id) { return tensors_[static_cast<std::size_t>(id)]; }

  // Finds which tensors the op reads on its device, makes those that it writes and those that
  // others will receive, and counts uses.
  void find_tensors(OpId op) {
    const Op& what = graph_[at(op)];
    const bool runs = launches(what.kind);
    for (const auto edge : boost::make_iterator_range(boost::in_edges(at(op), graph_))) {
      const std::int32_t output = graph_[edge].output;
      if (output == Dependency::kControl) {
        continue;
      }
      const auto producer = static_cast<OpId>(boost::source(edge, graph_));
      const std::int32_t id = device_of(producer) == device_of(op)
                                  ? made_[at(producer)][static_cast<std::size_t>(output)]
                                  : received_.at({producer, output, device_of(op)});
      read_[at(op)].push_back(id);
      tensor(id).uses += runs ? 1 : 0;
    }
    for (const Output& output : what.outputs) {
      // What launches nothing and reads something gives its input another shape, in place.
      if (!runs && !read_[at(op)].empty()) {
        made_[at(op)].push_back(read_[at(op)].front());
        continue;
      }
      made_[at(op)].push_back(static_cast<std::int32_t>(tensors_.size()));
      tensors_.push_back({.device = device_of(op), .bytes = output.bytes, .kept = !runs});
    }
    for (const auto edge : boost::make_iterator_range(boost::out_edges(at(op), graph_))) {
      const std::int32_t output = graph_[edge].output;
      const std::int32_t to = device_of(static_cast<OpId>(boost::target(edge, graph_)));
      if (output == Dependency::kControl || to == device_of(op)) {
        continue;
      }
      const std::int32_t source = made_[at(op)][static_cast<std::size_t>(output)];
      if (received_.emplace(Receipt{op, output, to}, static_cast<std::int32_t>(tensors_.size()))
              .second) {
        tensor(source).kept = true;
        const std::int64_t bytes = what.outputs[static_cast<std::size_t>(output)].bytes;
        tensors_.push_back({.device = to, .bytes = bytes, .kept = true});
      }
    }
  }

  void emit(OpId op) {
    std::vector<std::int32_t> after = items_before(op);
    if (launches(graph_[at(op)].kind)) {
      const auto item = static_cast<std::int32_t>(plan_.items.size());
      WorkItem run{.kind = WorkItem::Kind::kRun, .op = op, .queue = device_of(op)};
      run.after = of_other_queues(std::move(after), run.queue);
      for (const std::int32_t id : made_[at(op)]) {
        tensor(id).ready = item;
        if (!tensor(id).kept) {
          tensor(id).place = take(tensor(id).device, tensor(id).bytes);
        }
        run.outputs.push_back(tensor(id).place);
      }
      for (const std::int32_t id : read_[at(op)]) {
        run.inputs.push_back(tensor(id).place);
      }
      run.state = state_[at(op)];
      plan_.items.push_back(std::move(run));
      done_[at(op)] = {item};
      release(op);
    } else {
      done_[at(op)] = std::move(after);
    }
    emit_copies(op);
  }

  // One copy of each output to each other device that reads it, in the order of outputs and
  // devices.
  void emit_copies(OpId op) {
    const auto end = received_.lower_bound({op + 1, 0, 0});
    for (auto it = received_.lower_bound({op, 0, 0}); it != end; ++it) {
      const auto [producer, output, to] = it->first;
      const Tensor& source = tensor(made_[at(op)][static_cast<std::size_t>(output)]);
      Tensor& target = tensor(it->second);
      target.ready = source.ready;
      if (target.bytes == 0) {
        continue;
      }
      WorkItem copy{.kind = WorkItem::Kind::kCopy,
                    .op = op,
                    .queue = copy_queue(source.device, to),
                    .inputs = {source.place},
                    .outputs = {target.place},
                    .bytes = target.bytes};
      if (source.ready != kFromTheStart) {
        copy.after = {source.ready};
      }
      target.ready = static_cast<std::int32_t>(plan_.items.size());
      plan_.items.push_back(std::move(copy));
    }
  }

  // The items that must have ended before the op: what makes its inputs, and what its control
  // predecessors stand for.
  std::vector<std::int32_t> items_before(OpId op) {
    std::vector<std::int32_t> items;
    for (const std::int32_t id : read_[at(op)]) {
      if (tensor(id).ready != kFromTheStart) {
        items.push_back(tensor(id).ready);
      }
    }
    for (const auto edge : boost::make_iterator_range(boost::in_edges(at(op), graph_))) {
      if (graph_[edge].output == Dependency::kControl) {
        const auto& done = done_[boost::source(edge, graph_)];
        items.insert(items.end(), done.begin(), done.end());
      }
    }
    std::ranges::sort(items);
    items.erase(std::unique(items.begin(), items.end()), items.end());
    return items;
  }

  std::vector<std::int32_t> of_other_queues(std::vector<std::int32_t> items,
                                            std::int32_t queue) const {
    std::erase_if(items, [&](std::int32_t item) {
      return plan_.items[static_cast<std::size_t>(item)].queue == queue;
    });
    return items;
  }

  // Gives back the memory of what the op was the last to use.
  void release(OpId op) {
    for (const std::int32_t id : read_[at(op)]) {
      --tensor(id).uses;
    }
    for (const auto* ids : {&read_[at(op)], &made_[at(op)]}) {
      for (const std::int32_t id : *ids) {
        Tensor& used = tensor(id);
        if (!used.kept && !used.released && used.uses == 0) {
          used.released = true;  // an op may read a tensor twice
          arena(used.device).give_back(used.place.offset, used.bytes);
        }
      }
    }
  }

  MemoryArena& arena(std::int32_t device) { return arenas_[static_cast<std::size_t>(device)]; }

  Place take(std::int32_t device, std::int64_t bytes) {
    return {device, arena(device).take(bytes)};
  }

  std::int32_t copy_queue(std::int32_t from, std::int32_t to) {
    const auto [found, is_new] =
        copy_queues_.emplace(std::pair(from, to), static_cast<std::int32_t>(plan_.queues.size()));
    if (is_new) {
      plan_.queues.push_back({from, to});
    }
    return found->second;
  }

  struct Receipt {
    OpId op;
    std::int32_t output;
    std::int32_t to;
    auto operator<=>(const Receipt&) const = default;
  };

  const OpGraph& graph_;
  std::span<const std::int32_t> device_of_;
  std::span<const OpId> order_;
  std::vector<Tensor> tensors_;
  std::vector<std::vector<std::int32_t>> made_;  // by op: a tensor for each output
  std::vector<std::vector<std::int32_t>> read_;  // by op: a tensor for each data edge
  std::vector<std::vector<std::int32_t>> done_;  // by op: the items after whose end it is done
  std::map<Receipt, std::int32_t> received_;     // tensors on other devices
  std::vector<Place> state_;                     // by op
  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> copy_queues_;
  std::vector<MemoryArena> arenas_;
  WorkPlan plan_;
};

}  // namespace

WorkPlan plan_step(const OpGraph& graph, std::span<const std::int32_t> device_of,
                   std::int32_t num_devices, std::span<const OpId> order) {
  EMPLACE_CHECK(device_of.size() == boost::num_vertices(graph), "{} devices for {} ops",
                device_of.size(), boost::num_vertices(graph));
  EMPLACE_CHECK(order.size() == boost::num_vertices(graph), "{} of {} ops ordered", order.size(),
                boost::num_vertices(graph));
  return Planner(graph, device_of, num_devices, order).plan();
}

}  // namespace emplace::calibrate
