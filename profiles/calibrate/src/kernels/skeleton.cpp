#include "skeleton.hpp"

namespace emplace::calibrate::kernels {
namespace {

const std::vector<std::int64_t> kNoShape{};

// Zero, which nothing expects, where there is no tensor or its size does not fit 64 bits.
std::int64_t elements_of(const Output* value) {
  if (value == nullptr) {
    return 0;
  }
  std::int64_t elements = 1;
  for (const std::int64_t extent : value->shape) {
    if (extent < 1 || __builtin_mul_overflow(elements, extent, &elements)) {
      return 0;
    }
  }
  return elements;
}

}  // namespace

std::int64_t SiteReader::dimension(std::size_t index) {
  const auto& shape = site_.op.shape;
  expect(index < shape.size() && shape[index] >= 1);
  return fits_ ? shape[index] : 1;
}

const Output* SiteReader::input(std::int64_t index) {
  expect(index >= 0 && index < num_inputs());
  return fits_ ? &site_.inputs[static_cast<std::size_t>(index)] : nullptr;
}

const Output* SiteReader::output(std::int64_t index) {
  expect(index >= 0 && index < num_outputs());
  return fits_ ? &site_.op.outputs[static_cast<std::size_t>(index)] : nullptr;
}

const std::vector<std::int64_t>& SiteReader::input_shape(std::int64_t index) {
  const Output* value = input(index);
  return value != nullptr ? value->shape : kNoShape;
}

const std::vector<std::int64_t>& SiteReader::output_shape(std::int64_t index) {
  const Output* value = output(index);
  return value != nullptr ? value->shape : kNoShape;
}

std::int64_t SiteReader::input_elements(std::int64_t index) { return elements_of(input(index)); }

std::int64_t SiteReader::output_elements(std::int64_t index) { return elements_of(output(index)); }

void SiteReader::expect_value(const Output* value, DataType type, std::int64_t elements) {
  expect(value != nullptr && value->type == type && elements >= 1 &&
         elements_of(value) == elements && value->bytes / size_of(type) == elements);
}

bool SiteReader::expect_ids(std::int64_t index, std::int64_t elements) {
  const Output* value = input(index);
  const bool is_wide = value != nullptr && value->type == DataType::kInt64;
  expect_value(value, is_wide ? DataType::kInt64 : DataType::kInt32, elements);
  return is_wide;
}

std::optional<DataType> element_type(const OpSite& site) {
  if (!site.inputs.empty() && site.inputs[0].type != DataType::kInt32 &&
      site.inputs[0].type != DataType::kInt64) {
    return site.inputs[0].type;
  }
  if (!site.op.outputs.empty()) {
    return site.op.outputs[0].type;
  }
  return std::nullopt;
}

}  // namespace emplace::calibrate::kernels
