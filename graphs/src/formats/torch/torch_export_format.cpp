// Programs of torch.export, and those that emplace.from_torch() lists. docs/concepts/formats.md
// says what becomes of one, formats/torch/operators.cpp how its operators become ops.

#include "archive.hpp"
#include "fusions.hpp"
#include "importer.hpp"
#include "transforms/batch_division.hpp"
#include "transforms/training_step.hpp"

#include <emplace/base/error.hpp>
#include <emplace/graphs/graph_format.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>
#include <vector>

namespace emplace::torch_export_format {
namespace {

OpGraph read_step(std::string_view bytes, const std::string& source, const Params& params) {
  const bool training = params.get<bool>("training");
  try {
    std::string text;  // in an archive
    std::string weights;
    if (torch_program::is_archive(bytes)) {
      text = torch_program::find_program(bytes, source);
      weights = torch_program::find_weights(bytes, source);
      bytes = text;
    }
    torch_program::Program program = torch_program::read_program(bytes, source);
    if (!weights.empty()) {
      torch_program::join_tied_weights(program, weights, source);
    }
    torch_program::fuse_rms_norms(program);
    if (program.name.empty()) {
      program.name = std::filesystem::path(source).stem().string();
    }
    OpGraph forward = torch_program::TorchImporter(std::move(program), source).run(training);
    if (training) {
      validate(forward, source);
    }
    return training_step(forward, params);
  } catch (const Error& error) {
    // A size that does not fit 64 bits is the file's mistake.
    const std::string message = error.what();
    const bool is_told = message.starts_with(source);
    throw Error(error.code() == ErrorCode::kUsage ? ErrorCode::kFormat : error.code(),
                is_told ? message : fmt::format("{}: {}", source, message));
  }
}

OpGraph read(std::string_view bytes, const std::string& source, const Params& params) {
  return repeat_batch(params, read_step(bytes, source, params), source);
}

std::vector<ParamSpec> read_parameters() {
  std::vector<ParamSpec> parameters = training_parameters_of_file();
  std::ranges::move(batch_repetition_parameters(), std::back_inserter(parameters));
  return parameters;
}

const FormatRegistration kRegistration({
    .name = "torch-export",
    .summary = "models of PyTorch, as torch.export and emplace.from_torch() write them",
    .reference = "https://docs.pytorch.org/docs/stable/export/pt2_archive.html",
    .endings = {".pt2"},
    .read_parameters = read_parameters(),
    .recognizes =
        [](const FileContent& file) {
          return (file.has("graph_module") && file.has("schema_version")) ||
                 (torch_program::is_archive(file.bytes) &&
                  torch_program::holds_program(file.bytes));
        },
    .read = read,
});

}  // namespace
}  // namespace emplace::torch_export_format
