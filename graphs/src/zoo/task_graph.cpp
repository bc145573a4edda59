#include "task_graph.hpp"

#include "model/assemble.hpp"

#include <emplace/base/error.hpp>
#include <emplace/base/id_vector.hpp>

#include <boost/range/iterator_range.hpp>
#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <utility>

namespace emplace {
std::vector<ParamSpec> task_parameters(std::vector<ParamSpec> own) {
  own.push_back({.name = "cost-us",
                 .default_value = 1000.0,
                 .min = 0.001,
                 .max = 1e6,
                 .summary = "mean time of a task on a device of 3e6 FLOP/us, microseconds"});
  own.push_back({.name = "ccr",
                 .default_value = 1.0,
                 .min = 0,
                 .max = 1000,
                 .summary = "mean time to move a result, at 1e4 bytes/us, over that of a task"});
  return own;
}

ParamSpec seed_parameter() {
  return whole_number("seed", 0, 0, std::int64_t{1} << 53, "of the random choices");
}

ParamSpec spread_parameter() {
  return {.name = "spread",
          .default_value = 0.5,
          .min = 0,
          .max = 1,
          .summary = "works and volumes are uniform within this share of their mean"};
}

double vary(RandomStream& random, double spread) { return 1 + spread * (2 * random.uniform() - 1); }

TaskGraph::TaskGraph(std::string name, std::string source, double tasks) {
  if (tasks > static_cast<double>(kMaxTasks)) {
    throw Error(ErrorCode::kUsage,
                fmt::format("graph '{}': expected at most {} tasks, these parameters make {:.10g}",
                            name, kMaxTasks, tasks));
  }
  graph_[boost::graph_bundle] = {.name = std::move(name), .source = std::move(source)};
}

Tensor TaskGraph::task(const std::string& scope, const std::string& name, double work,
                       double volume, std::span<const Tensor> inputs) {
  const auto id = static_cast<OpId>(boost::add_vertex(
      Op{.name = scope + "/" + name, .kind = "task", .outputs = {Output{}}, .scope = scope},
      graph_));
  works_.push_back(work);
  volumes_.push_back({volume});
  for (const Tensor input : inputs) {
    add_dependency(graph_, input.op, input.output, id);
  }
  return {id, 0};
}

Tensor TaskGraph::task(const std::string& scope, const std::string& name, double work,
                       double volume, std::initializer_list<Tensor> inputs) {
  return task(scope, name, work, volume, std::span(inputs.begin(), inputs.size()));
}

Tensor TaskGraph::another_result(Tensor first, double volume) {
  auto& volumes = volumes_[first.op];
  volumes.push_back(volume);
  graph_[index_of(first.op)].outputs.emplace_back();
  return {first.op, static_cast<std::int32_t>(volumes.size()) - 1};
}

void TaskGraph::read(Tensor consumer, Tensor input) {
  add_dependency(graph_, input.op, input.output, consumer.op);
}

OpGraph TaskGraph::finish(const Params& params) && {
  double work = 0;
  for (const double term : works_) {
    work += term;
  }
  double volume = 0;
  for (const auto edge : boost::make_iterator_range(boost::edges(graph_))) {
    volume += volumes_[boost::source(edge, graph_)][index_of(graph_[edge].output)];
  }
  const double cost_us = params.get<double>("cost-us");
  const auto tasks = static_cast<double>(boost::num_vertices(graph_));
  const auto edges = static_cast<double>(boost::num_edges(graph_));
  const double flops_per_work = work > 0 ? cost_us * kReferenceFlopsPerUs * tasks / work : 0;
  const double bytes_per_volume =
      volume > 0 ? cost_us * params.get<double>("ccr") * kReferenceBytesPerUs * edges / volume : 0;
  for (OpId id = 0; id < num_ops(graph_); ++id) {
    Op& op = graph_[index_of(id)];
    op.flops = std::llround(works_[id] * flops_per_work);
    op.shape = {op.flops};
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      op.outputs[i].bytes = std::llround(volumes_[id][i] * bytes_per_volume);
      op.outputs[i].shape = {op.outputs[i].bytes};
      op.outputs[i].type = DataType::kBool;  // a byte each: what they mean does not matter
    }
  }
  return take(graph_);
}

}  // namespace emplace
