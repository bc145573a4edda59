// A graph file behind a line that names its format, "pipedream:training=false". A graph that is
// read is written in every format that can be written, and read again from those that lose nothing.

#include "fuzz_target.hpp"

#include <emplace/base/check.hpp>
#include <emplace/graphs/graph_format.hpp>
#include <emplace/graphs/graph_json.hpp>

#include <string>
#include <string_view>

namespace {

// What is larger is good for nothing but to cost time.
constexpr emplace::OpId kMaxOps = 10'000;

}  // namespace

void emplace::fuzz::try_input(std::string_view input) {
  const emplace::GraphFormats& formats = emplace::GraphFormats::global();
  const std::size_t line = input.find('\n');
  if (line == std::string_view::npos) {
    return;
  }
  const std::string_view bytes = input.substr(line + 1);
  const emplace::Spec spec = emplace::Spec::parse(input.substr(0, line));
  const emplace::OpGraph graph = formats.read(spec, bytes, "fuzz");
  if (num_ops(graph) > kMaxOps) {
    return;
  }
  const std::string text = emplace::write_graph_json(graph);
  for (const std::string& name : formats.names()) {
    if (!formats.find(name).write) {
      continue;
    }
    const std::string written = formats.write({.name = name}, graph);
    if (name == "emplace" || name == "node-link") {
      const emplace::OpGraph again = formats.read({.name = name}, written, "again");
      EMPLACE_CHECK(emplace::write_graph_json(again) == text, "{} lost something", name);
    }
  }
}
