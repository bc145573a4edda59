#include <emplace/profiles/op_key.hpp>

namespace emplace {

OpKey key_of(const Op& op) {
  return {.kind = op.kind,
          .shape = op.shape,
          .type = op.outputs.empty() ? DataType::kFloat32 : op.outputs.front().type};
}

}  // namespace emplace
