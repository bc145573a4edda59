#include "translations.hpp"

#include "model/assemble.hpp"
#include "windows.hpp"

#include <algorithm>
#include <utility>

namespace emplace::tensorflow::translations {
namespace {

// Where a result has as many extents as the input in another order: those of equal extent, which
// may be taken for each other, cost the same.
Shape guess_perm(const Shape& x, const Shape& result) {
  std::vector<bool> is_used(x.size(), false);
  Shape perm;
  for (const std::int64_t extent : result) {
    std::size_t axis = 0;
    while (axis < x.size() && (is_used[axis] || x[axis] != extent)) {
      ++axis;
    }
    if (axis < x.size()) {
      is_used[axis] = true;
    }
    perm.push_back(static_cast<std::int64_t>(axis));
  }
  return perm;
}

bool infers(const NodeCall& call) { return call.results.empty(); }

}  // namespace

// Some say the axis by an attribute, the others by an input: the first, second, third or last.
void axis(Translation& to, const NodeCall& call) {
  const std::string& op = call.node.op();
  if (op == "Pack" || op == "Unpack") {
    to.attributes = AxisAttributes{.axis = call.integer("axis", 0)};
    return;
  }
  const std::size_t place = op == "Concat" || op == "Split" ? 0
                            : op == "SplitV"                ? 2
                            : op == "ConcatV2"              ? call.inputs.size() - 1
                                                            : 1;
  to.is_guess = !call.has_integers(place);
  if (!to.is_guess) {
    to.attributes = AxisAttributes{.axis = call.scalar(place)};
  }
}

void batch_norm(Translation& to, const NodeCall& call) {
  to.name = call.flag("is_training", true) ? "batch_norm" : "batch_norm_inference";
  to.inputs[0] = channels_first(to.inputs[0], layout_of(call.node, to.inputs[0].shape.size()));
}

// Inputs are the gradient and the maps.
void batch_norm_gradient(Translation& to, const NodeCall& call) {
  for (Output& maps : to.inputs) {
    maps = channels_first(maps, layout_of(call.node, maps.shape.size()));
  }
}

void bias(Translation& to, const NodeCall& call) {
  const bool is_first = text_attribute(call.node, "data_format", "NHWC").starts_with("NC");
  to.attributes = AxisAttributes{.axis = is_first ? 1 : -1};
}

void conv(Translation& to, const NodeCall& call) {
  const MapWindows windows(call.node, to.inputs[0]);
  to.attributes = windows.conv(to.inputs[1]);
  to.inputs = {windows.maps(to.inputs[0]), windows.filters(to.inputs[1])};
  to.layout = windows.layout();
  if (!infers(call)) {
    to.results = {windows.maps(to.results[0])};
  }
}

// Inputs are the gradient of the result and the filters.
void conv_data_gradient(Translation& to, const NodeCall& call) {
  const MapWindows windows(call.node, to.results[0]);
  to.attributes = windows.conv(to.inputs[1]);
  to.inputs = {windows.maps(to.inputs[0]), windows.filters(to.inputs[1])};
  to.results = {windows.maps(to.results[0])};
}

// Inputs are the gradient of the result and the maps.
void conv_filter_gradient(Translation& to, const NodeCall& call) {
  const MapWindows windows(call.node, to.inputs[1]);
  to.attributes = windows.conv(to.results[0]);
  to.inputs = {windows.maps(to.inputs[0]), windows.maps(to.inputs[1])};
  to.results = {windows.filters(to.results[0])};
}

void einsum(Translation& to, const NodeCall& call) {
  to.attributes = EinsumAttributes{.equation = text_attribute(call.node, "equation", "")};
}

// Rows of a stored table are an embedding.
void gather(Translation& to, const NodeCall& call) {
  const Shape& table = to.inputs[0].shape;
  const Shape& result = to.results[0].shape;
  if (table.size() == 2 && call.reads_stored && !to.inputs[1].shape.empty() && !result.empty() &&
      result.back() == table[1]) {
    to.name = "embedding";
  }
}

void lrn(Translation& to, const NodeCall& call) {
  to.attributes = LrnAttributes{.size = sum({product({2, call.integer("depth_radius", 5)}), 1})};
}

void matmul(Translation& to, const NodeCall& call) {
  to.attributes = GemmAttributes{.trans_a = call.flag("transpose_a") || call.flag("adj_x"),
                                 .trans_b = call.flag("transpose_b") || call.flag("adj_y")};
}

// One number costs what a constant does.
void pair(Translation& to, const NodeCall& call) {
  if (infers(call)) {
    return;
  }
  const Shape& left = to.inputs[0].shape;
  const Shape& right = to.inputs[1].shape;
  const bool is_left = product(left) == 1;
  if (left != right && (is_left || product(right) == 1)) {
    to.name = operators::with_constant(to.name, is_left);
    to.inputs.erase(to.inputs.begin() + (is_left ? 0 : 1));
  } else if (operators::swaps(to.name, left, right, to.results[0].shape)) {
    std::swap(to.inputs[0], to.inputs[1]);
  }
}

void pool(Translation& to, const NodeCall& call) {
  const MapWindows windows(call.node, to.inputs[0]);
  to.attributes = windows.pool();
  to.inputs = {windows.maps(to.inputs[0])};
  to.layout = windows.layout();
  if (!infers(call)) {
    to.results = {windows.maps(to.results[0])};
  }
}

// The input is the gradient of the result.
void pool_gradient(Translation& to, const NodeCall& call) {
  const MapWindows windows(call.node, to.results[0]);
  to.attributes = windows.pool();
  to.inputs = {windows.maps(to.inputs[0])};
  to.results = {windows.maps(to.results[0])};
}

void reduce(Translation& to, const NodeCall& call) {
  to.is_guess = !call.has_integers(1);
  if (to.is_guess) {
    return;
  }
  ReduceAttributes attributes{.axes = call.integers(1), .keepdims = call.flag("keep_dims")};
  const Shape& x = to.inputs[0].shape;
  if (attributes.axes.empty()) {  // ours would be all
    to.name = "reshape";
    to.results = {to.inputs[0]};
    return;
  }
  for (std::int64_t& axis : attributes.axes) {
    axis = static_cast<std::int64_t>(axis_of(axis, x.size()));
  }
  std::ranges::sort(attributes.axes);
  // A mean over each channel of maps [N, H, W, C] is a pool.
  if (!infers(call) && to.name == "reduce_mean" && x.size() == 4 &&
      attributes.axes == Shape{1, 2}) {
    const MapLayout layout{.channels = 3, .first = 1, .spatial = 2};
    attributes.axes = {2, 3};
    to.inputs[0] = channels_first(to.inputs[0], layout);
    if (to.results[0].shape.size() == 4) {
      to.results[0] = channels_first(to.results[0], layout);
    }
  }
  to.attributes = std::move(attributes);
}

void resize(Translation& to, const NodeCall& call) {
  const std::string& op = call.node.op();
  to.attributes = ResizeAttributes{.mode = op.starts_with("ResizeNearest")   ? "nearest"
                                           : op.starts_with("ResizeBicubic") ? "cubic"
                                                                             : "linear"};
}

void transpose(Translation& to, const NodeCall& call) {
  to.is_guess = !call.has_integers(1);
  if (!to.is_guess) {
    to.attributes = TransposeAttributes{.perm = call.integers(1)};
  } else if (!infers(call)) {
    to.attributes =
        TransposeAttributes{.perm = guess_perm(to.inputs[0].shape, to.results[0].shape)};
  }
}

void update(Translation& to, const NodeCall& call) {
  const std::string& op = call.node.op();
  to.attributes = UpdateAttributes{.optimizer = op.ends_with("Adam")       ? "adam"
                                                : op.ends_with("Momentum") ? "momentum"
                                                : op.ends_with("RMSProp")  ? "rmsprop"
                                                                           : "sgd"};
}

}  // namespace emplace::tensorflow::translations
