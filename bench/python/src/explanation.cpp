#include "problem.hpp"

#include <emplace/sim/explanation.hpp>

#include <pybind11/stl.h>

namespace emplace::python {
namespace {

using namespace py::literals;

py::list path_to_list(const Problem& problem, const Explanation& explanation) {
  py::list path;
  for (const PathSegment& segment : explanation.path) {
    py::dict entry("kind"_a = to_string(segment.kind), "queued"_a = segment.is_queued,
                   "from_us"_a = segment.from_us, "to_us"_a = segment.to_us,
                   "op"_a = problem.op(segment.op).name);
    if (segment.link == PathSegment::kNone) {
      entry["device"] = problem.device(segment.device).name;
    } else {
      entry["link"] = explanation.links[segment.link].name;
    }
    path.append(std::move(entry));
  }
  return path;
}

py::list gains_to_list(const Problem& problem, const Explanation& explanation) {
  py::list gains;
  for (const Gain& gain : explanation.gains) {
    py::dict entry("what"_a = to_string(gain.what));
    if (gain.what == Gain::What::kDevice) {
      entry["name"] = problem.device(gain.index).name;
    } else if (gain.what == Gain::What::kLink) {
      entry["name"] = explanation.links[gain.index].name;
    }
    entry["at_most_us"] = gain.at_most_us;
    gains.append(std::move(entry));
  }
  return gains;
}

std::string_view to_string(Allocation::Kind kind) {
  switch (kind) {
    case Allocation::Kind::kOutput:
      return "output";
    case Allocation::Kind::kCopy:
      return "copy";
    case Allocation::Kind::kWorkspace:
      return "workspace";
  }
  return "";
}

py::dict overflow_to_dict(const Problem& problem, const MemoryOverflow& overflow) {
  py::list largest;
  for (const Allocation& allocation : overflow.largest) {
    py::dict entry("op"_a = problem.op(allocation.op).name, "kind"_a = to_string(allocation.kind),
                   "bytes"_a = allocation.bytes, "since_us"_a = allocation.from_us);
    if (allocation.kind != Allocation::Kind::kWorkspace &&
        allocation.output != Allocation::kAllOutputs) {
      entry["output"] = allocation.output - problem.outputs(allocation.op).first;
    }
    largest.append(std::move(entry));
  }
  return py::dict("device"_a = problem.device(overflow.device).name, "at_us"_a = overflow.at_us,
                  "bytes_over"_a = overflow.bytes_over,
                  "persistent_bytes"_a = overflow.persistent_bytes, "largest"_a = largest,
                  "other_bytes"_a = overflow.other_bytes);
}

}  // namespace

py::dict explain_as_dict(PythonProblem& self, const StepRecord& record) {
  const Problem& problem = self.problem();
  const Explanation explanation = [&] {
    const py::gil_scoped_release released;
    return explain(problem, record);
  }();
  py::list kinds;
  for (std::size_t kind = 0; kind < kNumPathKinds; ++kind) {
    kinds.append(py::dict("kind"_a = emplace::to_string(static_cast<PathKind>(kind)),
                          "path_us"_a = explanation.path_kinds[kind].path_us,
                          "queued_us"_a = explanation.path_kinds[kind].queued_us));
  }
  py::list devices;
  for (DeviceId device = 0; device < problem.num_devices(); ++device) {
    const DeviceLoad& load = explanation.devices[device];
    devices.append(py::dict("name"_a = problem.device(device).name, "path_us"_a = load.path_us,
                            "busy_us"_a = load.busy_us, "utilization"_a = load.utilization,
                            "transfer_wait_us"_a = load.transfer_wait_us, "ops"_a = load.ops,
                            "most_at_once"_a = load.most_at_once,
                            "peak_bytes"_a = record.peak_bytes[device],
                            "capacity_bytes"_a = problem.memory_bytes(device)));
  }
  py::list links;
  for (const LinkLoad& load : explanation.links) {
    links.append(py::dict("name"_a = load.name, "path_us"_a = load.path_us,
                          "utilization"_a = load.utilization, "transfers"_a = load.transfers,
                          "bytes"_a = load.bytes));
  }
  py::list op_kinds;
  for (const OpKindShare& share : explanation.op_kinds) {
    op_kinds.append(
        py::dict("kind"_a = share.kind, "path_us"_a = share.path_us, "ops"_a = share.ops));
  }
  return py::dict(
      "status"_a = emplace::to_string(record.status), "step_time_us"_a = explanation.makespan_us,
      "exposed_communication_us"_a = explanation.exposed_us, "path_kinds"_a = kinds,
      "devices"_a = devices, "links"_a = links, "op_kinds"_a = op_kinds,
      "gains"_a = gains_to_list(problem, explanation),
      "out_of_memory"_a = explanation.overflow
                              ? py::object(overflow_to_dict(problem, *explanation.overflow))
                              : py::object(py::none()),
      "without_effect"_a = explanation.without_effect,
      "path"_a = path_to_list(problem, explanation));
}

}  // namespace emplace::python
