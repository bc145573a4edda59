// Formats that name ops, and so hold any placement: csv, onnx and tensorflow.

#include "formats.hpp"
#include "module_tree.hpp"

#include <emplace/base/escape.hpp>
#include <emplace/base/json.hpp>
#include <emplace/sim/simulator.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

namespace emplace::bench {
namespace {

// Returns all ops in the order of the simulated step, producers before consumers.
std::vector<OpId> by_start(const Problem& problem, const StepRecord& record) {
  const auto order = problem.topological_order();
  std::vector<OpId> ops(order.begin(), order.end());
  std::ranges::stable_sort(ops, {}, [&](OpId op) { return record.start_us[op]; });
  return ops;
}

const std::string& device_name(const Problem& problem, const Placement& placement, OpId op) {
  return problem.device(placement[problem.grouping().group_of(op)]).name;
}

}  // namespace

PlacementExport write_csv(const Problem& problem, const Placement& placement) {
  const StepRecord record = Simulator(problem).record(placement);
  std::string text = "op,kind,phase,scope,device,priority,start_us,end_us\n";
  for (const OpId op : by_start(problem, record)) {
    const Op& what = problem.op(op);
    fmt::format_to(std::back_inserter(text), "{},{},{},{},{},{},{},{}\n", escape_csv(what.name),
                   escape_csv(what.kind), to_string(what.phase), escape_csv(what.scope),
                   escape_csv(device_name(problem, placement, op)),
                   placement.has_priorities()
                       ? std::to_string(placement.priorities()[problem.grouping().group_of(op)])
                       : std::string(),
                   record.start_us[op], record.end_us[op]);
  }
  return {.text = std::move(text), .placement = placement};
}

// Gradients, updates and copies for further micro-batches are in no ONNX file.
PlacementExport write_onnx(const Problem& problem, const Placement& placement) {
  expect_no_replicas(problem);
  Json nodes = Json::object();
  Json initializers = Json::object();
  for (OpId op = 0; op < problem.num_ops(); ++op) {
    const Op& what = problem.op(op);
    if (what.phase != Phase::kForward || what.kind == "input" || what.micro_batch > 0) {
      continue;
    }
    Json metadata = {{"device", device_name(problem, placement, op)}};
    if (placement.has_priorities()) {
      metadata.add(
          "priority",
          std::to_string(
              placement.priorities()[problem.grouping().group_of(op)]));  // a text, as all metadata
    }
    (is_stored(problem, op) ? initializers : nodes).add(what.name, metadata);
  }
  const Json file = {{"graph", problem.graph()[boost::graph_bundle].name},
                     {"nodes", std::move(nodes)},
                     {"initializers", std::move(initializers)}};
  return {.text = file.indented(2) + "\n", .placement = placement};
}

// TensorFlow runs what is ready in an order of its own; a control dependency from each op to the
// next one of its device makes it that of the step. Its graph is that of one micro-batch.
PlacementExport write_tensorflow(const Problem& problem, const Placement& placement) {
  expect_no_replicas(problem);
  Json devices = Json::object();
  for (OpId op = 0; op < problem.num_ops(); ++op) {
    if (problem.op(op).micro_batch > 0) {
      continue;
    }
    devices.add(problem.op(op).name, tensorflow_device(device_name(problem, placement, op)));
  }
  Json file = {{"devices", std::move(devices)}};
  if (placement.has_priorities()) {
    const StepRecord record = Simulator(problem).record(placement);
    Json dependencies = Json::array();
    constexpr OpId kNone = -1;
    IdVector<DeviceId, OpId> last(problem.num_devices(), kNone);
    for (const OpId op : by_start(problem, record)) {
      if (is_stored(problem, op) || problem.op(op).kind == "input" ||
          problem.op(op).micro_batch > 0) {
        continue;
      }
      OpId& before = last[placement[problem.grouping().group_of(op)]];
      if (before != kNone && !std::ranges::any_of(problem.inputs(op), [&](UseId input) {
            return problem.uses()[input].producer == before;
          })) {
        dependencies.push_back(Json::array({problem.op(before).name, problem.op(op).name}));
      }
      before = op;
    }
    file.add("control_dependencies", dependencies);
  }
  return {.text = file.indented(1) + "\n", .placement = placement};
}

}  // namespace emplace::bench
