#pragma once

// What the operators of attention read, in one form: ONNX' own Attention, and ONNX Runtime's
// Attention, MultiHeadAttention, GroupQueryAttention and their kin. They differ in how heads are
// packed, and in where earlier keys and values stand.

#include "inference.hpp"

#include <cstdint>
#include <vector>

namespace emplace::onnx_model {

/// Holds the sizes of attention.
struct AttentionSizes {
  std::int64_t batch = 0;
  std::int64_t heads = 0;        ///< of queries
  std::int64_t kv_heads = 0;     ///< of keys and values; each serves heads / kv_heads queries
  std::int64_t queries = 0;      ///< positions that ask
  std::int64_t new_keys = 0;     ///< positions whose keys the step brings
  std::int64_t keys = 0;         ///< positions that answer, earlier ones included
  std::int64_t cached = 0;       ///< positions that the caches of keys and values have room for
  std::int64_t width = 0;        ///< numbers of a query's head, and of a key's
  std::int64_t value_width = 0;  ///< numbers of a value's head

  /// Returns queries, keys and values as our library has them, heads apart.
  std::vector<Output> heads_apart(DataType type) const;
};

/// Returns the sizes of a node, by the operator; throws kFormat where inputs do not fit.
AttentionSizes standard_attention_sizes(const NodeView& node);     ///< ONNX, opset 23
AttentionSizes projected_attention_sizes(const NodeView& node);    ///< Attention, QAttention
AttentionSizes multi_head_attention_sizes(const NodeView& node);   ///< MultiHeadAttention
AttentionSizes masked_attention_sizes(const NodeView& node);       ///< DecoderMasked...
AttentionSizes group_query_attention_sizes(const NodeView& node);  ///< GroupQueryAttention

}  // namespace emplace::onnx_model
