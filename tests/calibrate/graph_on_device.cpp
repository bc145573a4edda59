#include "graph_on_device.hpp"

#include <emplace/calibrate/graph_sites.hpp>
#include <emplace/graphs/op_kind.hpp>

#include <boost/range/iterator_range.hpp>
#include <gtest/gtest.h>

#include <cstring>
#include <utility>

namespace emplace::calibrate {
namespace {

std::shared_ptr<Memory> zeros(ComputeDevice& device, std::int64_t bytes) {
  std::shared_ptr<Memory> memory = device.allocate(bytes, false);
  std::memset(memory->data(), 0, static_cast<std::size_t>(bytes));
  return memory;
}

template <class T>
std::span<T> read(const Memory& memory) {
  return {static_cast<T*>(memory.data()), static_cast<std::size_t>(memory.bytes()) / sizeof(T)};
}

}  // namespace

GraphOnDevice::GraphOnDevice(OpGraph graph, ComputeDevice& device)
    : graph_(std::move(graph)),
      tensors_(boost::num_vertices(graph_)),
      states_(boost::num_vertices(graph_)),
      queue_(device.make_queue()) {
  for (const OpId op : topological_order(graph_)) {
    const auto vertex = static_cast<std::size_t>(op);
    const Op& made = graph_[vertex];
    Step step;
    for (const auto edge : boost::make_iterator_range(boost::in_edges(vertex, graph_))) {
      const auto& read = tensors_[boost::source(edge, graph_)];
      const auto& tensor = read[static_cast<std::size_t>(graph_[edge].output)];
      step.buffers.inputs.push_back(tensor->data());
      if (made.kind == "reshape") {
        tensors_[vertex].push_back(tensor);
      }
    }
    if (made.kind == "reshape") {
      continue;
    }
    for (const Output& output : made.outputs) {
      tensors_[vertex].push_back(zeros(device, output.bytes));
      step.buffers.outputs.push_back(tensors_[vertex].back()->data());
    }
    if (!launches(made.kind)) {
      continue;
    }
    states_[vertex] = zeros(device, made.persistent_bytes);
    step.buffers.state = states_[vertex]->data();
    step.program = device.compile(site_of(graph_, op));
    if (step.program == nullptr) {
      ADD_FAILURE() << made.name << " of kind " << made.kind << " does not compile";
      continue;
    }
    workspaces_.push_back(device.allocate(step.program->workspace_bytes(), true));
    step.buffers.workspace = workspaces_.back()->data();
    steps_.push_back(std::move(step));
  }
}

std::span<float> GraphOnDevice::floats(Tensor tensor) {
  return read<float>(
      *tensors_[static_cast<std::size_t>(tensor.op)][static_cast<std::size_t>(tensor.output)]);
}

std::span<std::int32_t> GraphOnDevice::integers(Tensor tensor) {
  return read<std::int32_t>(
      *tensors_[static_cast<std::size_t>(tensor.op)][static_cast<std::size_t>(tensor.output)]);
}

std::span<std::byte> GraphOnDevice::bytes(Tensor tensor) {
  return read<std::byte>(
      *tensors_[static_cast<std::size_t>(tensor.op)][static_cast<std::size_t>(tensor.output)]);
}

std::span<float> GraphOnDevice::state(OpId op) {
  return read<float>(*states_[static_cast<std::size_t>(op)]);
}

void GraphOnDevice::run() {
  for (const Step& step : steps_) {
    queue_->run(*step.program, step.buffers);
  }
  queue_->finish();
}

}  // namespace emplace::calibrate
