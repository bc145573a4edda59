// The work of layers with weights, windows or channels.

#include "model/assemble.hpp"
#include "operators/operators.hpp"
#include "windows.hpp"
#include "work_rules.hpp"

#include <emplace/base/error.hpp>
#include <emplace/graphs/op_kind.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <vector>

namespace emplace::tensorflow::work {
namespace {

// The number of elements of each channel.
std::int64_t per_channel(const Shape& maps, const MapLayout& layout) {
  return product(std::span(maps).subspan(layout.first, layout.spatial));
}

Shape bias_shape(const Work& work, const Shape& value) {
  if (value.size() < 2) {
    return value;
  }
  if (text_attribute(work.node, "data_format", "NHWC").starts_with("NC")) {
    return {value[0], value[1], product(std::span(value).subspan(2))};
  }
  return {product(std::span(value).first(value.size() - 1)), value.back()};
}

}  // namespace

void conv(Work& work) {
  const MapWindows windows(work.node, work.shape(0));
  operators::count(work.op, "conv", windows.conv(work.shape(1)),
                   {windows.from_node(work.shape(0)), windows.filters(work.shape(1))},
                   windows.from_node(work.result()));
}

// Inputs are the sizes of the maps, the filters and the gradient of the result.
void conv_backward_data(Work& work) {
  const MapWindows windows(work.node, work.result());
  operators::count(work.op, "conv_backward_data", windows.conv(work.shape(1)),
                   {windows.from_node(work.shape(2)), windows.filters(work.shape(1))},
                   windows.from_node(work.result()));
}

// Inputs are the maps, the sizes of the filters and the gradient of the result.
void conv_backward_filter(Work& work) {
  const MapWindows windows(work.node, work.shape(0));
  operators::count(work.op, "conv_backward_filter", windows.conv(work.result()),
                   {windows.from_node(work.shape(2)), windows.from_node(work.shape(0))},
                   windows.filters(work.result()));
}

// The input is read twice: for the statistics, and to be normalized.
void batch_norm(Work& work) {
  const Shape& maps = work.shape(0);
  const MapLayout layout = layout_of(work.node, maps.size());
  work.op.shape = {maps[0], maps[layout.channels], per_channel(maps, layout)};
  work.op.flops = product({5, product(maps)});
  work.op.bytes_read = sum({work.op.bytes_read, work.inputs[0]->bytes});
}

// Inputs are the gradient, the maps and the scale.
void batch_norm_backward(Work& work) {
  const Shape& maps = work.shape(1);
  const MapLayout layout = layout_of(work.node, maps.size());
  work.op.shape = {maps[0], maps[layout.channels], per_channel(maps, layout)};
  work.op.flops = product({9, product(maps)});
  work.op.bytes_read = sum({work.op.bytes_read, work.inputs[0]->bytes, work.inputs[1]->bytes});
}

void bias_add(Work& work) {
  work.op.shape = bias_shape(work, work.result());
  work.op.flops = product(work.result());
}

void bias_add_backward(Work& work) {
  work.op.shape = bias_shape(work, work.shape(0));
  work.op.flops = std::max<std::int64_t>(product(work.shape(0)) - product(work.result()), 0);
}

void pool(Work& work) {
  const MapWindows windows(work.node, work.shape(0));
  operators::count(work.op, work.row.kind, windows.pool(), {windows.from_node(work.shape(0))},
                   windows.from_node(work.result()));
}

// Inputs are the maps, the results and their gradient.
void max_pool_backward(Work& work) {
  const MapWindows windows(work.node, work.shape(0));
  operators::count(work.op, "max_pool_backward", windows.pool(), {windows.from_node(work.shape(2))},
                   windows.from_node(work.shape(0)));
}

// Inputs are the sizes of the maps and the gradient.
void avg_pool_backward(Work& work) {
  const MapWindows windows(work.node, work.result());
  operators::count(work.op, "avg_pool_backward", windows.pool(), {windows.from_node(work.shape(1))},
                   windows.from_node(work.result()));
}

// Sums of squares of 2 r + 1 neighbours, then scale, offset, power and quotient.
void local_response(Work& work) {
  const std::int64_t radius = integer_attribute(work.node, "depth_radius", 5);
  work.op.shape = work.result();
  work.op.flops = product({product(work.result()), sum({product({2, radius}), 5})});
}

}  // namespace emplace::tensorflow::work
