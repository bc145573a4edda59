// A trace of PyTorch's profiler (Kineto) alone: operators, what they took and the shapes of their
// inputs where they were recorded (`record_shapes=True`), from which FLOPs follow. Kernels that no
// operator launched are ops, too. Such a trace knows no tensors, so its edges only order: an op
// follows the one before it on each stream on which its kernels ran, and what these streams or its
// thread waited for; an op without kernels the one before it on its thread. The execution trace of
// the same run has the tensors (pytorch_format.cpp).

#include "aten_work.hpp"
#include "kineto_inputs.hpp"
#include "kineto_trace.hpp"
#include "model/assemble.hpp"
#include "model/op_names.hpp"
#include "pytorch_calls.hpp"
#include "stream_order.hpp"

#include <emplace/base/error.hpp>
#include <emplace/graphs/graph_format.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace emplace::kineto_format {
namespace {

using pytorch::Calls;
using pytorch::KinetoTrace;

// Says for the graph's source of which types a size is assumed.
std::string describe_unknown(const std::map<std::string, int>& types) {
  std::vector<std::string> parts;
  parts.reserve(types.size());
  for (const auto& [type, count] : types) {
    parts.push_back(fmt::format("{} ({})", excerpt(type), count));
  }
  return parts.empty() ? ""
                       : fmt::format("; elements of unknown types count as {} bytes: {}",
                                     pytorch::kUnknownTypeBytes, fmt::join(parts, ", "));
}

class KinetoReader {
 public:
  KinetoReader(KinetoTrace trace, const std::string& source, const Params& params)
      : trace_(std::move(trace)), device_class_(params.get<std::string>("device-class")) {
    std::vector<std::optional<std::size_t>> parents;
    std::vector<bool> launched;
    for (std::size_t i = 0; i < trace_.nodes.size(); ++i) {
      pytorch::infer_result(trace_.nodes[i]);
      parents.push_back(trace_.calls[i].parent);
      launched.push_back(!trace_.calls[i].kernels.empty());
      // Kernels of a function that is none of PyTorch's operators are its own.
      trace_.nodes[i].is_operator = trace_.nodes[i].is_operator || launched.back();
    }
    ops_ = pytorch::find_ops(trace_.nodes, parents,
                             pytorch::level_of(params.get<std::string>("level")), launched);
    for (std::size_t i = 0; i < trace_.nodes.size(); ++i) {
      if (ops_.owner[i] == i) {
        add_op(i);
      }
    }
    if (num_ops(graph_) == 0) {
      throw Error(
          ErrorCode::kFormat,
          fmt::format("{}: /traceEvents: no event is an operator of PyTorch or a kernel", source));
    }
    for (const auto& [before, after] : std::move(order_).pairs(trace_.waits, source)) {
      add_dependency(graph_, before, Dependency::kControl, after);
    }
  }

  OpGraph finish() && {
    graph_[boost::graph_bundle].source = "Kineto trace" + describe_unknown(trace_.unknown_types);
    return graph_;
  }

 private:
  void add_op(std::size_t i) {
    Op op = ops_.work[i];
    op.name = names_.unique(trace_.nodes[i].name);
    op.phase = ops_.phase[i];
    op.scope = ops_.scope[i];
    for (const pytorch::TensorUse& tensor : trace_.nodes[i].inputs) {
      op.bytes_read = sum({op.bytes_read, product({tensor.elements, tensor.element_bytes})});
    }
    for (const pytorch::TensorUse& tensor : trace_.nodes[i].outputs) {
      op.bytes_written = sum({op.bytes_written, product({tensor.elements, tensor.element_bytes})});
    }
    double kernel_us = 0;
    bool is_known = true;
    std::vector<pytorch::LaunchedKernel> kernels;
    const auto add_call = [&](const pytorch::TimedCall& call) {
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
  pytorch::StreamOrder order_;
};

OpGraph read(std::string_view text, const std::string& source, const Params& params) {
  try {
    return KinetoReader(pytorch::read_kineto(text, source), source, params).finish();
  } catch (const Error& error) {
    // A size that does not fit 64 bits is the file's mistake.
    if (error.code() == ErrorCode::kUsage) {
      throw Error(ErrorCode::kFormat, fmt::format("{}: {}", source, error.what()));
    }
    throw;
  }
}

// Builds of PyTorch without Kineto export the bare list of events.
bool is_list_of_events(std::string_view bytes) {
  const std::size_t begin = bytes.find_first_not_of(" \n\r\t");
  if (begin == std::string_view::npos || bytes[begin] != '[') {
    return false;
  }
  constexpr std::size_t kFirstEvent = 1000;
  const std::string_view head = bytes.substr(begin, kFirstEvent);
  return head.find("\"ph\"") != std::string_view::npos &&
         head.find("\"ts\"") != std::string_view::npos;
}

const FormatRegistration kRegistration({
    .name = "kineto",
    .summary = "times of PyTorch's profiler, without tensors",
    .reference = "https://github.com/pytorch/kineto",
    .read_parameters = {{.name = "device-class",
                         .default_value = std::string("kineto"),
                         .summary = "device class of the times"},
                        {.name = "level",
                         .default_value = std::string("outermost"),
                         .choices = {"innermost", "outermost"},
                         .summary = "which of the operators that call each other are ops"}},
    .recognizes =
        [](const FileContent& file) {
          return file.has("traceEvents") || is_list_of_events(file.bytes);
        },
    .read = read,
});

}  // namespace
}  // namespace emplace::kineto_format
