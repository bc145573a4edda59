#include <emplace/graphs/graph_json.hpp>
#include <emplace/profiles/op_key.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace emplace {

DataType key_type(const Op& op) {
  return op.outputs.empty() ? DataType::kFloat32 : op.outputs.front().type;
}

OpKey key_of(const Op& op) {
  return {.kind = op.kind,
          .shape = op.shape,
          .type = key_type(op),
          .attributes = attributes_text(op.attributes)};
}

std::string to_string(const OpKey& key) {
  return fmt::format("{} [{}] {}{}{}", key.kind, fmt::join(key.shape, ", "), to_string(key.type),
                     key.attributes.empty() ? "" : " ", key.attributes);
}

}  // namespace emplace
