#include "site_reader.hpp"

namespace emplace::calibrate {
namespace {

bool has(const std::vector<Output>& tensors, std::size_t index, DataType type,
         std::int64_t elements) {
  if (index >= tensors.size() || elements < 1) {
    return false;
  }
  const Output& tensor = tensors[index];
  std::int64_t found = 1;
  for (const std::int64_t extent : tensor.shape) {
    if (extent < 1 || __builtin_mul_overflow(found, extent, &found)) {
      return false;
    }
  }
  return tensor.type == type && found == elements && tensor.bytes / size_of(type) == elements;
}

}  // namespace

std::int64_t SiteReader::dimension(std::size_t index) {
  const auto& shape = site_.op.shape;
  fits_ = fits_ && index < shape.size() && shape[index] >= 1;
  return fits_ ? shape[index] : 1;
}

void SiteReader::expect_input(std::size_t index, DataType type, std::int64_t elements) {
  fits_ = fits_ && has(site_.inputs, index, type, elements);
}

void SiteReader::expect_output(std::size_t index, DataType type, std::int64_t elements) {
  fits_ = fits_ && has(site_.op.outputs, index, type, elements);
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

}  // namespace emplace::calibrate
