// Our own format; see graph_json.hpp.

#include "transforms/batch_division.hpp"

#include <emplace/graphs/graph_format.hpp>
#include <emplace/graphs/graph_json.hpp>

namespace emplace::emplace_format {
namespace {

const FormatRegistration kRegistration(
    {.name = "emplace",
     .summary = "emplace's own JSON, which loses nothing",
     .reference = "graphs/schema/graph.schema.json",
     .endings = {".json"},
     .read_parameters = batch_repetition_parameters(),
     .recognizes = [](const FileContent& file) { return file.has("schema") && file.has("ops"); },
     .read =
         [](std::string_view text, const std::string& source, const Params& params) {
           return repeat_batch(params, read_graph_json(text, source), source);
         },
     .write = [](const OpGraph& graph, const Params&) { return write_graph_json(graph); }});

}  // namespace
}  // namespace emplace::emplace_format
