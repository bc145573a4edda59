#include "pytorch_trace.hpp"

#include <emplace/base/error.hpp>
#include <emplace/base/json_cursor.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

namespace emplace::pytorch {
namespace {

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
  integers.reserve(values.size());
  for (const JsonCursor& value : values) {
    integers.push_back(value.integer());
  }
  return integers;
}

// Reads the inputs or outputs of a node.
class ValueReader {
 public:
  explicit ValueReader(std::vector<TensorUse>& tensors) : tensors_(tensors) {}

  std::vector<std::vector<std::int64_t>> settings{};
  std::vector<bool> switches{};

  void read(const JsonCursor& values, const std::optional<JsonCursor>& shapes) {
    const auto listed = shapes ? shapes->elements() : std::vector<JsonCursor>();
    const auto elements = values.elements();
    for (argument_ = 0; argument_ < elements.size(); ++argument_) {
      read_value(elements[argument_],
                 argument_ < listed.size() ? std::optional(listed[argument_]) : std::nullopt);
    }
  }

 private:
  // Reads a value and the shape that stands at the same place of the list of shapes. Lists of
  // tensors nest; other numbers and texts are of no use here.
  void read_value(const JsonCursor& value, const std::optional<JsonCursor>& shape) {
    if (value.is_boolean()) {
      switches.push_back(value.boolean());
    }
    if (!value.is_array()) {
      return;
    }
    const std::vector<JsonCursor> values = value.elements();
    const bool has_shape = shape && shape->is_array();
    const std::vector<JsonCursor> shapes =
        has_shape ? shape->elements() : std::vector<JsonCursor>();
    if (is_tensor(values)) {
      read_tensor(value, values, shapes);
    } else if (are_integers(values)) {
      settings.push_back(read_integers(values));
    } else {
      for (std::size_t i = 0; i < values.size(); ++i) {
        read_value(values[i], i < shapes.size() ? std::optional(shapes[i]) : std::nullopt);
      }
    }
  }

  void read_tensor(const JsonCursor& value, const std::vector<JsonCursor>& values,
                   const std::vector<JsonCursor>& shapes) {
    TensorUse tensor{.id = values[0].integer(),
                     .storage = values[1].integer(),
                     .offset = values[2].integer(0),
                     .elements = values[3].integer(0),
                     .element_bytes = values[4].integer(0),
                     .argument = argument_};
    std::int64_t end = 0;
    if (__builtin_mul_overflow(tensor.elements, tensor.element_bytes, &end) ||
        __builtin_add_overflow(tensor.offset, tensor.elements, &end)) {
      value.fail("the size of the tensor does not fit 64 bits");
    }
    for (const JsonCursor& extent : shapes) {
      tensor.shape.push_back(extent.integer(0));
    }
    if (tensor.elements > 0) {  // else it is not defined
      tensors_.push_back(std::move(tensor));
    }
  }

  std::vector<TensorUse>& tensors_;
  std::size_t argument_ = 0;
};

// Schema 1.1 keeps "rf_id" in a list of attributes.
std::int64_t read_rf_id(const JsonCursor& node) {
  if (const auto direct = node.find("rf_id")) {
    return direct->integer(0);
  }
  if (const auto attributes = node.find("attrs")) {
    for (const JsonCursor& attribute : attributes->elements()) {
      if (attribute.at("name").text() == "rf_id") {
        return attribute.at("value").integer(0);
      }
    }
  }
  return 0;
}

TracedNode read_node(const JsonCursor& object) {
  const auto parent = object.find("parent");
  TracedNode node{.id = object.at("id").integer(0),
                  .parent = (parent ? *parent : object.at("ctrl_deps")).integer(0),
                  .rf_id = read_rf_id(object),
                  .name = object.at("name").text()};
  ValueReader reader(node.inputs);
  ValueReader result_reader(node.outputs);
  const JsonCursor inputs = object.at("inputs");
  const JsonCursor outputs = object.at("outputs");
  if (inputs.is_object()) {  // schema 1.1
    reader.read(inputs.at("values"), inputs.find("shapes"));
    result_reader.read(outputs.at("values"), outputs.find("shapes"));
  } else {
    reader.read(inputs, object.find("input_shapes"));
    result_reader.read(outputs, object.find("output_shapes"));
  }
  node.settings = std::move(reader.settings);
  node.switches = std::move(reader.switches);
  // A scope may have any name, but it has no tensors.
  node.is_operator = is_operator_name(node.name) && (!node.inputs.empty() || !node.outputs.empty());
  if (node.outputs.empty() && node.is_operator) {
    std::ranges::copy_if(node.inputs, std::back_inserter(node.outputs),
                         [&](const TensorUse& tensor) { return writes_input(node, tensor); });
  }
  return node;
}

}  // namespace

bool is_operator_name(std::string_view name) {
  return name.find("::") != std::string_view::npos && !name.starts_with("autograd::") &&
         !name.starts_with("torch::");
}

bool writes_input(const TracedNode& node, const TensorUse& tensor) {
  if (!node.name.ends_with('_')) {
    return false;
  }
  constexpr std::size_t kGradients = 1;
  return node.name.starts_with("aten::_fused_") ? tensor.argument != kGradients
                                                : tensor.argument == 0;
}

std::vector<TracedNode> read_execution_trace(std::string_view text, const std::string& source) {
  const JsonDocument document = JsonDocument::parse(text, source);
  const JsonCursor list = document.root().at("nodes");
  std::vector<TracedNode> nodes;
  for (const JsonCursor& node : list.elements()) {
    nodes.push_back(read_node(node));
  }
  std::ranges::stable_sort(nodes, {}, &TracedNode::id);
  const auto twice = std::ranges::adjacent_find(nodes, {}, &TracedNode::id);
  if (twice != nodes.end()) {
    list.fail(fmt::format("the id {} appears twice", twice->id));
  }
  return nodes;
}

}  // namespace emplace::pytorch
