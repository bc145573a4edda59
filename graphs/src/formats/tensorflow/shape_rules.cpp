// Shapes of what works on each number, of products and of reductions.

#include "shape_rules.hpp"

#include "model/assemble.hpp"

#include <emplace/base/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>

namespace emplace::tensorflow::shapes {
namespace {

Shape broadcast(const Shape& a, const Shape& b) {
  Shape result = a.size() < b.size() ? b : a;
  const Shape& shorter = a.size() < b.size() ? a : b;
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    std::int64_t& extent = result[result.size() - 1 - i];
    const std::int64_t other = shorter[shorter.size() - 1 - i];
    if (extent != other && extent != 1 && other != 1) {
      refuse(fmt::format("shapes {} and {} do not fit", text_of(a), text_of(b)));
    }
    extent = extent == 1 ? other : extent;
  }
  return result;
}

Shape without(const Shape& shape, const Shape& axes, bool keeps) {
  std::vector<bool> is_reduced(shape.size(), false);
  for (const std::int64_t axis : axes) {
    is_reduced[axis_of(axis, shape.size())] = true;
  }
  Shape result;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (!is_reduced[i]) {
      result.push_back(shape[i]);
    } else if (keeps) {
      result.push_back(1);
    }
  }
  return result;
}

Results losses(const ShapeCall& call) { return {Shape{call.shape(0)[0]}, call.shape(0)}; }

}  // namespace

Results same(const ShapeCall& call) { return {call.shape(0)}; }

Results each_same(const ShapeCall& call) {
  Results results;
  for (const KnownTensor& input : call.inputs) {
    results.push_back(input.shape);
  }
  return results;
}

Results broadcast_all(const ShapeCall& call) {
  Shape result = call.shape(0);
  for (std::size_t i = 1; i < call.inputs.size(); ++i) {
    result = broadcast(result, call.shape(i));
  }
  return {result};
}

// The condition may be one truth value for each row.
Results select(const ShapeCall& call) { return {call.shape(1)}; }

// One of the inputs, whichever ran.
Results merge(const ShapeCall& call) {
  for (const KnownTensor& input : call.inputs) {
    if (input.shape) {
      return {input.shape, Shape{}};
    }
  }
  return {};
}

Results switch_results(const ShapeCall& call) { return {call.shape(0), call.shape(0)}; }

Results matmul(const ShapeCall& call) {
  if (call.rank(0) < 2 || call.rank(1) < 2) {
    refuse(fmt::format("expected matrices, found {} and {}", text_of(call.shape(0)),
                       text_of(call.shape(1))));
  }
  Shape a = call.shape(0);
  Shape b = call.shape(1);
  if (call.flag("transpose_a") || call.flag("adj_x")) {
    std::swap(a[a.size() - 2], a.back());
  }
  if (call.flag("transpose_b") || call.flag("adj_y")) {
    std::swap(b[b.size() - 2], b.back());
  }
  if (a.back() != b[b.size() - 2]) {
    refuse(fmt::format("matrices of {} and {} cannot be multiplied", text_of(a), text_of(b)));
  }
  Shape result = broadcast(Shape(a.begin(), a.end() - 2), Shape(b.begin(), b.end() - 2));
  result.push_back(a[a.size() - 2]);
  result.push_back(b.back());
  return {result};
}

Results einsum(const ShapeCall& call) {
  const std::string equation = text_attribute(call.node, "equation", "");
  const std::size_t arrow = equation.find("->");
  if (arrow == std::string::npos || equation.find('.') != std::string::npos) {
    return {};
  }
  std::map<char, std::int64_t> extents;
  std::size_t input = 0;
  std::size_t place = 0;
  for (const char letter : equation.substr(0, arrow) + ",") {
    if (letter == ',') {
      if (input >= call.inputs.size() || place != call.rank(input)) {
        refuse(fmt::format("the equation '{}' does not fit input {}", excerpt(equation), input));
      }
      ++input;
      place = 0;
      continue;
    }
    if (input >= call.inputs.size() || place >= call.rank(input)) {
      refuse(fmt::format("the equation '{}' does not fit input {}", excerpt(equation), input));
    }
    const std::int64_t extent = call.shape(input)[place++];
    if (extents.try_emplace(letter, extent).first->second != extent) {
      refuse(
          fmt::format("'{}' of the equation '{}' stands for two sizes", letter, excerpt(equation)));
    }
  }
  Shape result;
  for (const char letter : equation.substr(arrow + 2)) {
    const auto found = extents.find(letter);
    if (found == extents.end()) {
      refuse(fmt::format("'{}' is new in the result of the equation '{}'", excerpt({&letter, 1}),
                         excerpt(equation)));
    }
    result.push_back(found->second);
  }
  return {result};
}

// An LSTM's gates and states: x, c, h, w, ...
Results lstm_block_cell(const ShapeCall& call) { return Results(7, call.shape(1)); }

Results reduce(const ShapeCall& call) {
  return {without(call.shape(0), call.integers(1), call.flag("keep_dims"))};
}

Results arg_of(const ShapeCall& call) { return {without(call.shape(0), {call.scalar(1)}, false)}; }

Results scalar_result(const ShapeCall&) { return {Shape{}}; }

Results cross_entropy(const ShapeCall& call) {
  expect_rank(call, 0, 2);
  return losses(call);
}

Results top_k(const ShapeCall& call) {
  Shape result = call.shape(0);
  if (result.empty()) {
    refuse("expected at least 1 dimension at input 0");
  }
  result.back() = call.scalar(1);
  return {result, result};
}

}  // namespace emplace::tensorflow::shapes
