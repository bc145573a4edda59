#include "chakra.hpp"

#include <emplace/base/json_cursor.hpp>

#include <fmt/format.h>

#include <charconv>
#include <optional>

namespace emplace::chakra {
namespace {

// Reads `<integer>,` behind blanks and takes it off `text`.
std::optional<std::int64_t> take_integer(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const auto length = static_cast<std::size_t>(end - text.data());
  if (error != std::errc() || length == text.size() || text[length] != ',') {
    return std::nullopt;
  }
  text.remove_prefix(length + 1);
  return value;
}

std::optional<TensorUse> tensor_at(std::string_view text) {
  std::int64_t numbers[5];
  for (std::int64_t& number : numbers) {
    const auto taken = take_integer(text);
    if (!taken) {
      return std::nullopt;
    }
    number = *taken;
  }
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const bool has_device = text.starts_with('"') || text.starts_with('\'');
  if (!has_device || numbers[3] < 0 || numbers[4] < 0) {
    return std::nullopt;
  }
  return TensorUse{.id = numbers[0], .elements = numbers[3], .element_bytes = numbers[4]};
}

std::uint64_t read_unsigned(const JsonCursor& node, std::string_view key) {
  const auto member = node.find(key);
  return member ? static_cast<std::uint64_t>(member->integer(0)) : 0;
}

ChakraNode read_node(const JsonCursor& object) {
  ChakraNode node{.id = static_cast<std::uint64_t>(object.at("Id").integer(0)),
                  .duration_us = read_unsigned(object, "runtime")};
  if (const auto name = object.find("Name")) {
    node.name = name->text();
  }
  node.type = static_cast<NodeType>(object.at("NodeType").integer(0, 7));
  if (const auto dependencies = object.find("data_deps")) {
    for (const JsonCursor& id : dependencies->elements()) {
      node.data_deps.push_back(static_cast<std::uint64_t>(id.integer(0)));
    }
  }
  if (const auto is_cpu_op = object.find("is_cpu_op")) {
    node.attributes["is_cpu_op"] = is_cpu_op->is_integer()
                                       ? is_cpu_op->integer(0, 1)
                                       : static_cast<std::int64_t>(is_cpu_op->boolean());
  }
  for (const char* key : {"num_ops", "tensor_size", "comm_size", "comm_type"}) {
    if (object.find(key)) {
      node.attributes[key] = object.at(key).integer(0);
    }
  }
  return node;
}

}  // namespace

std::vector<TensorUse> find_tensors(std::string_view list) {
  std::vector<TensorUse> tensors;
  for (std::size_t at = list.find('['); at != std::string_view::npos; at = list.find('[', at + 1)) {
    if (const auto tensor = tensor_at(list.substr(at + 1))) {
      tensors.push_back(*tensor);
    }
  }
  return tensors;
}

std::string write_tensors(const std::vector<TensorUse>& tensors) {
  std::string text;
  for (const TensorUse& tensor : tensors) {
    text += fmt::format("{}[{}, {}, 0, {}, {}, \"device\"]", text.empty() ? "" : ", ", tensor.id,
                        tensor.id, tensor.elements, tensor.element_bytes);
  }
  return fmt::format("[{}]", text);
}

Trace read_json(std::string_view text, const std::string& source) {
  const JsonDocument document = JsonDocument::parse(text, source);
  Trace trace;
  for (const JsonCursor& node : document.root().at("workload_graph").elements()) {
    trace.nodes.push_back(read_node(node));
  }
  return trace;
}

}  // namespace emplace::chakra
