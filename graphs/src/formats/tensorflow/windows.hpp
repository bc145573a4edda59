#pragma once

// Nodes that move windows over maps, as the operators of our library have them: maps [N, C, ...],
// filters [K, C / groups, ...].

#include "node_call.hpp"

#include <emplace/graphs/attributes.hpp>
#include <emplace/graphs/op.hpp>

namespace emplace::tensorflow {

/// Shows the windows of one node over maps of a shape as its data_format has it.
class MapWindows {
 public:
  /// Throws kFormat and kUnsupported if the maps are not laid out as the node says.
  MapWindows(const proto::NodeDef& node, const Output& maps);

  const MapLayout& layout() const { return layout_; }

  /// Returns maps of the node as [N, C, ...].
  Output maps(const Output& maps) const { return channels_first(maps, layout_); }

  /// Returns filters [..., C / groups, K], or [..., C, multiplier] of a depthwise convolution, as
  /// [K, C / groups, ...].
  Output filters(Output filters) const;

  /// Returns the attributes of a convolution with filters of the node, and those of a pool.
  ConvAttributes conv(const Output& filters) const;
  PoolAttributes pool() const;

 private:
  Shape per_dimension(const std::string& name) const;
  Window window(std::span<const std::int64_t> kernel, bool has_dilations) const;

  const proto::NodeDef& node_;
  MapLayout layout_;
  Output maps_;
  bool is_depthwise_;
};

}  // namespace emplace::tensorflow
