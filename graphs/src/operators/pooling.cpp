// Pooling: windows over maps [N, C, ...], each of which becomes one number.

#include "gradient_step.hpp"
#include "model/assemble.hpp"
#include "operators.hpp"

#include <emplace/base/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace emplace::operators {
namespace {

using enum OpClass;

constexpr std::string_view kPool =
    "[N, C, H, W, R, S, stride, P, Q]: N maps of C x H x W, windows of R x S, results P x Q";
constexpr std::string_view kWindows = "[elements of the result, elements under a window]";

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

std::vector<Output> infer_pool(const Call& call) {
  const auto& attributes = call.as<PoolAttributes>();
  const Shape& x = call.input(0).shape;
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
  return {make_output(std::move(y), call.input(0).type)};
}

std::int64_t window_of(const Call& call) { return product(call.as<PoolAttributes>().kernel_shape); }

// A comparison for each element of a window but the first.
void count_max(Op& op, const Call& call) {
  count_pooling(op, "max_pool", call.as<PoolAttributes>(), call.input(0).shape, call.result().shape,
                window_of(call) - 1, "");
}

// A sum of the elements of a window, and a quotient.
void count_average(Op& op, const Call& call) {
  count_pooling(op, "avg_pool", call.as<PoolAttributes>(), call.input(0).shape, call.result().shape,
                window_of(call), "");
}

void count_lp(Op& op, const Call& call) {
  count_pooling(op, "lp_pool", call.as<PoolAttributes>(), call.input(0).shape, call.result().shape,
                window_of(call), "");
}

// Each result's gradient, the first input, goes to the largest element of its window, which is
// searched again.
void count_max_gradient(Op& op, const Call& call) {
  count_pooling(op, "max_pool", call.as<PoolAttributes>(), call.result().shape, call.input(0).shape,
                window_of(call) + 1, "_backward");
}

// Each result's gradient, divided by the window's size, is added to every element of its window.
void count_average_gradient(Op& op, const Call& call) {
  count_pooling(op, "avg_pool", call.as<PoolAttributes>(), call.result().shape, call.input(0).shape,
                window_of(call) + 1, "_backward");
}

Attributes pool_from_key(const Op& op) {
  const Shape& key = op.shape;
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

// --- Gradients ---

void max_pool(GradientStep& step) {
  step.give_by_operator(0, "max_pool_backward", "grad",
                        {step.gradient(), step.input(0), step.output(0)});
}

void avg_pool(GradientStep& step) {
  step.give_by_operator(0, "avg_pool_backward", "grad", {step.gradient()});
}

// --- Rows ---

constexpr Operator pool(std::string_view name, std::string_view summary, Count count, Infer infer,
                        Gradient gradient = nullptr) {
  return {.kind = {name, kPooling, true, kPool, summary},
          .infer = infer,
          .count = count,
          .gradient = gradient,
          .from_key = pool_from_key};
}

constexpr Operator any_pool(std::string_view name, std::string_view summary, Gradient gradient) {
  return {.kind = {name, kPooling, true, kWindows, summary},
          .gradient = gradient,
          .from_key = pool_from_key,
          .only_imported = true};
}

constexpr auto kPoolings = [] {
  Operator lp_pool = pool("lp_pool", "norm under each window", count_lp, infer_pool);
  lp_pool.only_imported = true;
  return std::array{
      pool("avg_pool", "mean under each window", count_average, infer_pool, avg_pool),
      pool("avg_pool_backward", "gradient of avg_pool", count_average_gradient, nullptr),
      any_pool("avg_pool_nd", "mean under windows of any dimensions", avg_pool),
      any_pool("avg_pool_nd_backward", "gradient of avg_pool_nd", nullptr),
      lp_pool,
      any_pool("lp_pool_nd", "norm under windows of any dimensions", nullptr),
      pool("max_pool", "largest element under each window", count_max, infer_pool, max_pool),
      in_kernels(2, pool("max_pool_backward", "gradient of max_pool", count_max_gradient, nullptr)),
      any_pool("max_pool_nd", "largest under windows of any dimensions", max_pool),
      in_kernels(2, any_pool("max_pool_nd_backward", "gradient of max_pool_nd", nullptr)),
      // Each number of a region is a mean of four places, each of which is one of four numbers.
      Operator{.kind = {"roi_align", kPooling, true, kElements, "regions of a map in one size"},
               .count = count_results,
               .flops = 28,
               .only_imported = true},
  };
}();

}  // namespace

std::span<const Operator> poolings() { return kPoolings; }

void count_global_mean(Op& op, const Shape& maps, const Shape& result) {
  const std::array<std::int64_t, 2> whole = {1, 1};
  PoolAttributes attributes = adaptive_pool(std::span(maps).subspan(2), whole);
  count_pooling(op, "avg_pool", attributes, maps, result, product(attributes.kernel_shape), "");
  op.attributes = std::move(attributes);
}

}  // namespace emplace::operators
