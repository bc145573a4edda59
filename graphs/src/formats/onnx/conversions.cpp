#include "conversions.hpp"

#include "model/assemble.hpp"
#include "operators/operators.hpp"

#include <emplace/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace emplace::onnx_model {

std::int64_t elements(const Output& value) { return product(value.shape); }

std::string kind_for(const OnnxNode& node, const Operator& row) {
  return row.kind.empty() ? kind_of(node.proto().op_type()) : std::string(row.kind);
}

void emit_plain(OnnxNode& node, std::string_view kind, Shape shape, std::int64_t flops) {
  Op op = node.make_op(kind);
  op.shape = std::move(shape);
  op.flops = flops;
  const auto inputs = node.read_data(op);
  node.emit_results(std::move(op), inputs);
}

Tensor bias_add(OnnxNode& node, Tensor x, const Output& value, std::size_t index, Shape shape) {
  Op op = node.make_op("bias_add", "bias_add");
  op.shape = std::move(shape);
  op.flops = elements(value);
  op.outputs = {value};
  const Tensor bias = node.read(op, index);
  return node.emit(std::move(op), {x, bias});
}

namespace convert {
namespace {

// Says how `part` is added to a tensor of `shape`, as for the kind bias_add: to each row, or a
// number to each channel. Nothing if it is neither.
std::optional<Shape> bias_shape(const Shape& part, const Shape& shape) {
  const auto begin = std::ranges::find_if(part, [](auto extent) { return extent != 1; });
  if (begin == part.end() || part.size() > shape.size() || product(shape) == 0) {
    return std::nullopt;
  }
  const auto from = static_cast<std::size_t>(begin - part.begin()) + shape.size() - part.size();
  std::size_t to = shape.size();
  while (part[to - 1 - (shape.size() - part.size())] == 1) {
    --to;
  }
  if (!std::equal(begin, begin + static_cast<std::ptrdiff_t>(to - from),
                  shape.begin() + static_cast<std::ptrdiff_t>(from))) {
    return std::nullopt;
  }
  const std::span all(shape);
  const std::int64_t before = product(all.first(from));
  const std::int64_t columns = product(all.subspan(from, to - from));
  const std::int64_t after = product(all.subspan(to));
  return after > 1 ? Shape{before, columns, after} : Shape{before, columns};
}

// What is left of an operator on two tensors of which the other one is a setting: neither size nor
// cost depends on it.
std::string kind_with_setting(std::string_view op_type, bool is_left, const std::string& kind) {
  if (op_type == "Mul" || (op_type == "Div" && is_left)) {
    return "scale";
  }
  if (op_type == "Sub" && is_left) {
    return "add";
  }
  if (op_type == "Max" || op_type == "Min") {
    return "clip";
  }
  if (op_type == "Div") {
    return "reciprocal";
  }
  return op_type == "Pow" && !is_left ? "exp" : kind;
}

}  // namespace

// FLOPs for each number of the result.
void per_result(OnnxNode& node, const Operator& row) {
  emit_plain(node, kind_for(node, row), {elements(node.result())},
             product({row.flops, elements(node.result())}));
}

void per_input(OnnxNode& node, const Operator& row) {
  const auto count = elements(node.input(0));
  emit_plain(node, kind_for(node, row), {count}, product({row.flops, count}));
}

void elementwise(OnnxNode& node, const Operator& row) {
  Op op = node.make_op(kind_for(node, row));
  op.shape = {elements(node.result())};
  op.flops = product({row.flops, op.shape[0]});
  const Tensor x = node.read(op, 0);
  node.emit_results(std::move(op), {{x}});
}

// The same numbers in another type. Where that is the type they have, there is nothing to do.
void cast(OnnxNode& node, const Operator& row) {
  if (node.input(0).type == node.result().type) {
    return node.pass_on();
  }
  elementwise(node, row);
}

void movement(OnnxNode& node, const Operator& row) {
  emit_plain(node, kind_for(node, row),
             {elements(node.result()), node.num_inputs() > 0 ? elements(node.input(0)) : 0}, 0);
}

// Only the part of the data that the result holds is read.
void pick(OnnxNode& node, const Operator& row) {
  Op op = node.make_op(kind_for(node, row));
  op.shape = {elements(node.result()), elements(node.input(0))};
  op.bytes_read =
      node.is_data(0) ? std::min<std::int64_t>(node.result().bytes - node.input(0).bytes, 0) : 0;
  const auto inputs = node.read_data(op);
  node.emit_results(std::move(op), inputs);
}

void unchanged(OnnxNode& node, const Operator&) { node.pass_on(); }

// The same elements in another shape.
void view(OnnxNode& node, const Operator&) {
  Op op = node.make_op("reshape");
  op.shape = node.result().shape;
  const Tensor x = node.read(op, 0);
  node.emit_results(std::move(op), {{x}});
}

// Each input but the first takes an operation for each number of the result; `row.flops` is what
// there is beside that.
void several(OnnxNode& node, const Operator& row) {
  const std::int64_t count = elements(node.result());
  const auto terms = static_cast<std::int64_t>(node.num_inputs());
  emit_plain(node, kind_for(node, row), {count}, product({sum({terms, -1, row.flops}), count}));
}

void binary(OnnxNode& node, const Operator& row) {
  if (node.num_inputs() != 2) {
    return several(node, row);
  }
  const Shape& shape = node.result().shape;
  const auto has_shape = [&](std::size_t i) { return node.input(i).shape == shape; };
  const std::int64_t count = elements(node.result());
  const std::string kind = kind_for(node, row);
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    if (!node.is_data(1 - i) && has_shape(i)) {
      Op op = node.make_op(kind_with_setting(row.op_type, i == 0, kind));
      op.shape = {count};
      op.flops = count;
      const Tensor x = node.read(op, i);
      node.emit_results(std::move(op), {{x}});
      return;
    }
    const auto bias =
        row.op_type == "Add" && has_shape(i) && !has_shape(1 - i)
            ? bias_shape(broadcast_part(node.proto(), node.opset(), shape, node.input(1 - i).shape),
                         shape)
            : std::nullopt;
    if (bias) {
      Op op = node.make_op("bias_add");
      op.shape = *bias;
      op.flops = count;
      const Tensor x = node.read(op, i);
      const Tensor added = node.read(op, 1 - i);
      node.emit_results(std::move(op), {{x, added}});
      return;
    }
  }
  const bool is_plain = has_shape(0) && has_shape(1);
  emit_plain(node, (is_plain ? "" : "broadcast_") + kind, {count}, count);
}

void concat(OnnxNode& node, const Operator& row) {
  Op op = node.make_op(row.kind);
  const auto inputs = node.read_data(op);
  op.shape = {std::ssize(inputs), elements(node.result())};
  node.emit_results(std::move(op), inputs);
}

void split(OnnxNode& node, const Operator& row) {
  Op op = node.make_op(row.kind);
  op.shape = {node.proto().output_size(), elements(node.input(0))};
  const Tensor x = node.read(op, 0);
  node.emit_results(std::move(op), {{x}});
}

void transpose(OnnxNode& node, const Operator& row) {
  Op op = node.make_op(row.kind);
  op.shape = node.input(0).shape;
  const Shape axes = integers_attribute(node.proto(), "perm");
  for (std::int64_t i = 0; i < std::ssize(node.input(0).shape); ++i) {
    op.shape.push_back(axes.empty() ? std::ssize(node.input(0).shape) - 1 - i
                                    : axes[static_cast<std::size_t>(i)]);
  }
  const Tensor x = node.read(op, 0);
  node.emit_results(std::move(op), {{x}});
}

// Rows of a table of weights are an embedding.
void gather(OnnxNode& node, const Operator& row) {
  const Shape& table = node.input(0).shape;
  if (!node.is_weight(0) || table.size() != 2 || !node.is_data(1) ||
      integer_attribute(node.proto(), "axis", 0) != 0) {
    return pick(node, row);
  }
  Op op = node.make_op("embedding");
  op.shape = {elements(node.input(1)), table[0], table[1]};
  op.bytes_read = node.result().bytes - node.input(0).bytes;
  const Tensor rows = node.read(op, 0);
  const Tensor ids = node.read(op, 1);
  node.emit_results(std::move(op), {{rows, ids}});
}

void dropout(OnnxNode& node, const Operator& row) {
  const Numbers* is_training = node.numbers(2);
  if (is_training == nullptr || single_of(*is_training) != 1) {
    return node.pass_on();
  }
  Op op = node.make_op(row.kind);
  op.shape = {elements(node.input(0))};
  op.flops = product({row.flops, op.shape[0]});
  op.outputs = {node.result(), make_output(node.result().shape, DataType::kBool)};
  const Tensor x = node.read(op, 0);
  const Tensor y = node.emit(std::move(op), {x});
  node.give(0, y);
  node.give(1, {y.op, 1});
}

void reduce(OnnxNode& node, const Operator& row) {
  const auto count = elements(node.input(0));
  emit_plain(node, kind_for(node, row), {count, elements(node.result())},
             product({row.flops, count}));
}

// A sum over products of numbers, one from each input.
void einsum(OnnxNode& node, const Operator& row) {
  std::vector<Shape> inputs;
  for (std::size_t i = 0; i < node.num_inputs(); ++i) {
    inputs.push_back(node.input(i).shape);
  }
  const auto products =
      operators::einstein_sum(text_attribute(node.proto(), "equation"), inputs).products;
  const auto factors = static_cast<std::int64_t>(inputs.size());
  const bool is_sum = products != elements(node.result());
  emit_plain(node, kind_for(node, row), {products},
             product({products, factors - 1 + (is_sum ? 1 : 0)}));
}

// A number of the result is a weighted sum of two neighbours along each axis that is scaled, of
// four if the curve is cubic.
void resize(OnnxNode& node, const Operator& row) {
  const std::string_view mode = text_attribute(node.proto(), "mode");
  const Shape& from = node.input(0).shape;
  const Shape& to = node.result().shape;
  std::int64_t terms = 1;
  for (std::size_t i = 0; i < to.size(); ++i) {
    terms = product({terms, from[i] == to[i] ? 1 : mode == "linear" ? 2 : mode == "cubic" ? 4 : 1});
  }
  Op op = node.make_op(row.kind);
  op.shape = {elements(node.result()), elements(node.input(0))};
  op.flops = terms == 1 ? 0 : product({2 * terms - 1, op.shape[0]});
  const Tensor x = node.read(op, 0);
  node.emit_results(std::move(op), {{x}});
}

// The largest numbers of each row.
void top_k(OnnxNode& node, const Operator& row) {
  const Shape& x = node.input(0).shape;
  const auto axis = integer_attribute(node.proto(), "axis", -1);
  const auto place = static_cast<std::size_t>(axis < 0 ? axis + std::ssize(x) : axis);
  const std::int64_t columns = x.at(place);
  const std::int64_t k = node.result().shape.at(place);
  Op op = node.make_op(row.kind);
  op.shape = {columns == 0 ? 0 : elements(node.input(0)) / columns, columns, k};
  op.flops = product(op.shape);
  const Tensor rows = node.read(op, 0);
  node.emit_results(std::move(op), {{rows}});
}

}  // namespace convert

}  // namespace emplace::onnx_model
