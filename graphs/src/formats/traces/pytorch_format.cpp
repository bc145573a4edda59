// The execution traces of PyTorch's ExecutionTraceObserver, with the times of a Kineto trace of the
// same run (`kineto=FILE`).
//
// pytorch_calls.hpp says which operators are ops, pytorch_state.hpp what is a parameter. A tensor
// that an op reads comes from the op that last wrote its storage, or from outside of the trace.
// What an operator within an op made is an output of the op if another op reads it, as the backward
// pass does. What an op writes over a parameter or state stays where it is: later readers come
// after it. An op's cost is the time of the kernels that it and all it calls launched, or, in a
// trace without kernels, its own from begin to end; it has none if that is not known.

#include "kineto_links.hpp"
#include "kineto_trace.hpp"
#include "model/assemble.hpp"
#include "model/element_type.hpp"
#include "model/op_names.hpp"
#include "pytorch_calls.hpp"
#include "pytorch_state.hpp"
#include "pytorch_trace.hpp"

#include <emplace/base/error.hpp>
#include <emplace/base/id_vector.hpp>
#include <emplace/base/text_file.hpp>
#include <emplace/graphs/graph_format.hpp>
#include <emplace/graphs/op_kind.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

namespace emplace::pytorch_format {
namespace {

using pytorch::Calls;
using pytorch::Origin;
using pytorch::Place;
using pytorch::TensorUse;
using pytorch::TracedNode;
using pytorch::TraceState;

Output value_of(const TensorUse& tensor) {
  return {.shape = tensor.shape,
          .type = type_of_size(tensor.element_bytes),
          .bytes = tensor.elements * tensor.element_bytes};
}

std::vector<std::optional<std::size_t>> find_parents(std::span<const TracedNode> nodes,
                                                     const std::string& source) {
  std::unordered_map<std::int64_t, std::size_t> position_of;
  std::vector<std::optional<std::size_t>> parents;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].parent >= nodes[i].id && nodes[i].id > 1) {
      throw Error(ErrorCode::kFormat,
                  fmt::format("{}: node {}: expected a parent that began before it, found {}",
                              source, nodes[i].id, nodes[i].parent));
    }
    const auto parent = position_of.find(nodes[i].parent);
    parents.push_back(parent != position_of.end() ? std::optional(parent->second) : std::nullopt);
    position_of[nodes[i].id] = i;
  }
  return parents;
}

// What a node took.
struct NodeTime {
  bool is_known = false;  // the trace of times has the node
  double cpu_us = 0;      // from begin to end
  double kernel_us = 0;   // of the kernels that it launched itself
  bool launched = false;  // some
  bool lacks_kernels = false;
};

// What nodes took, by position.
struct Times {
  bool has_kernels = false;
  std::vector<NodeTime> nodes{};
};

Times read_times(std::span<const TracedNode> nodes, const std::string& path) {
  Times times{.nodes = std::vector<NodeTime>(nodes.size())};
  if (path.empty()) {
    return times;
  }
  const pytorch::KinetoTrace trace = pytorch::read_kineto(read_text_file(path), path);
  const auto links = pytorch::link_calls(nodes, trace, path);
  times.has_kernels = trace.has_kernels;
  std::vector<std::optional<std::size_t>> node_of(trace.calls.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (const auto& link = links[i]) {
      times.nodes[i].is_known = true;
      times.nodes[i].cpu_us = trace.calls[*link].duration_us;
      node_of[*link] = i;
    }
  }
  // Calls that the execution trace lacks are part of the node around them.
  for (std::size_t i = 0; i < trace.calls.size(); ++i) {
    const pytorch::TimedCall& call = trace.calls[i];
    if (!node_of[i] && call.parent) {
      node_of[i] = node_of[*call.parent];
    }
    if (const auto node = node_of[i]) {
      NodeTime& time = times.nodes[*node];
      time.kernel_us += call.kernel_us;
      time.launched |= !call.kernels.empty();
      time.lacks_kernels |= call.lacks_kernels;
    }
  }
  return times;
}

// Who wrote a tensor last.
struct LastWriter {
  Tensor tensor{};  // output -1: an operator within the op made it, and no other op has read it yet
  Output hidden{};
};

class PytorchReader {
 public:
  PytorchReader(std::vector<TracedNode> nodes, const std::string& source, const Params& params)
      : nodes_(std::move(nodes)), device_class_(params.get<std::string>("device-class")) {
    const auto parents = find_parents(nodes_, source);
    times_ = read_times(nodes_, params.get<std::string>("kineto"));
    std::vector<bool> launched;
    launched.reserve(nodes_.size());
    for (const NodeTime& time : times_.nodes) {
      launched.push_back(time.launched);
    }
    ops_ = pytorch::find_ops(nodes_, parents, pytorch::level_of(params.get<std::string>("level")),
                             launched);
    state_ = TraceState(nodes_, ops_.phase);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (ops_.owner[i] == i) {
        add_op(i);
      }
    }
    if (num_ops(graph_) == 0) {
      throw Error(ErrorCode::kFormat, fmt::format("{}: no node is an operator", source));
    }
  }

  OpGraph finish() && {
    graph_[boost::graph_bundle].source = "PyTorch execution trace";
    return graph_;
  }

 private:
  // PyTorch uses the number of a tensor again when the object is gone, as with every value that the
  // backward pass unpacks; that of a storage only when the memory is free. So the op that wrote to
  // the storage last is asked which of its outputs this is.
  Tensor writer_of(const TensorUse& tensor, Op& reader) {
    const Place place = state_.place_of(tensor);
    if (const auto last = by_place_.find(place); last != by_place_.end()) {
      const auto same = by_tensor_.find({place, tensor.id});
      const bool is_same = same != by_tensor_.end() &&
                           writers_[same->second].tensor.op == writers_[last->second].tensor.op;
      return output_of(writers_[is_same ? same->second : last->second]);
    }
    const Origin origin = state_.origin_of(place);
    Op op{.name = names_.unique(fmt::format("tensor_{}", tensor.id)),
          .kind = origin == Origin::kParameter ? "variable"
                  : origin == Origin::kState   ? "constant"
                                               : "input",
          .shape = tensor.shape,
          .outputs = {value_of(tensor)}};
    if (origin != Origin::kInput) {
      hold(op, reader);
      op.parameters = origin == Origin::kParameter ? tensor.elements : 0;
    }
    const Tensor outside{append_op(graph_, std::move(op), {}), 0};
    if (origin != Origin::kInput) {
      held_[place] = outside.op;
    }
    remember(tensor, {.tensor = outside});
    return outside;
  }

  // What stays in memory between steps lives with its first reader.
  static void hold(Op& held, Op& reader) {
    if (reader.colocation.empty()) {
      reader.colocation = held.name;
    }
    held.colocation = reader.colocation;
    held.scope = reader.scope;
    held.outputs[0].persistent = true;
    held.persistent_bytes = held.outputs[0].bytes;
  }

  // Makes what an op only made for itself an output of it.
  Tensor output_of(LastWriter& writer) {
    if (writer.tensor.output < 0) {
      Op& op = graph_[index_of(writer.tensor.op)];
      writer.tensor.output = static_cast<std::int32_t>(op.outputs.size());
      op.bytes_written = sum({op.bytes_written, writer.hidden.bytes});
      op.outputs.push_back(writer.hidden);
    }
    return writer.tensor;
  }

  void remember(const TensorUse& tensor, LastWriter writer) {
    const Place place = state_.place_of(tensor);
    by_tensor_[{place, tensor.id}] = writers_.size();
    by_place_[place] = writers_.size();
    writers_.push_back(std::move(writer));
  }

  // Returns the op that holds the memory of `tensor` between steps, or nothing.
  std::optional<OpId> holder_of(const TensorUse& tensor) const {
    const auto held = held_.find(state_.place_of(tensor));
    return held != held_.end() ? std::optional(held->second) : std::nullopt;
  }

  bool reads_memory_of(const TracedNode& node, const TensorUse& tensor) const {
    return std::ranges::find(node.inputs, tensor.storage, &TensorUse::storage) != node.inputs.end();
  }

  // The places of parameters and state that the op writes to, and the op that holds them if there
  // is one and no more: the op runs where that is.
  std::set<Place> overwritten_by(std::size_t i, Op& op) {
    std::set<Place> places;
    std::set<OpId> holders;
    const auto add = [&](const TracedNode& node) {
      for (const TensorUse& tensor : node.inputs) {
        if (const auto holder = holder_of(tensor); holder && pytorch::writes_input(node, tensor)) {
          places.insert(state_.place_of(tensor));
          holders.insert(*holder);
        }
      }
    };
    add(nodes_[i]);
    for (const std::size_t callee : ops_.callees[i]) {
      add(nodes_[callee]);
    }
    if (holders.size() == 1 && op.colocation.empty()) {
      op.colocation = graph_[index_of(*holders.begin())].colocation;
    }
    return places;
  }

  void add_op(std::size_t i) {
    const TracedNode& node = nodes_[i];
    Op op = ops_.work[i];
    op.name = names_.unique(node.name);
    op.phase = ops_.phase[i];
    op.scope = ops_.scope[i];
    std::vector<Tensor> inputs;
    std::set<OpId> before;
    for (const TensorUse& tensor : node.inputs) {
      inputs.push_back(writer_of(tensor, op));
      if (const auto last = last_write_.find(state_.place_of(tensor)); last != last_write_.end()) {
        before.insert(last->second);
      }
    }
    const bool is_copy = result_memory_of(op.kind) == ResultMemory::kView && !node.inputs.empty() &&
                         !node.outputs.empty() && !reads_memory_of(node, node.outputs[0]);
    if (is_copy) {
      op.kind = "copy";  // aten::reshape of what is not contiguous
    }
    const std::set<Place> overwritten = overwritten_by(i, op);
    std::vector<std::pair<const TensorUse*, std::int32_t>> made;
    for (const TensorUse& tensor : node.outputs) {
      if (!overwritten.contains(state_.place_of(tensor))) {
        made.emplace_back(&tensor, static_cast<std::int32_t>(op.outputs.size()));
        op.outputs.push_back(value_of(tensor));
      } else if (launches(op.kind)) {
        op.bytes_written = sum({op.bytes_written, value_of(tensor).bytes});
      }
    }
    set_time(op, i);
    const OpId id = append_op(graph_, std::move(op), inputs);
    // What is read of a tensor is no less than nothing, whatever the trace says of its size.
    graph_[index_of(id)].bytes_read = std::max<std::int64_t>(graph_[index_of(id)].bytes_read, 0);
    for (const OpId earlier : before) {
      add_dependency(graph_, earlier, Dependency::kControl, id);
    }
    for (const Place& place : overwritten) {
      last_write_[place] = id;
    }
    for (const std::size_t inner : ops_.callees[i]) {
      for (const TensorUse& tensor : nodes_[inner].outputs) {
        const bool is_view = reads_memory_of(node, tensor) || holder_of(tensor);
        if (!is_view) {
          remember(tensor, {.tensor = {id, -1}, .hidden = value_of(tensor)});
        }
      }
    }
    for (const auto& [tensor, output] : made) {
      remember(*tensor, {.tensor = {id, output}});
    }
  }

  // An op's time is its own, or that of the kernels of all nodes within it. It has none if it is
  // not in the trace of times, or a kernel of it is not.
  void set_time(Op& op, std::size_t i) const {
    const NodeTime& own = times_.nodes[i];
    double kernel_us = own.kernel_us;
    bool is_known = own.is_known && !own.lacks_kernels;
    for (const std::size_t callee : ops_.callees[i]) {
      kernel_us += times_.nodes[callee].kernel_us;
      is_known &= !times_.nodes[callee].lacks_kernels;
    }
    if (is_known) {
      op.measured = {
          {.device_class = device_class_, .cost_us = times_.has_kernels ? kernel_us : own.cpu_us}};
    }
  }

  std::vector<TracedNode> nodes_;
  std::string device_class_;
  Times times_;
  Calls ops_;
  TraceState state_;
  OpGraph graph_;
  OpNames names_;
  std::vector<LastWriter> writers_;
  std::map<std::pair<Place, std::int64_t>, std::size_t> by_tensor_;  // the writer, by tensor
  std::map<Place, std::size_t> by_place_;                            // the last writer
  std::map<Place, OpId> held_;                                       // variables and constants
  std::map<Place, OpId> last_write_;  // the op that last wrote over one of them
};

OpGraph read(std::string_view text, const std::string& source, const Params& params) {
  try {
    return PytorchReader(pytorch::read_execution_trace(text, source), source, params).finish();
  } catch (const Error& error) {
    // A size that does not fit 64 bits is the file's mistake.
    if (error.code() == ErrorCode::kUsage) {
      throw Error(ErrorCode::kFormat, fmt::format("{}: {}", source, error.what()));
    }
    throw;
  }
}

const FormatRegistration kRegistration({
    .name = "pytorch",
    .summary = "execution traces of PyTorch, with the times of a Kineto trace",
    .reference = "https://pytorch.org/docs/stable/profiler.html",
    .read_parameters = {{.name = "kineto",
                         .default_value = std::string(),
                         .summary = "Kineto trace of the same run, for times"},
                        {.name = "device-class",
                         .default_value = std::string("pytorch"),
                         .summary = "device class of the times"},
                        {.name = "level",
                         .default_value = std::string("outermost"),
                         .choices = {"innermost", "outermost"},
                         .summary = "which of the operators that call each other are ops"}},
    .recognizes = [](const FileContent& file) { return file.has("schema") && file.has("nodes"); },
    .read = read,
});

}  // namespace
}  // namespace emplace::pytorch_format
