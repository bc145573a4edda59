#include "formats.hpp"

#include <emplace/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace emplace::bench {
namespace {

constexpr std::array<PlacementFormat, 5> kFormats = {{
    {.name = "csv",
     .summary = "a row for each op: where and when it runs, in the order of the simulated step",
     .reference = "RFC 4180",
     .write = write_csv},
    {.name = "onnx",
     .summary = "metadata_props for the nodes and initializers of an ONNX file, by their names, in "
                "JSON",
     .reference = "ONNX IR, NodeProto.metadata_props",
     .write = write_onnx},
    {.name = "tensorflow",
     .summary = "a device string for each node of a GraphDef, and control dependencies that keep "
                "the order, in JSON",
     .reference = "tf.device, NodeDef.device",
     .write = write_tensorflow},
    {.name = "torch-device-map",
     .summary = "device_map of a PyTorch model, by module paths, as Hugging Face Accelerate reads "
                "it",
     .reference = "Hugging Face Accelerate, dispatch_model",
     .write = write_torch_device_map},
    {.name = "torch-fx",
     .summary = "Python source that places a PyTorch model by torch.fx: each module on its device, "
                "`.to(device)` at cut edges, in the planned order",
     .reference = "PyTorch, torch.fx",
     .write = write_torch_fx},
}};

// Returns the number of "gpu:3" if `device` is called so after `kind`; -1 for another name.
int index_after(std::string_view kind, std::string_view device) {
  if (!device.starts_with(kind) || device.size() == kind.size() ||
      device.size() > kind.size() + 4) {
    return -1;
  }
  int index = 0;
  for (const char digit : device.substr(kind.size())) {
    if (digit < '0' || digit > '9') {
      return -1;
    }
    index = 10 * index + (digit - '0');
  }
  return index;
}

[[noreturn]] void fail_device(const std::string& device, std::string_view who) {
  throw Error(ErrorCode::kUnsupported,
              fmt::format("{} has no name for the device '{}'; expected gpu:N or cpu:N", who,
                          excerpt(device)));
}

}  // namespace

void expect_no_replicas(const Problem& problem) {
  for (const OpId op : problem.topological_order()) {
    if (problem.op(op).replica > 0) {
      throw Error(
          ErrorCode::kUnsupported,
          fmt::format("graph '{}' has replicas, each of which is a process of its own; only "
                      "the format csv can express where all of them are",
                      problem.graph()[boost::graph_bundle].name));
    }
  }
}

std::string sharing_modules(const ColocatedOps& colocated) {
  std::string text;
  for (const std::string& path : colocated.shared_by) {
    text += text.empty() ? "" : " and ";
    text += path.empty() ? "the model" : fmt::format("'{}'", excerpt(path));
  }
  return text;
}

Placement op_by_op(const Problem& problem, const Placement& placement) {
  std::vector<DeviceId> devices;
  for (OpId op = 0; op < problem.num_ops(); ++op) {
    devices.push_back(placement[problem.grouping().group_of(op)]);
  }
  Placement result(std::move(devices));
  if (placement.has_priorities()) {
    IdVector<GroupId, Priority> priorities;
    for (OpId op = 0; op < problem.num_ops(); ++op) {
      priorities.push_back(placement.priorities()[problem.grouping().group_of(op)]);
    }
    result.set_priorities(std::move(priorities));
  }
  return result;
}

std::span<const PlacementFormat> placement_formats() { return kFormats; }

std::vector<std::string> placement_format_names() {
  std::vector<std::string> names;
  names.reserve(kFormats.size());
  for (const PlacementFormat& format : kFormats) {
    names.emplace_back(format.name);
  }
  return names;
}

const PlacementFormat& find_placement_format(std::string_view name) {
  const auto format = std::ranges::find(kFormats, name, &PlacementFormat::name);
  if (format == kFormats.end()) {
    throw_unknown_name("placement format", name, placement_format_names());
  }
  return *format;
}

std::string torch_device(const std::string& device) {
  if (const int gpu = index_after("gpu:", device); gpu >= 0) {
    return fmt::format("cuda:{}", gpu);
  }
  if (index_after("cpu:", device) >= 0) {
    return "cpu";
  }
  fail_device(device, "PyTorch");
}

std::string tensorflow_device(const std::string& device) {
  for (const auto& [kind, name] : {std::pair{"gpu:", "GPU"}, std::pair{"cpu:", "CPU"}}) {
    if (const int index = index_after(kind, device); index >= 0) {
      return fmt::format("/job:localhost/replica:0/task:0/device:{}:{}", name, index);
    }
  }
  fail_device(device, "TensorFlow");
}

}  // namespace emplace::bench
