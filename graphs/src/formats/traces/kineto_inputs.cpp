#include "kineto_inputs.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>
#include <vector>

namespace emplace::pytorch {
namespace {

// Compilers call a type differently: "short", "short int".
std::optional<std::int64_t> bytes_of_type(std::string_view type) {
  constexpr std::array<std::pair<std::string_view, std::int64_t>, 24> kBytes = {
      {{"bool", 1},
       {"c10::BFloat16", 2},
       {"c10::Float8_e4m3fn", 1},
       {"c10::Float8_e4m3fnuz", 1},
       {"c10::Float8_e5m2", 1},
       {"c10::Float8_e5m2fnuz", 1},
       {"c10::Float8_e8m0fnu", 1},
       {"c10::Half", 2},
       {"c10::complex<double>", 16},
       {"c10::complex<float>", 8},
       {"c10::qint32", 4},
       {"c10::qint8", 1},
       {"c10::quint8", 1},
       {"double", 8},
       {"float", 4},
       {"int", 4},
       {"long", 8},
       {"long int", 8},
       {"short", 2},
       {"short int", 2},
       {"signed char", 1},
       {"unsigned char", 1},
       {"unsigned int", 4},
       {"unsigned short", 2}}};
  const auto* found =
      std::ranges::find(kBytes, type, &std::pair<std::string_view, std::int64_t>::first);
  return found != kBytes.end() ? std::optional(found->second) : std::nullopt;
}

// Adds a tensor, or those of a list.
void read_dimensions(const JsonCursor& dimensions, std::int64_t element_bytes, std::size_t argument,
                     std::vector<TensorUse>& tensors) {
  const std::vector<JsonCursor> extents = dimensions.elements();
  if (extents.empty()) {
    return;
  }
  if (extents[0].is_array()) {
    for (const JsonCursor& tensor : extents) {
      read_dimensions(tensor, element_bytes, argument, tensors);
    }
    return;
  }
  TensorUse tensor{.elements = 1, .element_bytes = element_bytes, .argument = argument};
  for (const JsonCursor& extent : extents) {
    tensor.shape.push_back(extent.integer(0));
    if (__builtin_mul_overflow(tensor.elements, tensor.shape.back(), &tensor.elements)) {
      dimensions.fail("the size of the tensor does not fit 64 bits");
    }
  }
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(tensor.elements, element_bytes, &bytes)) {
    dimensions.fail("the size of the tensor does not fit 64 bits");
  }
  tensors.push_back(std::move(tensor));
}

// Reads "[2, 2]"; nothing if the text is anything else.
std::optional<std::vector<std::int64_t>> parse_integers(std::string_view text) {
  if (text.size() < 2 || !text.starts_with('[') || !text.ends_with(']')) {
    return std::nullopt;
  }
  std::vector<std::int64_t> integers;
  const char* at = text.data() + 1;
  const char* const end = text.data() + text.size() - 1;
  while (at != end) {
    std::int64_t value = 0;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc()) {
      return std::nullopt;
    }
    integers.push_back(value);
    at = next;
    while (at != end && (*at == ',' || *at == ' ')) {
      ++at;
    }
  }
  return integers;
}

// Lists of integers are settings; "True" and "False" are switches, also those of a list.
void read_concrete_input(std::string_view text, TracedNode& node) {
  if (text == "True" || text == "False") {
    node.switches.push_back(text == "True");
  } else if (auto integers = parse_integers(text)) {
    node.settings.push_back(std::move(*integers));
  } else if (text.starts_with("[True") || text.starts_with("[False")) {
    for (std::size_t at = 0; at < text.size(); ++at) {
      if (text[at] == 'T' || text[at] == 'F') {
        node.switches.push_back(text[at] == 'T');
      }
    }
  }
}

}  // namespace

std::optional<JsonCursor> find_argument(const JsonCursor& event,
                                        std::initializer_list<std::string_view> names) {
  const auto arguments = event.find("args");
  if (arguments && arguments->is_object()) {
    for (const std::string_view name : names) {
      if (auto found = arguments->find(name)) {
        return found;
      }
    }
  }
  return std::nullopt;
}

void read_inputs(const JsonCursor& event, TracedNode& node,
                 std::map<std::string, int>& unknown_types) {
  if (const auto dimensions = find_argument(event, {"Input Dims", "Input dims"})) {
    const auto listed = find_argument(event, {"Input type"});
    const auto types = listed ? listed->elements() : std::vector<JsonCursor>();
    const auto inputs = dimensions->elements();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::string type = i < types.size() && types[i].is_text() ? types[i].text() : "";
      const auto bytes = bytes_of_type(type);
      const std::size_t before = node.inputs.size();
      read_dimensions(inputs[i], bytes.value_or(kUnknownTypeBytes), i, node.inputs);
      if (!bytes && !type.empty() && node.inputs.size() > before) {
        ++unknown_types[type];
      }
    }
  }
  if (const auto concrete = find_argument(event, {"Concrete Inputs"})) {
    for (const JsonCursor& input : concrete->elements()) {
      if (input.is_text()) {
        read_concrete_input(input.text(), node);
      }
    }
  }
}

}  // namespace emplace::pytorch
