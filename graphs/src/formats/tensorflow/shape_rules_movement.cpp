// Shapes of what joins, cuts and reorders.

#include "model/assemble.hpp"
#include "shape_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace emplace::tensorflow::shapes {
namespace {

Shape gathered(const Shape& table, const Shape& rows, std::size_t axis, std::size_t batch) {
  if (batch > axis || batch > rows.size()) {
    fail_shapes("batch_dims does not fit the shapes of the inputs");
  }
  Shape result(table.begin(), table.begin() + static_cast<std::ptrdiff_t>(axis));
  result.insert(result.end(), rows.begin() + static_cast<std::ptrdiff_t>(batch), rows.end());
  result.insert(result.end(), table.begin() + static_cast<std::ptrdiff_t>(axis) + 1, table.end());
  return result;
}

}  // namespace

Range range_of(const NodeCall& call, std::size_t i, std::int64_t extent) {
  const auto has_bit = [&](const char* mask) { return ((call.integer(mask, 0) >> i) & 1) != 0; };
  const std::int64_t step = call.integers(3)[i];
  if (step == 0) {
    fail_shapes("expected steps other than 0");
  }
  const auto place = [&](std::int64_t index) {
    index = index < 0 ? std::max(index, -extent - 1) + extent : index;
    return step > 0 ? std::clamp<std::int64_t>(index, 0, extent)
                    : std::clamp<std::int64_t>(index, -1, extent - 1);
  };
  if (has_bit("shrink_axis_mask")) {
    const std::int64_t index = call.integers(1)[i];
    const std::int64_t begin = index < 0 ? index + extent : index;
    if (begin < 0 || begin >= extent) {
      fail_shapes(fmt::format("index {} is not within a dimension of {}", index, extent));
    }
    return {.begin = begin, .count = 1};
  }
  const std::int64_t begin =
      has_bit("begin_mask") ? (step > 0 ? 0 : extent - 1) : place(call.integers(1)[i]);
  const std::int64_t end =
      has_bit("end_mask") ? (step > 0 ? extent : -1) : place(call.integers(2)[i]);
  const std::int64_t span = step > 0 ? end - begin : begin - end;
  const std::int64_t stride = step > 0 ? step : -std::max(step, -extent - 1);
  return {.begin = begin,
          .step = step,
          .count = span <= 0 ? 0 : (span - 1) / std::max<std::int64_t>(stride, 1) + 1};
}

Results shape_of(const NodeCall& call) { return {Shape{std::ssize(call.shape(0))}}; }

Results shapes_of(const NodeCall& call) {
  Results results;
  for (const KnownTensor& input : call.inputs) {
    results.push_back(input.shape ? std::optional(Shape{std::ssize(*input.shape)}) : std::nullopt);
  }
  return results;
}

Results reshape(const NodeCall& call) {
  Shape result = call.integers(1);
  const std::int64_t elements = product(call.shape(0));
  const auto open = std::ranges::find(result, -1);
  if (open != result.end()) {
    *open = 1;
    const std::int64_t others = product(result);
    if (others < 1 || elements % others != 0) {
      fail_shapes(
          fmt::format("{} cannot become {}", text_of(call.shape(0)), text_of(call.integers(1))));
    }
    *open = elements / others;
  }
  if (product(result) != elements) {
    fail_shapes(
        fmt::format("{} cannot become {}", text_of(call.shape(0)), text_of(call.integers(1))));
  }
  return {result};
}

Results squeeze(const NodeCall& call) {
  const Shape& shape = call.shape(0);
  std::vector<bool> is_named(shape.size(), false);
  const Shape axes = integers_attribute(call.node, "squeeze_dims");
  for (const std::int64_t axis : axes) {
    const std::size_t i = axis_of(axis, shape.size());
    if (shape[i] != 1) {
      fail_shapes(fmt::format("dimension {} of {} cannot be squeezed", axis, text_of(shape)));
    }
    is_named[i] = true;
  }
  Shape result;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (axes.empty() ? shape[i] != 1 : !is_named[i]) {
      result.push_back(shape[i]);
    }
  }
  return {result};
}

Results expand_dims(const NodeCall& call) {
  Shape result = call.shape(0);
  const std::size_t axis = axis_of(call.scalar(1), result.size() + 1);
  result.insert(result.begin() + static_cast<std::ptrdiff_t>(axis), 1);
  return {result};
}

Results pack(const NodeCall& call) {
  Shape result = call.shape(0);
  if (!std::ranges::all_of(call.inputs, [&](const KnownTensor& v) { return *v.shape == result; })) {
    fail_shapes("expected all inputs to have the same shape");
  }
  const std::size_t axis = axis_of(call.integer("axis", 0), result.size() + 1);
  result.insert(result.begin() + static_cast<std::ptrdiff_t>(axis), std::ssize(call.inputs));
  return {result};
}

Results unpack(const NodeCall& call) {
  Shape result = call.shape(0);
  const std::size_t axis = axis_of(call.integer("axis", 0), result.size());
  const std::int64_t parts = result[axis];
  if (parts > kMaxElements) {
    return {};
  }
  result.erase(result.begin() + static_cast<std::ptrdiff_t>(axis));
  return Results(static_cast<std::size_t>(parts), result);
}

Results split(const NodeCall& call) {
  Shape result = call.shape(1);
  const std::int64_t parts = call.integer("num_split", 1);
  const std::size_t axis = axis_of(call.scalar(0), result.size());
  if (parts > kMaxElements) {
    return {};
  }
  result[axis] = quotient(result[axis], parts);
  return Results(static_cast<std::size_t>(parts), result);
}

Results split_v(const NodeCall& call) {
  const Shape& whole = call.shape(0);
  Shape sizes = call.integers(1);
  const std::size_t axis = axis_of(call.scalar(2), whole.size());
  const auto open = std::ranges::find(sizes, -1);
  if (open != sizes.end()) {
    *open = whole[axis];
    for (const std::int64_t size : call.integers(1)) {
      if (size < -1 || size > whole[axis]) {
        fail_shapes(
            fmt::format("parts of {} do not fit {}", text_of(call.integers(1)), text_of(whole)));
      }
      *open -= std::max<std::int64_t>(size, 0);
    }
  }
  Results results;
  for (const std::int64_t size : sizes) {
    Shape part = whole;
    part[axis] = size;
    results.emplace_back(part);
  }
  return results;
}

Results slice(const NodeCall& call) {
  const Shape& begin = call.integers(1);
  Shape result = call.integers(2);
  if (begin.size() != call.rank(0) || result.size() != call.rank(0)) {
    fail_shapes(
        fmt::format("a block of {} does not fit {}", text_of(result), text_of(call.shape(0))));
  }
  for (std::size_t i = 0; i < result.size(); ++i) {
    const std::int64_t rest = call.shape(0)[i] - std::max<std::int64_t>(begin[i], 0);
    result[i] = result[i] == -1 ? rest : result[i];
    if (begin[i] < 0 || result[i] < 0 || result[i] > rest) {
      fail_shapes(fmt::format("a block of {} at {} is not within {}", text_of(call.integers(2)),
                              text_of(begin), text_of(call.shape(0))));
    }
  }
  return {result};
}

Results strided_slice(const NodeCall& call) {
  const Shape& shape = call.shape(0);
  const std::size_t entries = call.integers(1).size();
  if (entries != call.integers(2).size() || entries != call.integers(3).size() ||
      entries > kMaxRank) {
    fail_shapes("expected begins, ends and steps of the same number of dimensions");
  }
  const auto has_bit = [&](const char* mask, std::size_t i) {
    return ((call.integer(mask, 0) >> i) & 1) != 0;
  };
  std::size_t num_taken = 0;  // dimensions that entries other than the ellipsis are of
  for (std::size_t i = 0; i < entries; ++i) {
    num_taken += !has_bit("new_axis_mask", i) && !has_bit("ellipsis_mask", i) ? 1 : 0;
  }
  if (num_taken > shape.size()) {
    fail_shapes(fmt::format("{} entries do not fit {}", entries, text_of(shape)));
  }
  Shape result;
  std::size_t d = 0;
  for (std::size_t i = 0; i < entries; ++i) {
    if (has_bit("ellipsis_mask", i)) {
      for (std::size_t rest = shape.size() - num_taken; rest > 0; --rest) {
        result.push_back(shape[d++]);
      }
      num_taken = shape.size();  // a second ellipsis takes nothing
    } else if (has_bit("new_axis_mask", i)) {
      result.push_back(1);
    } else {
      const Range range = range_of(call, i, shape[d++]);
      if (!has_bit("shrink_axis_mask", i)) {
        result.push_back(range.count);
      }
    }
  }
  for (; d < shape.size(); ++d) {
    result.push_back(shape[d]);
  }
  return {result};
}

Results gather(const NodeCall& call) {
  return {gathered(call.shape(0), call.shape(1), axis_of(0, call.rank(0)), 0)};
}

Results gather_v2(const NodeCall& call) {
  const std::int64_t batch = call.integer("batch_dims", 0);
  return {gathered(call.shape(0), call.shape(1), axis_of(call.scalar(2), call.rank(0)),
                   batch == 0 ? 0 : axis_of(batch, call.rank(1) + 1))};
}

Results gather_nd(const NodeCall& call) {
  const Shape& indices = call.shape(1);
  if (indices.empty() || std::cmp_greater(indices.back(), call.rank(0))) {
    fail_shapes(
        fmt::format("indices of {} do not fit {}", text_of(indices), text_of(call.shape(0))));
  }
  Shape result(indices.begin(), indices.end() - 1);
  result.insert(result.end(), call.shape(0).begin() + indices.back(), call.shape(0).end());
  return {result};
}

Results pad(const NodeCall& call) {
  Shape result = call.shape(0);
  const Shape& pads = call.integers(1);
  if (pads.size() != 2 * result.size()) {
    fail_shapes(fmt::format("{} paddings do not fit {}", pads.size(), text_of(result)));
  }
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i] = sum({result[i], pads[2 * i], pads[2 * i + 1]});
  }
  return {result};
}

Results tile(const NodeCall& call) {
  Shape result = call.shape(0);
  if (call.integers(1).size() != result.size()) {
    fail_shapes(
        fmt::format("{} multiples do not fit {}", call.integers(1).size(), text_of(result)));
  }
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i] = product({result[i], call.integers(1)[i]});
  }
  return {result};
}

Results range(const NodeCall& call) {
  const std::int64_t begin = call.scalar(0);
  const std::int64_t end = call.scalar(1);
  const std::int64_t step = call.scalar(2);
  std::int64_t span = 0;
  // The least number has no opposite, which a step of -1 would give.
  if (step == 0 || __builtin_sub_overflow(end, begin, &span) ||
      span == std::numeric_limits<std::int64_t>::min()) {
    fail_shapes("expected a step other than 0, and limits less than 2^63 apart");
  }
  if (span == 0 || (span > 0) != (step > 0)) {
    return {Shape{0}};
  }
  return {Shape{span / step + (span % step != 0 ? 1 : 0)}};
}

Results one_hot(const NodeCall& call) {
  Shape result = call.shape(0);
  const std::size_t axis = axis_of(call.integer("axis", -1), result.size() + 1);
  result.insert(result.begin() + static_cast<std::ptrdiff_t>(axis), call.scalar(1));
  return {result};
}

}  // namespace emplace::tensorflow::shapes
