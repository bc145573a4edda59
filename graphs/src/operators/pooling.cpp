// Pooling: windows over maps [N, C, ...], each of which becomes one number.

#include "model/assemble.hpp"
#include "operators.hpp"

#include <emplace/base/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace emplace::operators {
namespace {

// Sets what `op` is, with `flops` for each window. The key of square steps over two dimensions, for
// which libraries have kernels, is [N, C, H, W, R, S, stride, P, Q]; that of others is [results,
// elements of a window]. One dimension is a map of height 1.
void count_pooling(Op& op, std::string_view kind, const PoolAttributes& attributes,
                   const Shape& maps, const Shape& results, std::int64_t flops,
                   std::string_view pass) {
  if (maps.size() < 2 || maps.size() < results.size()) {
    throw Error(ErrorCode::kFormat,
                fmt::format("expected maps [N, C, ...], found [{}]", fmt::join(maps, ", ")));
  }
  const std::int64_t windows = product(results);
  op.flops = product({windows, std::max<std::int64_t>(flops, 0)});
  const Shape x = as_maps(maps);
  Shape y = results;
  y.resize(maps.size(), 1);  // a mean over whole maps
  y = as_maps(std::move(y));
  Shape kernel = attributes.kernel_shape;
  const bool is_line = maps.size() == 3;
  if (is_line) {
    kernel.insert(kernel.begin(), 1);
  }
  const auto& [strides, dilations, pads] = attributes.window;
  const auto are_alike = [](const Shape& list) {
    return list.empty() || std::ranges::count(list, list[0]) == std::ssize(list);
  };
  const bool is_dense = std::ranges::all_of(dilations, [](auto entry) { return entry == 1; });
  if (x.size() != 4 || kernel.size() != 2 || !are_alike(strides) || !is_dense) {
    op.kind = fmt::format("{}_nd{}", kind, pass);
    op.shape = {windows, product(attributes.kernel_shape)};
    return;
  }
  op.kind = fmt::format("{}{}", kind, pass);
  op.shape = {x[0], x[1], x[2], x[3], kernel[0], kernel[1], strides.empty() ? 1 : strides[0],
              y[2], y[3]};
}

std::vector<Output> infer_pool(const Attributes& any, Tensors inputs) {
  const auto& attributes = std::get<PoolAttributes>(any);
  const Shape& x = inputs[0].shape;
  if (x.size() < 3 || attributes.kernel_shape.size() + 2 != x.size()) {
    throw Error(
        ErrorCode::kFormat,
        fmt::format("expected maps of {} dimensions for a window of {}, found {}",
                    attributes.kernel_shape.size() + 2, attributes.kernel_shape.size(), x.size()));
  }
  Shape y{x[0], x[1]};
  const Shape behind = places(std::span(x).subspan(2), attributes.kernel_shape, attributes.window,
                              attributes.ceil_mode);
  y.insert(y.end(), behind.begin(), behind.end());
  return {make_output(std::move(y), inputs[0].type)};
}

std::int64_t window_of(const Attributes& attributes) {
  return product(std::get<PoolAttributes>(attributes).kernel_shape);
}

// A comparison for each element of a window but the first.
void count_max(Op& op, const Attributes& attributes, Tensors inputs, Tensors results) {
  count_pooling(op, "max_pool", std::get<PoolAttributes>(attributes), inputs[0].shape,
                results[0].shape, window_of(attributes) - 1, "");
}

// A sum of the elements of a window, and a quotient.
void count_average(Op& op, const Attributes& attributes, Tensors inputs, Tensors results) {
  count_pooling(op, "avg_pool", std::get<PoolAttributes>(attributes), inputs[0].shape,
                results[0].shape, window_of(attributes), "");
}

void count_lp(Op& op, const Attributes& attributes, Tensors inputs, Tensors results) {
  count_pooling(op, "lp_pool", std::get<PoolAttributes>(attributes), inputs[0].shape,
                results[0].shape, window_of(attributes), "");
}

// Each result's gradient, the first input, goes to the largest element of its window, which is
// searched again.
void count_max_gradient(Op& op, const Attributes& attributes, Tensors inputs, Tensors results) {
  count_pooling(op, "max_pool", std::get<PoolAttributes>(attributes), results[0].shape,
                inputs[0].shape, window_of(attributes) + 1, "_backward");
}

// Each result's gradient, divided by the window's size, is added to every element of its window.
void count_average_gradient(Op& op, const Attributes& attributes, Tensors inputs, Tensors results) {
  count_pooling(op, "avg_pool", std::get<PoolAttributes>(attributes), results[0].shape,
                inputs[0].shape, window_of(attributes) + 1, "_backward");
}

constexpr std::array kPoolings = {
    Operator{"avg_pool", infer_pool, count_average},
    Operator{"avg_pool_backward", nullptr, count_average_gradient},
    Operator{"lp_pool", infer_pool, count_lp},
    Operator{"max_pool", infer_pool, count_max},
    Operator{"max_pool_backward", nullptr, count_max_gradient},
};

}  // namespace

std::span<const Operator> poolings() { return kPoolings; }

std::optional<Attributes> pooling_from_key(std::string_view kind, const Shape& key) {
  static constexpr std::string_view kForward[] = {"avg_pool", "lp_pool", "max_pool"};
  for (const std::string_view suffix : {"_backward", "_nd"}) {
    kind.remove_suffix(kind.ends_with(suffix) ? suffix.size() : 0);
  }
  if (std::ranges::find(kForward, kind) == std::end(kForward)) {
    return std::nullopt;
  }
  PoolAttributes attributes;
  if (key.size() == 9) {  // [N, C, H, W, R, S, stride, P, Q]
    const std::span all(key);
    attributes.kernel_shape = {key[4], key[5]};
    attributes.window = {.strides = {key[6], key[6]}, .dilations = {1, 1}};
    attributes.window.pads =
        pads_for(all.subspan(2, 2), all.subspan(4, 2), attributes.window, all.last(2));
  } else if (key.size() == 2) {  // [results, elements of a window]
    attributes.kernel_shape = {key[1]};
  }
  return attributes;
}

}  // namespace emplace::operators
