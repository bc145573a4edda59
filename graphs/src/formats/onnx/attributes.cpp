#include "attributes.hpp"

#include <emplace/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace emplace::onnx_model {
namespace {

std::int64_t checked(std::string_view name, std::int64_t value) {
  if (value < -kMaxExtent || value > kMaxExtent) {
    throw Error(ErrorCode::kFormat,
                fmt::format("attribute '{}': expected an integer from -{} to {}, found {}", name,
                            kMaxExtent, kMaxExtent, value));
  }
  return value;
}

}  // namespace

const onnx::AttributeProto* find_attribute(const onnx::NodeProto& node, std::string_view name) {
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.name() == name) {
      return &attribute;
    }
  }
  return nullptr;
}

std::int64_t integer_attribute(const onnx::NodeProto& node, std::string_view name,
                               std::int64_t fallback) {
  const onnx::AttributeProto* attribute = find_attribute(node, name);
  return attribute != nullptr ? checked(name, attribute->i()) : fallback;
}

Shape integers_attribute(const onnx::NodeProto& node, std::string_view name) {
  const onnx::AttributeProto* attribute = find_attribute(node, name);
  Shape values;
  if (attribute != nullptr) {
    for (const std::int64_t value : attribute->ints()) {
      values.push_back(checked(name, value));
    }
  }
  return values;
}

std::optional<Shape> places_attribute(const onnx::NodeProto& node, std::string_view name) {
  const onnx::AttributeProto* attribute = find_attribute(node, name);
  if (attribute == nullptr) {
    return std::nullopt;
  }
  Shape places;
  for (const std::int64_t place : attribute->ints()) {
    places.push_back(std::clamp(place, -kMaxExtent, kMaxExtent));
  }
  return places;
}

std::string_view text_attribute(const onnx::NodeProto& node, std::string_view name) {
  const onnx::AttributeProto* attribute = find_attribute(node, name);
  return attribute != nullptr ? std::string_view(attribute->s()) : std::string_view();
}

std::string describe_missing_input(const onnx::NodeProto& node, std::size_t index) {
  const auto count = static_cast<std::size_t>(node.input_size());
  return index < count ? fmt::format("expected an input {}, which is left out", index + 1)
                       : fmt::format("expected at least {} inputs, found {}", index + 1, count);
}

bool is_standard_domain(std::string_view domain) { return domain.empty() || domain == "ai.onnx"; }

}  // namespace emplace::onnx_model
