// A trace of PyTorch's profiler (Kineto) alone: operators, what they took and the shapes of their
// inputs where they were recorded (`record_shapes=True`), from which FLOPs follow. The execution
// trace of the same run has the tensors (pytorch_format.cpp).

#include "kineto_inputs.hpp"
#include "kineto_trace.hpp"
#include "trace_graph.hpp"

#include <emplace/base/error.hpp>
#include <emplace/graphs/graph_format.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace emplace::kineto_format {
namespace {

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

OpGraph read(std::string_view text, const std::string& source, const Params& params) {
  pytorch::KinetoTrace trace = pytorch::read_kineto(text, source);
  std::string description = "Kineto trace" + describe_unknown(trace.unknown_types);
  OpGraph graph =
      pytorch::graph_of_trace(std::move(trace), source, params.get<std::string>("device-class"),
                              pytorch::level_of(params.get<std::string>("level")));
  graph[boost::graph_bundle].source = std::move(description);
  return graph;
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
