// TensorFlow's GraphDef, binary (.pb) or text (.pbtxt), with the times and sizes of a run's
// RunMetadata (`step-stats=FILE`). docs/concepts/formats.md says what becomes of a graph.

#include "../tensorflow.hpp"

#include <emplace/graphs/error.hpp>
#include <emplace/graphs/graph_format.hpp>

#include <fmt/format.h>

namespace emplace {

#ifndef EMPLACE_WITH_PROTOBUF
OpGraph tensorflow::read_graph(std::string_view, const std::string& source, const Options&) {
  throw Error(
      ErrorCode::kUnsupported,
      fmt::format("{}: this build cannot read TensorFlow's graphs; install libprotobuf-dev and "
                  "protobuf-compiler and configure it with EMPLACE_WITH_PROTOBUF=ON",
                  source));
}
#endif

namespace {

const FormatRegistration kRegistration({
    .name = "tensorflow",
#ifdef EMPLACE_WITH_PROTOBUF
    .summary = "graphs of TensorFlow 1, with the times of a run",
#else
    .summary = "graphs of TensorFlow 1 (not built in: needs protobuf)",
#endif
    .reference = "https://www.tensorflow.org/guide/saved_model",
    .endings = {".pb", ".pbtxt"},
    .read_parameters = {{.name = "step-stats",
                         .default_value = std::string(),
                         .summary = "RunMetadata of a run, for times and sizes"},
                        {.name = "device-class",
                         .default_value = std::string("tensorflow"),
                         .summary = "device class of what ran on no CPU"},
                        {.name = "unknown-dimension",
                         .default_value = std::int64_t{1},
                         .min = 1,
                         .max = 1e9,
                         .summary = "size of each dimension that is open, such as the batch"}},
    .read =
        [](std::string_view bytes, const std::string& source, const Params& params) {
          return tensorflow::read_graph(
              bytes, source,
              {.unknown_dimension = params.get<std::int64_t>("unknown-dimension"),
               .device_class = params.get<std::string>("device-class"),
               .step_stats = params.get<std::string>("step-stats")});
        },
});

}  // namespace
}  // namespace emplace
