#include "attributed_graph.hpp"

#include "model/op_json.hpp"

#include <emplace/base/error.hpp>
#include <emplace/base/id_vector.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

namespace emplace {
namespace {

// The attributes whose values are text.
constexpr std::array<std::string_view, 8> kTexts = {"name",  "op_name",    "graph_name", "kind",
                                                    "phase", "colocation", "scope",      "source"};

// Doubles beyond this do not fit 64 bits.
constexpr double kMaxBytes = 9.2e18;

// Reads a number that JSON would write otherwise: "5.", ".5", "-.5", "007", as DOT and GraphML may
// have them.
std::optional<double> number_of(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number =
      error == std::errc() && end == text.data() + text.size() && std::isfinite(number);
  return is_number ? std::optional(number) : std::nullopt;
}

// Reads `text` as JSON; what is none stays a text, which the reader of the attribute then refuses.
// A whole number may be written as 1e9, as SimGrid does.
nlohmann::json value_of(const std::string& text) {
  nlohmann::json value = nlohmann::json::parse(text, nullptr, false);
  if (const auto number = value.is_discarded() ? number_of(text) : std::nullopt) {
    value = *number;
  }
  if (value.is_discarded()) {
    return text;
  }
  if (value.is_number_float()) {
    const double number = value.get<double>();
    if (number == std::floor(number) && std::abs(number) < kMaxBytes) {
      return static_cast<std::int64_t>(number);
    }
  }
  return value;
}

}  // namespace

std::vector<ParamSpec> attribute_parameters(const std::string& device_class) {
  return {{.name = "cost",
           .default_value = "cost_us",
           .summary = "attribute of nodes: cost in microseconds"},
          {.name = "bytes", .default_value = "bytes", .summary = "attribute of edges: bytes moved"},
          {.name = "device-class",
           .default_value = device_class,
           .summary = "device class that the costs are of"}};
}

AttributedGraphReader::AttributedGraphReader(const Params& params)
    : cost_(params.get<std::string>("cost")),
      device_class_(params.get<std::string>("device-class")),
      bytes_(params.get<std::string>("bytes")) {}

void AttributedGraphReader::add_node(const std::string& id, const std::string& name,
                                     const JsonCursor& attributes, const MemberNames& names) {
  if (!op_of_.emplace(id, num_ops(graph_)).second) {
    attributes.fail(fmt::format("the id '{}' appears twice", excerpt(name)));
  }
  Op op = read_third_party_op(attributes, name, names);
  if (op.name.empty()) {
    attributes.fail("expected an id or a name that is not empty");
  }
  if (const auto cost = attributes.find(cost_)) {
    op.measured.push_back({.device_class = device_class_,
                           .cost_us = cost->number(0, std::numeric_limits<double>::max())});
  }
  lists_outputs_.push_back(!op.outputs.empty());
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    output_of_bytes_.try_emplace({num_ops(graph_), op.outputs[i].bytes},
                                 static_cast<std::int32_t>(i));
  }
  boost::add_vertex(std::move(op), graph_);
}

void AttributedGraphReader::add_edge(const std::string& source, const std::string& target,
                                     const JsonCursor& attributes, const MemberNames& names) {
  const OpId producer = find(source, attributes);
  const OpId consumer = find(target, attributes);
  if (producer == consumer) {
    attributes.fail(
        fmt::format("op '{}' would wait for itself", excerpt(graph_[index_of(producer)].name)));
  }
  const auto bytes = names.find("bytes");
  add_dependency(graph_, producer,
                 output_of(producer, attributes, bytes == names.end() ? bytes_ : bytes->second),
                 consumer);
}

OpGraph AttributedGraphReader::finish(const JsonCursor& attributes, const MemberNames& names) && {
  if (num_ops(graph_) == 0) {
    attributes.fail("expected at least one node");
  }
  graph_[boost::graph_bundle] = {
      .name = read_text(attributes, names.contains("name") ? names.at("name") : "name"),
      .source = read_text(attributes, "source")};
  return std::move(graph_);
}

OpId AttributedGraphReader::find(const std::string& id, const JsonCursor& edge) const {
  const auto found = op_of_.find(id);
  if (found == op_of_.end()) {
    edge.fail(fmt::format("no node has the id '{}'", excerpt(id)));
  }
  return found->second;
}

// Returns which output of the producer the edge takes; adds one if the file lists none.
std::int32_t AttributedGraphReader::output_of(OpId producer, const JsonCursor& edge,
                                              std::string_view bytes_name) {
  std::vector<Output>& outputs = graph_[index_of(producer)].outputs;
  const auto bytes_place = edge.find(bytes_name);
  const std::int64_t bytes = bytes_place ? std::llround(bytes_place->number(0, kMaxBytes)) : 0;
  if (const auto output = edge.find("output")) {
    const auto last = static_cast<std::int64_t>(outputs.size()) - 1;
    const std::int64_t chosen = output->integer(Dependency::kControl, last);
    const std::int64_t moved = chosen < 0 ? 0 : outputs[index_of(chosen)].bytes;
    if (bytes_place && bytes != moved) {
      bytes_place->fail(fmt::format("expected {} as output {} of '{}' has, found {}", moved, chosen,
                                    excerpt(graph_[index_of(producer)].name), bytes));
    }
    return static_cast<std::int32_t>(chosen);
  }
  if (!bytes_place || bytes == 0) {
    return Dependency::kControl;
  }
  const auto [found, is_new] =
      output_of_bytes_.try_emplace({producer, bytes}, static_cast<std::int32_t>(outputs.size()));
  if (is_new) {
    if (lists_outputs_[producer]) {
      bytes_place->fail(fmt::format("no output of '{}' has {} bytes",
                                    excerpt(graph_[index_of(producer)].name), bytes));
    }
    outputs.push_back({.bytes = bytes});
  }
  return found->second;
}

nlohmann::json from_text(const TextAttributes& attributes) {
  nlohmann::json object = nlohmann::json::object();
  for (const auto& [name, text] : attributes) {
    const bool is_text = std::ranges::find(kTexts, name) != kTexts.end();
    object[name] = is_text ? nlohmann::json(text) : value_of(text);
  }
  return object;
}

TextAttributes text_attributes(const Op& op) {
  std::string text;
  write_op(text, op);
  const auto members = nlohmann::ordered_json::parse(text);
  TextAttributes attributes;
  for (const auto& [name, value] : members.items()) {
    attributes.emplace_back(name, value.is_string() ? value.get<std::string>() : value.dump());
  }
  return attributes;
}

TextAttributes text_attributes(const OpGraph& graph,
                               const boost::graph_traits<OpGraph>::edge_descriptor& edge) {
  const std::int32_t output = graph[edge].output;
  TextAttributes attributes = {{"output", fmt::to_string(output)}};
  if (output != Dependency::kControl) {
    const Op& producer = graph[boost::source(edge, graph)];
    attributes.emplace_back("bytes", fmt::to_string(producer.outputs[index_of(output)].bytes));
  }
  return attributes;
}

TextAttributes text_attributes(const GraphInfo& info) {
  return {{"name", info.name}, {"source", info.source}};
}

}  // namespace emplace
