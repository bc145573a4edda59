#include "assemble.hpp"

#include <emplace/base/check.hpp>
#include <emplace/base/error.hpp>
#include <emplace/base/id_vector.hpp>
#include <emplace/graphs/op_kind.hpp>

#include <utility>

namespace emplace {
namespace {

[[noreturn]] void fail_overflow() {
  throw Error(ErrorCode::kUsage, "the network is too large: a size does not fit 64 bits");
}

}  // namespace

std::int64_t product(std::span<const std::int64_t> factors) {
  std::int64_t result = 1;
  for (const auto factor : factors) {
    if (__builtin_mul_overflow(result, factor, &result)) {
      fail_overflow();
    }
  }
  return result;
}

std::int64_t product(std::initializer_list<std::int64_t> factors) {
  return product(std::span(factors.begin(), factors.size()));
}

std::int64_t sum(std::initializer_list<std::int64_t> terms) {
  std::int64_t result = 0;
  for (const auto term : terms) {
    if (__builtin_add_overflow(result, term, &result)) {
      fail_overflow();
    }
  }
  return result;
}

Output make_output(std::vector<std::int64_t> shape, DataType type) {
  const auto bytes = product({product(shape), size_of(type)});
  return {.shape = std::move(shape), .type = type, .bytes = bytes};
}

OpId append_op(OpGraph& graph, Op op, std::span<const Tensor> inputs) {
  if (launches(op.kind)) {
    for (const Tensor input : inputs) {
      op.bytes_read = sum({op.bytes_read, value_of(graph, input).bytes});
    }
    for (const Output& output : op.outputs) {
      op.bytes_written = sum({op.bytes_written, output.bytes});
    }
  }
  const auto id = static_cast<OpId>(boost::add_vertex(op, graph));
  for (const Tensor input : inputs) {
    add_dependency(graph, input.op, input.output, id);
  }
  return id;
}

OpId append_op(OpGraph& graph, Op op, std::initializer_list<Tensor> inputs) {
  return append_op(graph, std::move(op), std::span(inputs.begin(), inputs.size()));
}

OpGraph take(OpGraph& graph) {
  OpGraph taken;
  taken.swap(graph);
  return taken;
}

const Output& value_of(const OpGraph& graph, Tensor tensor) {
  EMPLACE_CHECK(tensor.op >= 0 && tensor.op < num_ops(graph), "tensor of op {}", tensor.op);
  const auto& outputs = graph[index_of(tensor.op)].outputs;
  const auto output = index_of(tensor.output);
  EMPLACE_CHECK(output < outputs.size(), "output {} of op {}", tensor.output, tensor.op);
  return outputs[output];
}

std::vector<Output> values_of(const OpGraph& graph, std::span<const Tensor> tensors) {
  std::vector<Output> values;
  values.reserve(tensors.size());
  for (const Tensor tensor : tensors) {
    values.push_back(value_of(graph, tensor));
  }
  return values;
}

}  // namespace emplace
