// The execution traces of PyTorch's ExecutionTraceObserver, with the times of a Kineto trace of the
// same run (`kineto=FILE`).
//
// Operators call each other. `level` says which of them are ops: the outermost of PyTorch's
// operators (aten::conv2d), or the innermost. A tensor that an op reads comes from the op that last
// wrote its storage; what no op wrote is an `input`. What an operator within an op made is an
// output of the op if another op reads it, as the backward pass does. An op's cost is the time of
// the kernels that it and all it calls launched, or, in a trace without kernels, its own from begin
// to end.

#include "../assemble.hpp"
#include "../aten.hpp"
#include "../element_type.hpp"
#include "../pytorch_trace.hpp"

#include <emplace/graphs/error.hpp>
#include <emplace/graphs/graph_format.hpp>
#include <emplace/graphs/id_vector.hpp>
#include <emplace/graphs/op_kind.hpp>
#include <emplace/graphs/text_file.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

namespace emplace {
namespace {

using pytorch::Node;
using pytorch::TensorUse;
using pytorch::Times;

using Shape = std::vector<std::int64_t>;

Output value_of(const TensorUse& tensor) {
  return {.shape = tensor.shape,
          .type = type_of_size(tensor.element_bytes),
          .bytes = tensor.elements * tensor.element_bytes};
}

// --- Work of an operator, from the shapes of its tensors
// -------------------------------------------

// A product whose left side is the input at `left`: the last dimension is summed over.
void count_product(Op& op, const Node& node, std::size_t left) {
  if (node.inputs.size() <= left || node.inputs[left].shape.empty() || node.outputs.empty() ||
      node.outputs[0].shape.size() < 2) {
    return;
  }
  const Shape& result = node.outputs[0].shape;
  const std::int64_t k = node.inputs[left].shape.back();
  const std::int64_t n = result.back();
  op.flops = product({2, node.outputs[0].elements, k});
  if (op.kind == "batch_matmul" && result.size() == 3) {
    op.shape = {result[0], result[1], n, k};
  } else if (op.kind == "matmul" && n > 0) {
    op.shape = {node.outputs[0].elements / n, n, k};
  }
}

// Inputs are maps, filters [K, C / groups, R, S], perhaps a bias; the first list of integers is the
// stride. A number of the result takes a multiply-add for each of a filter's.
void count_convolution(Op& op, const Node& node) {
  if (node.inputs.size() < 2 || node.outputs.empty() || node.inputs[1].shape.empty()) {
    return;
  }
  const Shape& x = node.inputs[0].shape;
  const Shape& filters = node.inputs[1].shape;
  const Shape& y = node.outputs[0].shape;
  op.flops = product({2, node.outputs[0].elements, product(std::span(filters).subspan(1))});
  const bool is_dense = x.size() == 4 && filters.size() == 4 && y.size() == 4 && x[1] == filters[1];
  if (is_dense && !node.settings.empty() && node.settings[0].size() == 2 &&
      node.settings[0][0] == node.settings[0][1]) {
    op.shape = {x[0], x[1], x[2], x[3], filters[0], filters[2], filters[3], node.settings[0][0],
                y[2], y[3]};
  }
}

// Inputs are the gradient of the result, maps and filters; outputs the gradients that are wanted,
// of which those of maps and filters cost as much as the convolution.
void count_convolution_backward(Op& op, const Node& node) {
  if (node.inputs.size() < 3 || node.inputs[2].shape.empty()) {
    return;
  }
  const auto per_result = product(std::span(node.inputs[2].shape).subspan(1));
  const auto wanted = std::ranges::count_if(node.outputs, [&](const TensorUse& tensor) {
    return tensor.shape == node.inputs[1].shape || tensor.shape == node.inputs[2].shape;
  });
  op.flops = product({2, wanted, node.inputs[0].elements, per_result});
}

void count_work(Op& op, const Node& node) {
  const bool has_addend = node.name == "aten::addmm" || node.name == "aten::baddbmm";
  if (op.kind == "matmul" || op.kind == "batch_matmul") {
    count_product(op, node, has_addend ? 1 : 0);
  } else if (op.kind == "conv2d") {
    count_convolution(op, node);
  } else if (op.kind == "convolution_backward") {
    count_convolution_backward(op, node);
  } else if (op_class_of(op.kind) == OpClass::kElementwise && !node.outputs.empty()) {
    op.shape = {node.outputs[0].elements};
    op.flops = node.outputs[0].elements;
  }
}

// Who wrote a tensor last.
struct Writer {
  Tensor tensor{};  // output -1: an operator within the op made it, and no other op has read it yet
  Output hidden{};
};

class Reader {
 public:
  Reader(std::vector<Node> nodes, const std::string& source, const Params& params)
      : nodes_(std::move(nodes)),
        source_(source),
        device_class_(params.get<std::string>("device-class")) {
    if (const auto& path = params.get<std::string>("kineto"); !path.empty()) {
      times_ = pytorch::read_kineto(read_text_file(path), path);
    }
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].parent >= nodes_[i].id && nodes_[i].id > 1) {
        throw Error(ErrorCode::kFormat,
                    fmt::format("{}: node {}: expected a parent that began before it, found {}",
                                source, nodes_[i].id, nodes_[i].parent));
      }
      position_of_[nodes_[i].id] = i;
    }
    owner_.resize(nodes_.size());
    phase_.resize(nodes_.size());
    choose(params.get<std::string>("level") == "innermost");
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (owner_[i] && owner_[i] != i) {
        owned_[*owner_[i]].push_back(i);
      }
    }
    find_phases();
    add_up_times();
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (owner_[i] == i) {
        add_op(i);
      }
    }
    if (num_ops(graph_) == 0) {
      throw Error(ErrorCode::kFormat, fmt::format("{}: no node is an operator", source));
    }
  }

  OpGraph finish() && {
    graph_[boost::graph_bundle].source = "PyTorch execution trace";
    return std::move(graph_);
  }

 private:
  // Sets the owner of each node: the node itself if it is an op, the op that calls it, or nothing.
  void choose(bool innermost) {
    std::vector<bool> calls(nodes_.size(), false);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (const auto parent = parent_of(i); parent && is_operator(i)) {
        calls[*parent] = true;
      }
    }
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const auto parent = parent_of(i);
      owner_[i] = parent ? owner_[*parent] : std::nullopt;
      if (is_operator(i) && (innermost ? !calls[i] : !owner_[i])) {
        owner_[i] = i;
      }
    }
  }

  bool is_operator(std::size_t i) const {
    const Node& node = nodes_[i];
    return node.name.find("::") != std::string::npos && !node.name.starts_with("autograd::") &&
           !node.name.starts_with("torch::") && (!node.inputs.empty() || !node.outputs.empty());
  }

  std::optional<std::size_t> parent_of(std::size_t i) const {
    const auto parent = position_of_.find(nodes_[i].parent);
    return parent != position_of_.end() && parent->second < i ? std::optional(parent->second)
                                                              : std::nullopt;
  }

  // An op's time is its own, or that of the kernels of all nodes that it owns.
  void add_up_times() {
    const bool has_kernels = !times_.kernel_us.empty();
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const auto& times = has_kernels ? times_.kernel_us : times_.cpu_us;
      const auto time = times.find(nodes_[i].rf_id);
      if (owner_[i] && time != times.end() && (has_kernels || owner_[i] == i)) {
        time_of_[*owner_[i]] += time->second;
      }
    }
  }

  // What a node belongs to: the backward pass is called by autograd, updates by an optimizer.
  void find_phases() {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const auto parent = parent_of(i);
      phase_[i] = nodes_[i].name.starts_with("autograd::")       ? Phase::kBackward
                  : nodes_[i].name.starts_with("Optimizer.step") ? Phase::kUpdate
                  : parent                                       ? phase_[*parent]
                                                                 : Phase::kForward;
    }
  }

  std::string unique_name(std::string name) {
    std::string unique = name;
    for (int& count = used_[name]; !names_.insert(unique).second;) {
      unique = fmt::format("{}_{}", name, ++count + 1);
    }
    return unique;
  }

  // PyTorch uses the number of a tensor again when the object is gone, as with every value that the
  // backward pass unpacks; that of a storage only when the memory is free. So the op that wrote to
  // the storage last is asked which of its outputs this is.
  Tensor writer_of(const TensorUse& tensor) {
    if (const auto last = by_storage_.find(tensor.storage); last != by_storage_.end()) {
      const auto same = by_tensor_.find({tensor.storage, tensor.id});
      const bool is_same = same != by_tensor_.end() &&
                           writers_[same->second].tensor.op == writers_[last->second].tensor.op;
      return output_of(writers_[is_same ? same->second : last->second]);
    }
    Op op{.name = unique_name(fmt::format("tensor_{}", tensor.id)),
          .kind = "input",
          .shape = tensor.shape,
          .outputs = {value_of(tensor)}};
    const Tensor input{append_op(graph_, std::move(op), {}), 0};
    remember(tensor, {.tensor = input});
    return input;
  }

  // Makes what an op only made for itself an output of it.
  Tensor output_of(Writer& writer) {
    if (writer.tensor.output < 0) {
      Op& op = graph_[index_of(writer.tensor.op)];
      writer.tensor.output = static_cast<std::int32_t>(op.outputs.size());
      op.bytes_written = sum({op.bytes_written, writer.hidden.bytes});
      op.outputs.push_back(writer.hidden);
    }
    return writer.tensor;
  }

  void remember(const TensorUse& tensor, Writer writer) {
    by_tensor_[{tensor.storage, tensor.id}] = writers_.size();
    by_storage_[tensor.storage] = writers_.size();
    writers_.push_back(std::move(writer));
  }

  void add_op(std::size_t i) {
    const Node& node = nodes_[i];
    std::vector<Tensor> inputs;
    for (const TensorUse& tensor : node.inputs) {
      inputs.push_back(writer_of(tensor));
    }
    Op op{.name = unique_name(node.name), .kind = kind_of_aten(node.name), .phase = phase_[i]};
    count_work(op, node);
    for (const TensorUse& tensor : node.outputs) {
      op.outputs.push_back(value_of(tensor));
    }
    if (const auto time = time_of_.find(i); time != time_of_.end()) {
      op.measured = {{.device_class = device_class_, .cost_us = time->second}};
    } else if (!times_.kernel_us.empty()) {
      op.measured = {{.device_class = device_class_, .cost_us = 0}};  // launched nothing
    }
    const OpId id = append_op(graph_, std::move(op), inputs);
    for (const std::size_t inner : owned_[i]) {
      for (const TensorUse& tensor : nodes_[inner].outputs) {
        const bool is_view = std::ranges::find(node.inputs, tensor.storage, &TensorUse::storage) !=
                             node.inputs.end();
        if (!is_view) {
          remember(tensor, {.tensor = {id, -1}, .hidden = value_of(tensor)});
        }
      }
    }
    for (std::size_t output = 0; output < node.outputs.size(); ++output) {
      remember(node.outputs[output], {.tensor = {id, static_cast<std::int32_t>(output)}});
    }
  }

  std::vector<Node> nodes_;
  const std::string& source_;
  std::string device_class_;
  Times times_;
  OpGraph graph_;
  std::unordered_map<std::int64_t, std::size_t> position_of_;        // by id
  std::vector<std::optional<std::size_t>> owner_;                    // by position
  std::unordered_map<std::size_t, std::vector<std::size_t>> owned_;  // what an op calls
  std::vector<Phase> phase_;                                         // by position
  std::unordered_map<std::size_t, double> time_of_;                  // of ops, by position
  std::vector<Writer> writers_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::size_t>
      by_tensor_;                                             // the writer, by storage and tensor
  std::unordered_map<std::int64_t, std::size_t> by_storage_;  // the last writer
  std::unordered_map<std::string, int> used_;
  std::set<std::string> names_;
};

OpGraph read(std::string_view text, const std::string& source, const Params& params) {
  try {
    return Reader(pytorch::read_execution_trace(text, source), source, params).finish();
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
}  // namespace emplace
