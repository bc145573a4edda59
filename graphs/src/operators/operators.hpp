#pragma once

// The library of operators. It defines once what the results of an operator are and what it costs.
// The model builder, the gradient rules and all importers add convolutions and pools through it; an
// importer only translates names and attributes. Other operators are not here yet. A file has one
// family, and for each operator in it
//   - infer: the results, from attributes and inputs;
//   - count: kind, key of costs (OpKind::shape), FLOPs, and bytes beyond touching each tensor once.
// Tensors are laid out as ONNX has them: maps [N, C, ...], filters [K, C / groups, ...].

#include <emplace/graphs/attributes.hpp>
#include <emplace/graphs/op.hpp>

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace emplace::operators {

using Shape = std::vector<std::int64_t>;

/// Describes the inputs or results of an op.
using Tensors = std::span<const Output>;

/// Defines one operator.
struct Operator {
  std::string_view name;
  /// Returns the results; throws kFormat if the inputs do not fit each other or the attributes.
  /// Null: they do not follow from the inputs, as the extents of a gradient do not.
  std::vector<Output> (*infer)(const Attributes& attributes, Tensors inputs);
  /// Fills in kind, shape, FLOPs and bytes of `op`.
  void (*count)(Op& op, const Attributes& attributes, Tensors inputs, Tensors results);
};

/// Returns the operators of each family.
std::span<const Operator> convolutions();
std::span<const Operator> poolings();

/// Returns the results of an operator; throws kFormat if its inputs do not fit.
std::vector<Output> infer(std::string_view name, const Attributes& attributes, Tensors inputs);

/// Fills in all that `op` is by its operator, inputs and results, the results themselves excepted.
void count(Op& op, std::string_view name, Attributes attributes, Tensors inputs, Tensors results);

/// Does the same, and adds the results: those that infer() returns, unless `op` has them already.
void define(Op& op, std::string_view name, Attributes attributes, Tensors inputs);

/// count() and describe() for inputs in a list and one result. describe() returns an op that has no
/// name and no results.
void count(Op& op, std::string_view name, Attributes attributes,
           std::initializer_list<Output> inputs, const Output& result);
Op describe(std::string_view name, Attributes attributes, std::initializer_list<Output> inputs,
            const Output& result);

/// Returns the attributes of an op of this kind as far as its key says, for files that have none; a
/// std::monostate for kinds without attributes.
Attributes attributes_from_key(std::string_view kind, const Shape& key);

/// Does the same for the kinds of one family; nothing for others.
std::optional<Attributes> convolution_from_key(std::string_view kind, const Shape& key);
std::optional<Attributes> pooling_from_key(std::string_view kind, const Shape& key);

// --- Windows over maps (windows.cpp) ---

/// Returns the number of places of a window on each dimension of maps; throws kFormat if it does
/// not fit.
Shape places(std::span<const std::int64_t> extents, std::span<const std::int64_t> kernel,
             const Window& window, bool ceil_mode = false);

/// Returns the pads with which a window has so many places: as many before as after, and one more
/// after, or before, where their number is odd.
Shape pads_for(std::span<const std::int64_t> extents, std::span<const std::int64_t> kernel,
               const Window& window, std::span<const std::int64_t> places,
               bool more_before = false);

/// Returns those with which it has a place for each stride.
Shape same_pads(std::span<const std::int64_t> extents, std::span<const std::int64_t> kernel,
                const Window& window, bool more_before = false);

/// Returns the pads with which a transposed convolution makes maps of these extents of so many
/// places. Those below 0 widen the maps.
Shape transpose_pads(std::span<const std::int64_t> extents, std::span<const std::int64_t> kernel,
                     const Window& window, std::span<const std::int64_t> places);

/// Returns a pool with so many places on maps of these extents: windows that are alike cover the
/// maps; where they are not, the first is the largest.
PoolAttributes adaptive_pool(std::span<const std::int64_t> extents,
                             std::span<const std::int64_t> places);

/// Returns maps of one dimension, [N, C, W], and lists of their windows, as libraries run them:
/// [N, C, 1, W].
Shape as_maps(Shape maps);

}  // namespace emplace::operators
