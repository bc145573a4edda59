// ONNX models (https://onnx.ai). docs/concepts/formats.md says what becomes of a model,
// src/onnx/operators.cpp which operators are known, and how their nodes become ops.

#include "transforms/batch_division.hpp"
#include "transforms/gradient_scaling.hpp"
#include "transforms/training_step.hpp"

#include <emplace/base/error.hpp>
#include <emplace/graphs/graph_format.hpp>
#include <emplace/graphs/image_layout.hpp>
#include <emplace/graphs/recomputation.hpp>

#ifdef EMPLACE_WITH_PROTOBUF
#include "fusions.hpp"
#include "importer.hpp"
#include "model.hpp"
#include "weights.hpp"
#endif

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <iterator>
#include <map>
#include <string>
#include <vector>

namespace emplace::onnx_format {
namespace {

#ifdef EMPLACE_WITH_PROTOBUF

constexpr std::int64_t kMaxDimension = 1'000'000'000;

// Reads `batch:32;seq:128`. A name may hold colons, a size does not.
onnx_model::Dimensions parse_dimensions(std::string_view text) {
  onnx_model::Dimensions dimensions;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(';', begin), text.size());
    const std::string_view pair = text.substr(begin, end - begin);
    const std::size_t colon = pair.rfind(':');
    const std::string_view size =
        pair.substr(colon == std::string_view::npos ? pair.size() : colon + 1);
    std::int64_t number = 0;
    const auto [stop, error] = std::from_chars(size.data(), size.data() + size.size(), number);
    if (error != std::errc() || stop != size.data() + size.size() || colon == 0 || number < 0 ||
        number > kMaxDimension || !dimensions.emplace(pair.substr(0, colon), number).second) {
      throw Error(
          ErrorCode::kUsage,
          fmt::format("reading format onnx: dimensions is '{}', expected NAME:SIZE;NAME:SIZE (or "
                      "parameters NAME=SIZE) with each name once and sizes from 0 to {}",
                      excerpt(text), kMaxDimension));
    }
    begin = end + 1;
  }
  return dimensions;
}

// Says for the graph's source what has no FLOPs.
std::string describe_uncounted(const std::map<std::string, int>& uncounted) {
  std::vector<std::string> parts;
  parts.reserve(uncounted.size());
  for (const auto& [op_type, count] : uncounted) {
    parts.push_back(fmt::format("{} ({})", excerpt(op_type), count));
  }
  return parts.empty() ? "" : fmt::format("; no FLOPs are counted of {}", fmt::join(parts, ", "));
}

// Reads a step for a batch of a size that `dimensions` has.
OpGraph read_step(std::string_view bytes, const std::string& source, const Params& params,
                  const onnx_model::Dimensions& dimensions) {
  onnx_model::Model model = onnx_model::load_model(bytes, source, dimensions);
  onnx_model::restore_weights(model);
  onnx_model::fuse_layers(model);
  const bool training = params.get<bool>("training");
  onnx_model::OnnxImporter importer(model, source, training);
  OpGraph forward = with_layout(importer.run(), params.get<std::string>("layout"));
  const std::string& producer = model.proto.producer_name();
  forward[boost::graph_bundle] = {
      .name = std::filesystem::path(source).stem().string(),
      .source = fmt::format("ONNX {}{}{}{}", onnx_model::describe_opsets(model.proto),
                            producer.empty() ? "" : " of ", excerpt(producer),
                            describe_uncounted(importer.uncounted()))};
  if (!training) {
    return training_step(forward, params);
  }
  validate(forward, source);
  try {
    return recompute(training_step(forward, params), params.get<std::string>("recompute"));
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{}: {}", source, error.what()));
  }
}

OpGraph read(std::string_view bytes, const std::string& source, const Params& params) {
  onnx_model::Dimensions dimensions = parse_dimensions(params.get<std::string>("dimensions"));
  if (!divides_batch(params)) {
    OpGraph step = read_step(bytes, source, params, dimensions);
    scale_gradients(step, params);
    return step;
  }
  const auto& name = params.get<std::string>("batch-dimension");
  const auto batch = dimensions.find(name);
  if (batch == dimensions.end()) {
    throw Error(ErrorCode::kUsage,
                fmt::format("{}: parts of the batch need its size: expected '{}', or the name of "
                            "another symbolic dimension as batch-dimension",
                            source, name));
  }
  return divide_batch(params, batch->second, [&](std::int64_t examples) {
    batch->second = examples;
    return read_step(bytes, source, params, dimensions);
  });
}

#else

OpGraph read(std::string_view, const std::string& source, const Params&) {
  throw Error(ErrorCode::kUnsupported,
              fmt::format("{}: this build cannot read ONNX; install libprotobuf-dev and "
                          "protobuf-compiler and configure it with EMPLACE_WITH_PROTOBUF=ON",
                          source));
}

#endif

std::vector<ParamSpec> read_parameters() {
  std::vector<ParamSpec> parameters = {
      {.name = "dimensions",
       .default_value = std::string(),
       .summary = "sizes of symbolic dimensions, batch:32;seq:128, or as one parameter each, "
                  "batch=32,seq=128"}};
  std::ranges::move(training_parameters_of_file(), std::back_inserter(parameters));
  std::ranges::copy(std::array{clip_parameter(), recompute_parameter(), layout_parameter()},
                    std::back_inserter(parameters));
  std::ranges::move(batch_division_parameters(), std::back_inserter(parameters));
  parameters.push_back(
      {.name = "batch-dimension",
       .default_value = std::string("batch"),
       .summary = "the symbolic dimension that replicas and micro-batches divide"});
  return parameters;
}

const FormatRegistration kRegistration({
    .name = "onnx",
#ifdef EMPLACE_WITH_PROTOBUF
    .summary = "models of opsets 11 to 21, with FLOPs by shape inference",
#else
    .summary = "models (not built in: needs protobuf)",
#endif
    .reference = "https://onnx.ai/onnx/repo-docs/IR.html",
    .endings = {".onnx"},
    .read_parameters = read_parameters(),
    .other_parameters = "dimensions",
    .read = read,
});

}  // namespace
}  // namespace emplace::onnx_format
