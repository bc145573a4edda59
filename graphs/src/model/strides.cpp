#include "strides.hpp"

#include "assemble.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <span>

namespace emplace {
namespace {

using Shape = std::vector<std::int64_t>;

// The axes in the order of memory, outermost first.
Shape axes_in_memory(const Shape& strides) {
  Shape axes(strides.size());
  std::iota(axes.begin(), axes.end(), std::int64_t{0});
  std::ranges::stable_sort(axes, std::greater(), [&](std::int64_t axis) {
    return strides[static_cast<std::size_t>(axis)];
  });
  return axes;
}

}  // namespace

Shape contiguous_strides(const Shape& shape) {
  Shape strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) {
    strides[i - 1] = strides[i] * std::max<std::int64_t>(shape[i], 1);
  }
  return strides;
}

// Axes that lie in memory as one do so in the new shape; each such run is cut anew.
std::optional<Shape> strides_in_shape(const Shape& shape, const Shape& strides, const Shape& to) {
  if (shape.empty() || product(to) == 0) {
    return contiguous_strides(to);
  }
  Shape result(to.size());
  std::size_t left = to.size();  // axes of `to` that have no stride yet
  std::int64_t innermost = strides.back();
  std::int64_t run = 1;   // elements of the run of axes
  std::int64_t done = 1;  // and of those of the new axes that it became
  for (std::size_t i = shape.size(); i-- > 0;) {
    run *= shape[i];
    if (i > 0 && (shape[i - 1] == 1 || strides[i - 1] == product({run, innermost}))) {
      continue;  // the next axis belongs to the run
    }
    while (left > 0 && (done < run || to[left - 1] == 1)) {
      --left;
      result[left] = product({done, innermost});
      done *= to[left];
    }
    if (done != run) {
      return std::nullopt;
    }
    innermost = i > 0 ? strides[i - 1] : 0;
    run = 1;
    done = 1;
  }
  return result;
}

bool is_batch_of_matrices(const Shape& shape, const Shape& strides) {
  if (shape.size() < 4) {
    return true;
  }
  const std::size_t rows = shape.size() - 2;
  const Shape batch{product(std::span(shape).first(rows)), shape[rows], shape.back()};
  return strides_in_shape(shape, strides, batch).has_value();
}

Shape normal_strides(const Shape& shape, Shape strides) {
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 1) {
      strides[i] = i + 1 < shape.size() ? product({strides[i + 1], shape[i + 1]}) : 1;
    }
  }
  return strides;
}

Shape dense_strides(const Shape& shape, const Shape& strides) {
  const Shape normal = normal_strides(shape, strides);
  if (std::ranges::find(normal, 0) != normal.end()) {
    return contiguous_strides(shape);
  }
  const Shape axes = axes_in_memory(normal);
  Shape dense(shape.size());
  std::int64_t stride = 1;
  for (std::size_t i = axes.size(); i-- > 0;) {
    const auto axis = static_cast<std::size_t>(axes[i]);
    dense[axis] = stride;
    stride *= std::max<std::int64_t>(shape[axis], 1);
  }
  return dense;
}

std::optional<StoredOrder> stored_order(const Shape& shape, const Shape& strides) {
  const Shape normal = normal_strides(shape, strides);
  const Shape axes = axes_in_memory(normal);
  if (std::ranges::is_sorted(axes) || std::ranges::find(normal, 0) != normal.end()) {
    return std::nullopt;
  }
  StoredOrder order{.perm = Shape(axes.size())};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(axes[i]);
    order.shape.push_back(shape[axis]);
    order.perm[axis] = static_cast<std::int64_t>(i);
  }
  return order;
}

}  // namespace emplace
