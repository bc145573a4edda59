#include "trace_graph.hpp"

#include "aten_work.hpp"
#include "model/assemble.hpp"
#include "model/op_names.hpp"
#include "stream_order.hpp"

#include <emplace/base/error.hpp>

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

namespace emplace::pytorch {
namespace {

class GraphOfTrace {
 public:
  GraphOfTrace(KinetoTrace trace, const std::string& source, std::string device_class, Level level)
      : trace_(std::move(trace)), device_class_(std::move(device_class)) {
    std::vector<std::optional<std::size_t>> parents;
    std::vector<bool> launched;
    for (std::size_t i = 0; i < trace_.nodes.size(); ++i) {
      infer_result(trace_.nodes[i]);
      parents.push_back(trace_.calls[i].parent);
      launched.push_back(!trace_.calls[i].kernels.empty());
      // Kernels of a function that is none of PyTorch's operators are its own.
      trace_.nodes[i].is_operator = trace_.nodes[i].is_operator || launched.back();
    }
    ops_ = find_ops(trace_.nodes, parents, level, launched);
    for (std::size_t i = 0; i < trace_.nodes.size(); ++i) {
      if (ops_.owner[i] == i) {
        add_op(i);
      }
    }
    if (num_ops(graph_) == 0) {
      throw Error(ErrorCode::kFormat,
                  fmt::format("{}: no event is an operator of PyTorch or a kernel", source));
    }
    for (const auto& [before, after] : std::move(order_).pairs(trace_.waits, source)) {
      add_dependency(graph_, before, Dependency::kControl, after);
    }
  }

  const OpGraph& graph() const { return graph_; }

 private:
  void add_op(std::size_t i) {
    Op op = ops_.work[i];
    op.name = names_.unique(trace_.nodes[i].name);
    op.phase = ops_.phase[i];
    op.scope = ops_.scope[i];
    for (const TensorUse& tensor : trace_.nodes[i].inputs) {
      op.bytes_read = sum({op.bytes_read, product({tensor.elements, tensor.element_bytes})});
    }
    for (const TensorUse& tensor : trace_.nodes[i].outputs) {
      op.bytes_written = sum({op.bytes_written, product({tensor.elements, tensor.element_bytes})});
    }
    double kernel_us = 0;
    bool is_known = true;
    std::vector<LaunchedKernel> kernels;
    const auto add_call = [&](const TimedCall& call) {
      kernel_us += call.kernel_us;
      is_known &= !call.lacks_kernels;
      kernels.insert(kernels.end(), call.kernels.begin(), call.kernels.end());
    };
    add_call(trace_.calls[i]);
    for (const std::size_t callee : ops_.callees[i]) {
      add_call(trace_.calls[callee]);
    }
    if (is_known) {
      op.measured = {{.device_class = device_class_,
                      .cost_us = trace_.has_kernels ? kernel_us : trace_.calls[i].duration_us}};
    }
    boost::add_vertex(op, graph_);
    order_.add(trace_.calls[i].thread, kernels);
  }

  KinetoTrace trace_;
  std::string device_class_;
  Calls ops_;
  OpGraph graph_;
  OpNames names_;
  StreamOrder order_;
};

}  // namespace

OpGraph graph_of_trace(KinetoTrace trace, const std::string& source, std::string device_class,
                       Level level) {
  try {
    return GraphOfTrace(std::move(trace), source, std::move(device_class), level).graph();
  } catch (const Error& error) {
    // A size that does not fit 64 bits is the file's mistake.
    if (error.code() == ErrorCode::kUsage) {
      throw Error(ErrorCode::kFormat, fmt::format("{}: {}", source, error.what()));
    }
    throw;
  }
}

}  // namespace emplace::pytorch
