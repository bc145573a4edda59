// The work of layers with weights, windows or channels.

#include "model/assemble.hpp"
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

// Strides and dilation of a node's windows, from [.., U, V, ..].
std::array<std::int64_t, 2> pair_of(const proto::NodeDef& node, const std::string& name,
                                    const MapLayout& layout) {
  const Shape list = integers_attribute(node, name);
  return list.size() == 4 ? std::array{list[layout.first], list[layout.first + 1]}
                          : std::array<std::int64_t, 2>{1, 1};
}

// Counts a convolution of `maps` with `filters`, [R, S, C / groups, K], that makes `result`.
void count_filters(Work& work, std::string_view suffix, const Shape& maps, const Shape& filters,
                   const Shape& result) {
  Op& op = work.op;
  const MapLayout layout = layout_of(work.node, maps.size());
  if (filters.size() != maps.size() || result.size() != maps.size()) {
    throw Error(ErrorCode::kFormat,
                fmt::format("expected filters and results of {} dimensions", maps.size()));
  }
  op.flops = product({2, product(result), product(std::span(filters).first(filters.size() - 1))});
  op.shape = result;
  const std::int64_t channels = maps[layout.channels];
  const auto [down, across] = pair_of(work.node, "dilations", layout);
  if (maps.size() != 4 || down != across) {
    op.kind = fmt::format("conv{}", suffix);
  } else if (filters[2] != channels) {
    op.kind = fmt::format("grouped_conv{}", suffix);
  } else {
    const auto [u, v] = pair_of(work.node, "strides", layout);
    op.kind = fmt::format("conv2d{}", suffix);
    op.shape = {maps[0],    channels,   maps[layout.first],   maps[layout.first + 1],
                filters[3], filters[0], filters[1],           u,
                v,          down,       result[layout.first], result[layout.first + 1]};
  }
}

// Filters are [R, S, C, multiplier].
void count_depthwise(Work& work, std::string_view suffix, const Shape& maps, const Shape& filters,
                     const Shape& result) {
  Op& op = work.op;
  const MapLayout layout = layout_of(work.node, maps.size());
  if (maps.size() != 4 || filters.size() != 4 || result.size() != 4) {
    throw Error(ErrorCode::kFormat, "expected maps, filters and results of 4 dimensions");
  }
  op.flops = product({2, product(result), filters[0], filters[1]});
  op.shape = result;
  const auto [down, across] = pair_of(work.node, "dilations", layout);
  if (filters[3] != 1 || down != 1 || across != 1) {
    op.kind = fmt::format("grouped_conv{}", suffix);
    return;
  }
  const auto [u, v] = pair_of(work.node, "strides", layout);
  op.kind = fmt::format("depthwise_conv2d{}", suffix);
  op.shape = {
      maps[0], filters[2], maps[layout.first],   maps[layout.first + 1],  filters[0], filters[1],
      u,       v,          result[layout.first], result[layout.first + 1]};
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

// Windows over `maps`; `extra` operations more than numbers in the window for each of `counted`.
void count_windows(Work& work, const Shape& maps, const Shape& result, std::int64_t counted,
                   std::int64_t extra) {
  const MapLayout layout = layout_of(work.node, maps.size());
  const Shape window = integers_attribute(work.node, "ksize");
  work.op.flops = product({counted, sum({product(window), extra})});
  work.op.shape = result;
  const auto [u, v] = pair_of(work.node, "strides", layout);
  if (maps.size() == 4 && window.size() == 4 && result.size() == 4 && u == v) {
    work.op.shape = {maps[0],
                     maps[layout.channels],
                     maps[layout.first],
                     maps[layout.first + 1],
                     window[layout.first],
                     window[layout.first + 1],
                     u,
                     result[layout.first],
                     result[layout.first + 1]};
  } else {
    work.op.kind = in_small_letters(work.node.op());
  }
}

}  // namespace

void conv(Work& work) { count_filters(work, "", work.shape(0), work.shape(1), work.result()); }

// Inputs are the sizes of the maps, the filters and the gradient of the result.
void conv_backward_data(Work& work) {
  count_filters(work, "_backward_data", work.result(), work.shape(1), work.shape(2));
}

// Inputs are the maps, the sizes of the filters and the gradient of the result.
void conv_backward_filter(Work& work) {
  count_filters(work, "_backward_filter", work.shape(0), work.result(), work.shape(2));
}

void depthwise(Work& work) {
  count_depthwise(work, "", work.shape(0), work.shape(1), work.result());
}

void depthwise_backward_data(Work& work) {
  count_depthwise(work, "_backward_data", work.result(), work.shape(1), work.shape(2));
}

void depthwise_backward_filter(Work& work) {
  count_depthwise(work, "_backward_filter", work.shape(0), work.result(), work.shape(2));
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

void max_pool(Work& work) {
  count_windows(work, work.shape(0), work.result(), product(work.result()), -1);
}

void avg_pool(Work& work) {
  count_windows(work, work.shape(0), work.result(), product(work.result()), 0);
}

// Inputs are the maps, the results and their gradient.
void max_pool_backward(Work& work) {
  count_windows(work, work.shape(0), work.shape(2), product(work.shape(2)), 1);
}

// Inputs are the sizes of the maps and the gradient.
void avg_pool_backward(Work& work) {
  count_windows(work, work.result(), work.shape(1), product(work.shape(1)), 1);
}

// Sums of squares of 2 r + 1 neighbours, then scale, offset, power and quotient.
void local_response(Work& work) {
  const std::int64_t radius = integer_attribute(work.node, "depth_radius", 5);
  work.op.shape = work.result();
  work.op.flops = product({product(work.result()), sum({product({2, radius}), 5})});
}

}  // namespace emplace::tensorflow::work
