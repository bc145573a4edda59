#pragma once

// How a tensor lies in memory, as far as views of it need it: a stride says how many elements apart
// the neighbours along an axis stand. Source of the rules: PyTorch, "Tensor Views".

#include <cstdint>
#include <optional>
#include <vector>

namespace emplace {

/// Returns the strides of a tensor whose elements stand one after another.
std::vector<std::int64_t> contiguous_strides(const std::vector<std::int64_t>& shape);

/// Returns the strides that the elements of a tensor have in another shape of as many elements, or
/// nothing if they must be copied for that. Throws kUsage if a stride does not fit 64 bits.
std::optional<std::vector<std::int64_t>> strides_in_shape(const std::vector<std::int64_t>& shape,
                                                          const std::vector<std::int64_t>& strides,
                                                          const std::vector<std::int64_t>& to);

/// Says whether a tensor [..., rows, columns] can be seen as a batch of matrices, as products take
/// them, without a copy. Throws kUsage if a stride does not fit 64 bits.
bool is_batch_of_matrices(const std::vector<std::int64_t>& shape,
                          const std::vector<std::int64_t>& strides);

/// Returns the strides with those of axes of one element, which do not matter, as they are where
/// elements stand one after another. Throws kUsage if a stride does not fit 64 bits.
std::vector<std::int64_t> normal_strides(const std::vector<std::int64_t>& shape,
                                         std::vector<std::int64_t> strides);

/// Returns the strides of a tensor without gaps and repeats whose axes lie in memory in the order
/// of these strides: so do the results of operators that compute each number by itself.
std::vector<std::int64_t> dense_strides(const std::vector<std::int64_t>& shape,
                                        const std::vector<std::int64_t>& strides);

/// Describes a tensor whose axes lie in memory in another order.
struct StoredOrder {
  std::vector<std::int64_t> shape{};  ///< as it lies there
  std::vector<std::int64_t> perm{};   ///< axis i of the tensor is axis perm[i] there
};

/// Returns the order of a tensor's axes in memory, or nothing if it is their own, or elements are
/// repeated.
std::optional<StoredOrder> stored_order(const std::vector<std::int64_t>& shape,
                                        const std::vector<std::int64_t>& strides);

}  // namespace emplace
