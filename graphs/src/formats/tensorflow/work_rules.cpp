// The work on each number by itself, of products, and of what moves numbers.

#include "work_rules.hpp"

#include "model/assemble.hpp"

#include <emplace/base/error.hpp>
#include <emplace/graphs/op_kind.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <vector>

namespace emplace::tensorflow::work {

std::string in_small_letters(std::string_view op) {
  std::string kind(op);
  std::ranges::transform(kind, kind.begin(), [](unsigned char letter) {
    return static_cast<char>(std::tolower(letter));
  });
  return kind;
}

void per_result(Work& work) {
  const std::int64_t elements = product(work.result());
  work.op.flops = product({work.row.flops, elements});
  if (op_class_of(work.op.kind) == OpClass::kElementwise) {
    work.op.shape = {elements};
  } else {
    work.op.shape = work.result();
  }
}

void per_input(Work& work) {
  work.op.shape = work.result();
  work.op.flops = product({work.row.flops, product(work.shape(0))});
}

void matmul(Work& work) {
  const Shape& a = work.shape(0);
  const Shape& result = work.result();
  if (a.size() < 2 || result.size() < 2) {
    throw Error(ErrorCode::kFormat, "expected matrices");
  }
  const bool is_transposed =
      flag_attribute(work.node, "transpose_a", false) || flag_attribute(work.node, "adj_x", false);
  const std::int64_t k = a[a.size() - (is_transposed ? 2 : 1)];
  const std::int64_t m = result[result.size() - 2];
  const std::int64_t n = result.back();
  const std::int64_t batch = product(std::span(result).first(result.size() - 2));
  work.op.kind = result.size() == 2 ? "matmul" : "batch_matmul";
  work.op.shape = result.size() == 2 ? Shape{m, n, k} : Shape{batch, m, n, k};
  work.op.flops = product({2, batch, m, n, k});
}

// Letters of both sides and the result are a batch, those of both sides only are summed over.
void einsum(Work& work) {
  const std::string equation = text_attribute(work.node, "equation", "");
  const std::size_t arrow = equation.find("->");
  const std::size_t comma = equation.find(',');
  if (arrow == std::string::npos || equation.find('.') != std::string::npos ||
      work.inputs.size() > 2 || (comma == std::string::npos) != (work.inputs.size() == 1)) {
    throw Error(ErrorCode::kUnsupported,
                fmt::format("the equation '{}' is not supported; expected one or two inputs, a "
                            "result and no dots",
                            excerpt(equation)));
  }
  work.op.shape = work.result();
  if (work.inputs.size() == 1) {
    work.op.kind = "einsum";
    work.op.flops = product(work.shape(0));
    return;
  }
  const std::string left = equation.substr(0, comma);
  const std::string right = equation.substr(comma + 1, arrow - comma - 1);
  const std::string result = equation.substr(arrow + 2);
  if (left.size() != work.shape(0).size() || right.size() != work.shape(1).size()) {
    throw Error(ErrorCode::kFormat,
                fmt::format("the equation '{}' does not fit its inputs", excerpt(equation)));
  }
  std::int64_t batch = 1;
  std::int64_t m = 1;
  std::int64_t n = 1;
  std::int64_t k = 1;
  std::set<char> seen;
  const auto add = [&](const std::string& side, const Shape& shape, const std::string& other,
                       std::int64_t& own) {
    for (std::size_t i = 0; i < side.size(); ++i) {
      if (seen.insert(side[i]).second) {
        const bool is_shared = other.find(side[i]) != std::string::npos;
        const bool is_kept = result.find(side[i]) != std::string::npos;
        std::int64_t& extent = is_shared ? (is_kept ? batch : k) : own;
        extent = product({extent, shape[i]});
      }
    }
  };
  add(left, work.shape(0), right, m);
  add(right, work.shape(1), left, n);
  work.op.kind = batch == 1 ? "matmul" : "batch_matmul";
  work.op.shape = batch == 1 ? Shape{m, n, k} : Shape{batch, m, n, k};
  work.op.flops = product({2, batch, m, n, k});
}

// Gates of [x, h] times w, [I + H, 4 H], as for our lstm_cell; inputs are x, c, h, w, ...
void lstm_block_cell(Work& work) {
  if (work.shape(0).size() != 2 || work.shape(2).size() != 2) {
    throw Error(ErrorCode::kFormat, "expected x and h to be matrices");
  }
  const std::int64_t n = work.shape(0)[0];
  const std::int64_t i = work.shape(0)[1];
  const std::int64_t h = work.shape(2)[1];
  work.op.shape = {n, i, h};
  work.op.flops = sum({product({2, n, sum({i, h}), 4, h}), product({13, n, h})});
}

void refuse(Work&) {
  throw Error(ErrorCode::kUnsupported, "emplace does not know the work of this operator");
}

// A sum with a vector for each row is our bias_add.
void add(Work& work) {
  const Shape& result = work.result();
  work.op.flops = product(result);
  work.op.shape = {work.op.flops};
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    const bool is_vector = work.shape(i).size() == 1 && result.size() > 1;
    if (is_vector && work.shape(i)[0] == result.back() && work.shape(1 - i) == result) {
      work.op.kind = "bias_add";
      work.op.shape = {product(std::span(result).first(result.size() - 1)), result.back()};
    }
  }
}

// A product with one number is our scale.
void multiply(Work& work) {
  const bool scales = product(work.shape(0)) == 1 || product(work.shape(1)) == 1;
  work.op.kind = scales ? "scale" : "multiply";
  work.op.flops = product(work.result());
  work.op.shape = {work.op.flops};
}

void add_n(Work& work) {
  const std::int64_t elements = product(work.result());
  const auto terms = std::ssize(work.inputs);
  work.op.shape = {terms, elements};
  work.op.flops = product({terms - 1, elements});
}

// A mean over the two middle or last dimensions of maps is a pool of one window.
void mean(Work& work) {
  const Shape& maps = work.shape(0);
  work.op.flops = product(maps);
  work.op.shape = work.result();
  if (maps.size() != 4) {
    return;
  }
  Shape kept;
  std::ranges::copy_if(work.result(), std::back_inserter(kept), [](auto e) { return e != 1; });
  const auto is_kept = [&](std::int64_t n, std::int64_t c) {
    Shape expected{n, c};
    std::erase(expected, 1);
    return kept == expected;
  };
  for (const MapLayout layout : {MapLayout{3, 1, 2}, MapLayout{1, 2, 2}}) {
    if (is_kept(maps[0], maps[layout.channels])) {
      const std::int64_t h = maps[layout.first];
      const std::int64_t w = maps[layout.first + 1];
      work.op.kind = "avg_pool";
      work.op.shape = {maps[0], maps[layout.channels], h, w, h, w, 1, 1, 1};
      return;
    }
  }
}

void softmax(Work& work) {
  const Shape& x = work.shape(0);
  const std::int64_t columns = x.empty() ? 1 : x.back();
  work.op.shape = {columns == 0 ? 0 : product(x) / columns, columns};
  work.op.flops = product({5, product(x)});
}

void cross_entropy(Work& work) {
  work.op.shape = work.shape(0);
  work.op.flops = sum({product({5, product(work.shape(0))}), product({2, work.shape(0)[0]})});
}

void concat(Work& work) {
  const std::int64_t elements = product(work.result());
  work.op.shape = {std::ssize(work.inputs) - 1, elements};
}

void split(Work& work) {
  std::int64_t elements = 0;
  for (const Output& output : work.op.outputs) {
    elements = sum({elements, product(output.shape)});
  }
  work.op.shape = {std::ssize(work.op.outputs), elements};
}

void transpose(Work& work) {
  // The order of axes that two equal extents leave open changes no cost.
  const Shape& x = work.shape(0);
  std::vector<bool> is_used(x.size(), false);
  work.op.shape = x;
  for (const std::int64_t extent : work.result()) {
    std::size_t axis = 0;
    while (axis < x.size() && (is_used[axis] || x[axis] != extent)) {
      ++axis;
    }
    if (axis < x.size()) {
      is_used[axis] = true;
    }
    work.op.shape.push_back(static_cast<std::int64_t>(axis));
  }
}

// Of the whole, only what the result holds is read.
void slice(Work& work) {
  work.op.shape = {product(work.result()), product(work.shape(0))};
  work.op.bytes_read = sum({work.op.bytes_read, work.op.outputs[0].bytes, -work.inputs[0]->bytes});
}

// Rows of a stored table are an embedding.
void gather(Work& work) {
  slice(work);
  const Shape& table = work.shape(0);
  if (table.size() == 2 && work.reads_stored && !work.shape(1).empty() && !work.result().empty() &&
      work.result().back() == table[1]) {
    work.op.kind = "embedding";
    work.op.shape = {product(work.shape(1)), table[0], table[1]};
  }
}

void update(Work& work) {
  const std::int64_t parameters = product(work.shape(0));
  const auto slots = work.row.flops == 2 ? 0 : work.row.flops == 4 ? 1 : 2;
  work.op.shape = {parameters, slots};
  work.op.flops = product({work.row.flops, parameters});
}

}  // namespace emplace::tensorflow::work
