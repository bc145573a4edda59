#include "pytorch_trace.hpp"

#include <emplace/graphs/error.hpp>
#include <emplace/graphs/json_cursor.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

namespace emplace::pytorch {
namespace {

constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr double kMaxUs = 1e15;

bool are_integers(const std::vector<JsonCursor>& values) {
  return std::ranges::all_of(values, [](const JsonCursor& value) { return value.is_integer(); });
}

// A tensor is written [id, storage, offset, elements, bytes of an element, "device"].
bool is_tensor(const std::vector<JsonCursor>& values) {
  return values.size() == 6 && values[5].is_text() &&
         are_integers({values.begin(), values.end() - 1});
}

std::vector<std::int64_t> read_integers(const std::vector<JsonCursor>& values) {
  std::vector<std::int64_t> integers;
  for (const JsonCursor& value : values) {
    integers.push_back(value.integer(kMin, kMax));
  }
  return integers;
}

// Reads a value and the shape that stands at the same place of the list of shapes. Lists of tensors
// nest; what is neither tensor nor list of integers is of no use here.
void read_value(const JsonCursor& value, const std::optional<JsonCursor>& shape,
                std::vector<TensorUse>& tensors, std::vector<std::vector<std::int64_t>>& settings) {
  if (!value.is_array()) {
    return;
  }
  const std::vector<JsonCursor> values = value.elements();
  const bool has_shape = shape && shape->is_array();
  const std::vector<JsonCursor> shapes = has_shape ? shape->elements() : std::vector<JsonCursor>();
  if (is_tensor(values)) {
    TensorUse tensor{.id = values[0].integer(kMin, kMax),
                     .storage = values[1].integer(kMin, kMax),
                     .elements = values[3].integer(0, kMax),
                     .element_bytes = values[4].integer(0, kMax)};
    std::int64_t elements = 0;
    if (__builtin_mul_overflow(tensor.elements, tensor.element_bytes, &elements)) {
      value.fail("the size of the tensor does not fit 64 bits");
    }
    for (const JsonCursor& extent : shapes) {
      tensor.shape.push_back(extent.integer(0, kMax));
    }
    if (tensor.elements > 0) {  // else it is not defined
      tensors.push_back(std::move(tensor));
    }
  } else if (are_integers(values)) {
    settings.push_back(read_integers(values));
  } else {
    for (std::size_t i = 0; i < values.size(); ++i) {
      read_value(values[i], i < shapes.size() ? std::optional(shapes[i]) : std::nullopt, tensors,
                 settings);
    }
  }
}

void read_values(const JsonCursor& values, const std::optional<JsonCursor>& shapes,
                 std::vector<TensorUse>& tensors,
                 std::vector<std::vector<std::int64_t>>& settings) {
  const auto listed = shapes ? shapes->elements() : std::vector<JsonCursor>();
  const auto elements = values.elements();
  for (std::size_t i = 0; i < elements.size(); ++i) {
    read_value(elements[i], i < listed.size() ? std::optional(listed[i]) : std::nullopt, tensors,
               settings);
  }
}

// Schema 1.1 keeps "rf_id" in a list of attributes.
std::int64_t read_rf_id(const JsonCursor& node) {
  if (const auto direct = node.find("rf_id")) {
    return direct->integer(0, kMax);
  }
  if (const auto attributes = node.find("attrs")) {
    for (const JsonCursor& attribute : attributes->elements()) {
      if (attribute.at("name").text() == "rf_id") {
        return attribute.at("value").integer(0, kMax);
      }
    }
  }
  return 0;
}

Node read_node(const JsonCursor& object) {
  const auto parent = object.find("parent");
  Node node{.id = object.at("id").integer(0, kMax),
            .parent = (parent ? *parent : object.at("ctrl_deps")).integer(0, kMax),
            .rf_id = read_rf_id(object),
            .name = object.at("name").text()};
  std::vector<std::vector<std::int64_t>> ignored;
  const JsonCursor inputs = object.at("inputs");
  const JsonCursor outputs = object.at("outputs");
  if (inputs.is_object()) {  // schema 1.1
    read_values(inputs.at("values"), inputs.find("shapes"), node.inputs, node.settings);
    read_values(outputs.at("values"), outputs.find("shapes"), node.outputs, ignored);
  } else {
    read_values(inputs, object.find("input_shapes"), node.inputs, node.settings);
    read_values(outputs, object.find("output_shapes"), node.outputs, ignored);
  }
  return node;
}

std::optional<std::int64_t> find_id(const JsonCursor& event, std::string_view key) {
  const auto arguments = event.find("args");
  const auto id = arguments ? arguments->find(key) : std::nullopt;
  return id && id->is_integer() ? std::optional(id->integer(kMin, kMax)) : std::nullopt;
}

}  // namespace

std::vector<Node> read_execution_trace(std::string_view text, const std::string& source) {
  const JsonDocument document = JsonDocument::parse(text, source);
  const JsonCursor list = document.root().at("nodes");
  std::vector<Node> nodes;
  for (const JsonCursor& node : list.elements()) {
    nodes.push_back(read_node(node));
  }
  std::ranges::stable_sort(nodes, {}, &Node::id);
  const auto twice = std::ranges::adjacent_find(nodes, {}, &Node::id);
  if (twice != nodes.end()) {
    list.fail(fmt::format("the id {} comes twice", twice->id));
  }
  return nodes;
}

Times read_kineto(std::string_view text, const std::string& source) {
  const JsonDocument document = JsonDocument::parse(text, source);
  const JsonCursor root = document.root();
  const JsonCursor list = root.is_array() ? root : root.at("traceEvents");
  Times times;
  std::map<std::int64_t, std::int64_t> rf_of_external;
  std::map<std::int64_t, double> kernels;  // by external id
  for (const JsonCursor& event : list.elements()) {
    const auto phase = event.find("ph");
    const auto category = event.find("cat");
    if (!phase || phase->text() != "X" || !category) {
      continue;
    }
    const std::string kind = category->text();
    const auto external = find_id(event, "External id");
    if (kind == "cpu_op") {
      if (const auto rf_id = find_id(event, "Record function id")) {
        times.cpu_us[*rf_id] = event.at("dur").number(0, kMaxUs);
        if (external) {
          rf_of_external[*external] = *rf_id;
        }
      }
    } else if (external && (kind == "kernel" || kind == "gpu_memcpy" || kind == "gpu_memset")) {
      kernels[*external] += event.at("dur").number(0, kMaxUs);
    }
  }
  if (times.cpu_us.empty()) {
    list.fail("no cpu_op has a 'Record function id', by which operators are found");
  }
  for (const auto& [external, us] : kernels) {
    if (const auto rf_id = rf_of_external.find(external); rf_id != rf_of_external.end()) {
      times.kernel_us[rf_id->second] += us;
    }
  }
  return times;
}

}  // namespace emplace::pytorch
