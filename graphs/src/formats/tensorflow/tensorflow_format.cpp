// TensorFlow's GraphDef and SavedModel, binary (.pb) or text (.pbtxt), with the times and sizes of
// a run's RunMetadata (`step-stats=FILE`). docs/concepts/formats.md says what becomes of a graph.

#include "graph.hpp"

#include <emplace/base/error.hpp>
#include <emplace/graphs/graph_format.hpp>

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <utility>

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

constexpr std::int64_t kMaxDimension = 1'000'000'000;

// Reads the sizes of `1x224x224x3`; nothing is a scalar. Returns false for anything else.
bool read_sizes(std::string_view text, std::vector<std::int64_t>& sizes) {
  while (!text.empty()) {
    std::int64_t size = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), size);
    text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
    const bool ends = text.empty();
    if (error != std::errc() || size < 0 || size > kMaxDimension ||
        (!ends && (text[0] != 'x' || text.size() == 1))) {
      return false;
    }
    text.remove_prefix(ends ? 0 : 1);
    sizes.push_back(size);
  }
  return true;
}

// Reads `image:1x224x224x3;rate:`. A name may hold colons, sizes do not.
auto parse_shapes(std::string_view text) {
  decltype(tensorflow::Options::shapes) shapes;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(';', begin), text.size());
    const std::string_view pair = text.substr(begin, end - begin);
    const std::size_t colon = pair.rfind(':');
    std::vector<std::int64_t> sizes;
    if (colon == std::string_view::npos || colon == 0 ||
        !read_sizes(pair.substr(colon + 1), sizes) ||
        !shapes.emplace(pair.substr(0, colon), std::move(sizes)).second) {
      throw Error(ErrorCode::kUsage,
                  fmt::format("reading format tensorflow: shapes is '{}', expected "
                              "NAME:SIZExSIZE;NAME:SIZExSIZE with each name once and sizes from 0 "
                              "to {}",
                              excerpt(text), kMaxDimension));
    }
    begin = end + 1;
  }
  return shapes;
}

// A SavedModel is called like its folder.
std::string name_of(const std::string& source) {
  const std::filesystem::path path(source);
  const std::filesystem::path folder = path.parent_path().filename();
  return path.stem() == "saved_model" && !folder.empty() ? folder.string() : path.stem().string();
}

OpGraph read_tensorflow(std::string_view bytes, const std::string& source, const Params& params) {
  OpGraph graph =
      tensorflow::read_graph(bytes, source,
                             {.unknown_dimension = params.get<std::int64_t>("unknown-dimension"),
                              .shapes = parse_shapes(params.get<std::string>("shapes")),
                              .signature = params.get<std::string>("signature"),
                              .device_class = params.get<std::string>("device-class"),
                              .step_stats = params.get<std::string>("step-stats")});
  graph[boost::graph_bundle].name = name_of(source);
  return graph;
}

const FormatRegistration kTensorflow({
    .name = "tensorflow",
#ifdef EMPLACE_WITH_PROTOBUF
    .summary = "frozen graphs and SavedModels, with the times of a run",
#else
    .summary = "frozen graphs and SavedModels (not built in: needs protobuf)",
#endif
    .reference = "https://www.tensorflow.org/guide/saved_model",
    .endings = {".pb", ".pbtxt", ".meta"},
    .folder_files = {"saved_model.pb", "saved_model.pbtxt"},
    .read_parameters = {{.name = "step-stats",
                         .default_value = std::string(),
                         .summary = "RunMetadata of a run, for times and sizes"},
                        {.name = "device-class",
                         .default_value = std::string("tensorflow"),
                         .summary = "device class of what ran on no CPU"},
                        whole_number("unknown-dimension", 1, 1, 1'000'000'000,
                                     "size of a tensor's first dimension where it is open: the "
                                     "batch"),
                        {.name = "shapes",
                         .default_value = std::string(),
                         .summary = "shapes of inputs or other ops, image:1x224x224x3;ids:8x128"},
                        {.name = "signature",
                         .default_value = std::string(),
                         .summary = "what a SavedModel runs; serving_default or the only one if "
                                    "empty"}},
    .read = read_tensorflow,
});

}  // namespace
}  // namespace emplace
