#include "conversions.hpp"

#include "model/assemble.hpp"

#include <emplace/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

namespace emplace::torch_program {
namespace {

// The tensor that an operator is about; its name depends on the operator.
ValueId self_of(const TorchNode& node) { return node.expect({"self", "input", "data"}); }

// Says whether `part`, leading ones aside, is what `shape` ends in.
bool is_suffix(Shape part, const Shape& shape) {
  part.erase(part.begin(), std::ranges::find_if(part, [](auto extent) { return extent != 1; }));
  return !part.empty() && part.size() <= shape.size() &&
         std::equal(part.rbegin(), part.rend(), shape.rbegin());
}

// An operator on a tensor and a number, or a constant, which changes neither size nor cost.
void with_number(TorchNode& node, const Conversion& row, ValueId x, bool is_left) {
  const bool is_product = row.op == "mul" || (row.op == "div" && is_left);
  const bool is_sum = row.op == "add" || row.op == "sub";
  Op op = node.make_op(is_product          ? "scale"
                       : is_sum && is_left ? "add"
                       : row.op == "rsub"  ? "scale"
                                           : kind_for(node, row));
  op.shape = {elements(node.output())};
  op.flops = op.shape[0];
  const Tensor tensor = node.read(op, x);
  node.emit_results(std::move(op), {{tensor}});
}

// Noise of zeros and ones that a tensor is multiplied by drops elements.
void drop(TorchNode& node, ValueId x) {
  Op op = node.make_op("dropout");
  op.shape = {elements(node.output())};
  op.flops = product({2, op.shape[0]});
  op.outputs = {node.output(), make_output(node.output().shape, DataType::kBool)};
  const Tensor tensor = node.read(op, x);
  node.give(node.result(), node.emit(std::move(op), {tensor}));
}

}  // namespace

// FLOPs for each number of the result.
void per_result(TorchNode& node, const Conversion& row) {
  emit_plain(node, kind_for(node, row), {elements(node.output())},
             product({row.flops, elements(node.output())}));
}

void unchanged(TorchNode& node, const Conversion&) { node.view(self_of(node)); }

// As unchanged(), but a tensor is copied where it gets another order in memory.
void copied(TorchNode& node, const Conversion&) {
  const ValueId x = self_of(node);
  if (node.reordered(x)) {
    move_elements(node, x);
  } else {
    node.view(x);
  }
}

void moved(TorchNode& node, const Conversion&) { move_elements(node, self_of(node)); }

// A view of the same elements.
void view(TorchNode& node, const Conversion& row) {
  const ValueId x = self_of(node);
  const std::size_t rank = node.value(x).output.shape.size();
  if (rank == 0 || node.output().shape.size() != rank) {
    return node.view(x);
  }
  std::vector<std::size_t> axes(rank);
  std::iota(axes.begin(), axes.end(), std::size_t{0});
  if (row.op == "permute" || row.op == "movedim") {
    const Shape dims = node.integers("dims", {});
    if (dims.size() != rank) {
      return node.view(x);
    }
    std::ranges::transform(dims, axes.begin(), [&](auto dim) { return axis_of(dim, rank); });
  } else if (row.op == "t" || row.op == "numpy_T" || row.op == "mT") {
    if (rank == 2) {
      std::swap(axes[0], axes[1]);
    }
  } else if (row.op == "transpose" || row.op == "swapaxes") {
    std::swap(axes[axis_of(node.integer("dim0", 0), rank)],
              axes[axis_of(node.integer("dim1", 1), rank)]);
  }
  node.view(x, std::ranges::is_sorted(axes) ? std::vector<std::size_t>() : std::move(axes));
}

// Copies along new or single dimensions; where nothing is repeated it is a view.
void expand(TorchNode& node, const Conversion&) {
  const ValueId x = self_of(node);
  const auto from = elements(node.value(x).output);
  const auto to = elements(node.output());
  if (from == to || from == 0) {
    return node.view(x);
  }
  Op op = node.make_op("broadcast");
  op.shape = {to / from, from};
  const Tensor tensor = node.read(op, x);
  node.emit_results(std::move(op), {{tensor}});
}

// Only the part of the tensor that the result holds is read.
void block(TorchNode& node, const Conversion&) {
  const ValueId x = self_of(node);
  const Output whole = node.value(x).output;
  if (elements(whole) == elements(node.output())) {
    return node.view(x);
  }
  Op op = node.make_op("slice");
  op.shape = {elements(node.output()), elements(whole)};
  op.bytes_read = node.output().bytes - whole.bytes;
  const Tensor tensor = node.read(op, x);
  node.emit_results(std::move(op), {{tensor}});
}

// Elements by their numbers: rows of a table are an embedding.
void pick(TorchNode& node, const Conversion& row) {
  const ValueId x = self_of(node);
  const Output whole = node.value(x).output;
  const Argument* index = node.find({"indices", "index"});
  const std::vector<ValueId> ids = index == nullptr ? std::vector<ValueId>() : index->tensors;
  const bool is_lookup = row.op == "index" && whole.shape.size() == 2 && ids.size() == 1 &&
                         ids[0] != kNone && node.value(x).origin == Origin::kParameter &&
                         node.value(ids[0]).output.type != DataType::kBool;
  Op op = node.make_op(is_lookup ? "embedding" : "gather");
  op.shape = {elements(node.output()), elements(whole)};
  if (is_lookup) {
    op.shape = {elements(node.value(ids[0]).output), whole.shape[0], whole.shape[1]};
  }
  op.bytes_read = node.output().bytes - whole.bytes;
  std::vector<Tensor> inputs{node.read(op, x)};
  for (const ValueId id : ids) {
    if (id != kNone) {
      inputs.push_back(node.read(op, id));
    }
  }
  node.emit_results(std::move(op), inputs);
}

void concat(TorchNode& node, const Conversion&) {
  std::vector<ValueId> parts = node.tensors();
  std::erase_if(parts, [&](ValueId id) { return elements(node.value(id).output) == 0; });
  if (parts.size() == 1) {
    return node.view(parts[0]);
  }
  Op op = node.make_op("concat");
  op.shape = {std::ssize(parts), elements(node.output())};
  std::vector<Tensor> inputs;
  inputs.reserve(parts.size());
  for (const ValueId part : parts) {
    inputs.push_back(node.read(op, part));
  }
  node.emit_results(std::move(op), inputs);
}

void split(TorchNode& node, const Conversion&) {
  const ValueId x = self_of(node);
  const auto parts =
      std::ranges::count_if(node.call().results, [](ValueId id) { return id != kNone; });
  if (parts == 1) {
    return node.view(x);
  }
  Op op = node.make_op("split");
  op.shape = {parts, elements(node.value(x).output)};
  const Tensor tensor = node.read(op, x);
  node.emit_results(std::move(op), {{tensor}});
}

// The same numbers in another type.
void cast(TorchNode& node, const Conversion&) {
  const ValueId x = self_of(node);
  if (node.value(x).output.type == node.output().type) {
    return node.view(x);
  }
  Op op = node.make_op("scale");
  op.shape = {elements(node.output())};
  op.flops = op.shape[0];
  const Tensor tensor = node.read(op, x);
  node.emit_results(std::move(op), {{tensor}});
}

// An operator on two tensors, of one shape or with repeats.
void binary(TorchNode& node, const Conversion& row) {
  const ValueId left = self_of(node);
  const ValueId right = node.tensor({"other", "exponent"});
  if (right == kNone) {
    return with_number(node, row, left, true);
  }
  const Shape shape = node.output().shape;
  const std::array sides = {left, right};
  const auto has_shape = [&](std::size_t i) { return node.value(sides[i]).output.shape == shape; };
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    const ValueId other = sides[1 - i];
    if (!has_shape(i)) {
      continue;
    }
    if (row.op == "mul" && has_shape(1 - i) && node.value(other).is_random &&
        node.is_constant(other)) {
      return drop(node, sides[i]);
    }
    const bool is_number = elements(node.value(other).output) == 1;
    if (is_number && node.is_constant(other)) {
      return with_number(node, row, sides[i], i == 0);
    }
    // A constant that is repeated takes no time to read.
    if ((row.op == "mul" || (row.op == "div" && i == 0)) && node.is_constant(other) &&
        !has_shape(1 - i)) {
      return with_number(node, row, sides[i], i == 0);
    }
    if (row.op == "add" && !has_shape(1 - i) && !is_number &&
        is_suffix(node.value(other).output.shape, shape) && elements(node.output()) > 0) {
      const auto columns = elements(node.value(other).output);
      Op op = node.make_op("bias_add");
      op.shape = {elements(node.output()) / columns, columns};
      op.flops = elements(node.output());
      op.outputs = {node.output()};
      const Tensor x = node.read(op, sides[i]);
      const Tensor bias = node.read(op, other);
      return node.give(node.result(), node.emit(std::move(op), {x, bias}));
    }
    // Scores and a mask that is repeated over them.
    if (row.op == "add" && !has_shape(1 - i) && node.is_constant(other)) {
      Op op = node.make_op("add");
      op.shape = {elements(node.output())};
      op.flops = op.shape[0];
      const Tensor x = node.read(op, sides[i]);
      const Tensor mask = node.read(op, other);
      return node.emit_results(std::move(op), {{x, mask}});
    }
  }
  Op op = node.make_op((has_shape(0) && has_shape(1) ? "" : "broadcast_") + kind_for(node, row));
  op.shape = {elements(node.output())};
  op.flops = op.shape[0];
  const Tensor a = node.read(op, left);
  const Tensor b = node.read(op, right);
  node.emit_results(std::move(op), {{a, b}});
}

// a + b c, with b c of a's shape.
void multiply_add(TorchNode& node, const Conversion& row) {
  const std::vector<ValueId> inputs = node.tensors();
  if (inputs.size() != 3) {
    return per_result(node, row);
  }
  Op product_op = node.make_op("multiply");
  product_op.shape = {elements(node.output())};
  product_op.flops = product_op.shape[0];
  product_op.outputs = {node.output()};
  const Tensor b = node.read(product_op, inputs[1]);
  const Tensor c = node.read(product_op, inputs[2]);
  const Tensor bc = node.emit(std::move(product_op), {b, c});
  Op op = node.make_op("add");
  op.shape = {elements(node.output())};
  op.flops = op.shape[0];
  const Tensor a = node.read(op, inputs[0]);
  node.emit_results(std::move(op), {{a, bc}});
}

// A mask that is known before the step hides scores; softmax follows.
void masked_fill(TorchNode& node, const Conversion& row) {
  const ValueId x = self_of(node);
  if (!node.is_constant(node.expect({"mask"})) ||
      node.value(x).output.shape != node.output().shape) {
    return emit_plain(node, "where", {elements(node.output())}, 0);
  }
  elementwise(node, {.op = row.op, .convert = row.convert, .kind = "causal_mask", .flops = 1});
}

// where(mask, scores, -inf) is the same.
void where(TorchNode& node, const Conversion& row) {
  const ValueId mask = node.expect({"condition", "self"});
  const Argument* left = node.find({"self", "input"});
  const Argument* right = node.find({"other"});
  if (node.is_constant(mask) && left != nullptr && right != nullptr) {
    for (const auto& [one, other] : {std::pair(left, right), std::pair(right, left)}) {
      const ValueId x = one->tensors.empty() ? kNone : one->tensors[0];
      const ValueId filler = other->tensors.empty() ? kNone : other->tensors[0];
      const bool is_filler = filler == kNone || node.is_constant(filler);
      if (x != kNone && is_filler && node.value(x).output.shape == node.output().shape) {
        Op op = node.make_op("causal_mask");
        op.shape = {elements(node.output())};
        op.flops = op.shape[0];
        const Tensor scores = node.read(op, x);
        return node.emit_results(std::move(op), {{scores}});
      }
    }
  }
  per_result(node, row);
}

void dropout(TorchNode& node, const Conversion&) {
  const ValueId x = self_of(node);
  const Argument* train = node.find({"train", "training"});
  const Argument* p = node.find({"p"});
  const bool drops = (train == nullptr || train->integers != Shape{0}) &&
                     (p == nullptr || !p->number || *p->number > 0);
  if (drops) {
    drop(node, x);
  } else {
    node.view(x);
  }
}

void pad(TorchNode& node, const Conversion& row) {
  const ValueId x = self_of(node);
  if (node.value(x).output.shape == node.output().shape) {
    return node.view(x);
  }
  emit_plain(node, row.kind, {elements(node.output()), elements(node.value(x).output)}, 0);
}

void resize(TorchNode& node, const Conversion& row) {
  emit_plain(node, row.kind, {elements(node.output()), elements(node.value(self_of(node)).output)},
             product({row.flops, elements(node.output())}));
}

// Part of a tensor is written over.
void scatter(TorchNode& node, const Conversion& row) {
  emit_plain(node, row.kind, {elements(node.output()), elements(node.output())}, 0);
}

// The first tensor becomes the second.
void copy(TorchNode& node, const Conversion& row) {
  const ValueId source = node.expect({"src"});
  if (node.value(source).output.shape == node.output().shape) {
    return node.view(source);
  }
  per_result(node, row);
}

// Half of the numbers times the sigmoid of the others.
void gated(TorchNode& node, const Conversion&) {
  const ValueId x = self_of(node);
  const Output half = node.output();
  Op cut = node.make_op("split");
  cut.shape = {2, elements(node.value(x).output)};
  cut.outputs = {half, half};
  const Tensor whole = node.read(cut, x);
  const Tensor left = node.emit(std::move(cut), {whole});
  Op gate = node.make_op("sigmoid");
  gate.shape = {elements(half)};
  gate.flops = elements(half);
  gate.outputs = {half};
  const Tensor right = node.emit(std::move(gate), {{left.op, 1}});
  Op op = node.make_op("multiply");
  op.shape = {elements(half)};
  op.flops = elements(half);
  node.emit_results(std::move(op), {{left, right}});
}

// Of each row the k largest numbers, and where they are.
void top_k(TorchNode& node, const Conversion& row) {
  const ValueId x = self_of(node);
  const Shape shape = node.value(x).output.shape;
  expect_rank(node, node.result(), shape.size(), "a result");
  const std::size_t axis = axis_of(node.integer("dim", -1), shape.size());
  const std::int64_t columns = shape.empty() ? 1 : shape[axis];
  const std::int64_t k = shape.empty() ? 1 : node.output().shape[axis];
  Op op = node.make_op(row.kind);
  op.shape = {columns == 0 ? 0 : product(shape) / columns, columns, k};
  op.flops = product(op.shape);
  const Tensor rows = node.read(op, x);
  node.emit_results(std::move(op), {{rows}});
}

// -softplus(-x); what PyTorch keeps beside it is of no use here.
void log_sigmoid(TorchNode& node, const Conversion& row) {
  Op op = node.make_op(row.kind);
  op.shape = {elements(node.output())};
  op.flops = product({3, op.shape[0]});
  op.outputs = {node.output()};
  const Tensor x = node.read(op, self_of(node));
  node.give(node.result(), node.emit(std::move(op), {x}));
}

std::int64_t elements(const Output& value) { return product(value.shape); }

std::size_t axis_of(std::int64_t dimension, std::size_t rank) {
  const auto extent = static_cast<std::int64_t>(std::max<std::size_t>(rank, 1));
  if (dimension < -extent || dimension >= extent) {
    throw Error(ErrorCode::kFormat, fmt::format("dimension {} of a tensor of {}", dimension, rank));
  }
  return static_cast<std::size_t>(dimension < 0 ? dimension + extent : dimension);
}

std::string kind_for(const TorchNode& node, const Conversion& row) {
  return std::string(row.kind.empty() ? without_write(node.call().op) : row.kind);
}

void emit_plain(TorchNode& node, std::string_view kind, Shape shape, std::int64_t flops) {
  Op op = node.make_op(kind);
  op.shape = std::move(shape);
  op.flops = flops;
  std::vector<Tensor> inputs;
  for (const ValueId id : node.tensors()) {
    inputs.push_back(node.read(op, id));
  }
  node.emit_results(std::move(op), inputs);
}

void per_input(TorchNode& node, const Conversion& row) {
  const ValueId x = self_of(node);
  const std::int64_t numbers = elements(node.value(x).output);
  emit_plain(node, kind_for(node, row), {numbers, elements(node.output())},
             product({row.flops, numbers}));
}

void elementwise(TorchNode& node, const Conversion& row) {
  Op op = node.make_op(kind_for(node, row));
  op.shape = {elements(node.output())};
  op.flops = product({row.flops, op.shape[0]});
  const Tensor x = node.read(op, self_of(node));
  node.emit_results(std::move(op), {{x}});
}

// Costs what a transpose does, whatever the order. Where views reordered what is copied, the copy
// is the transpose of what is below them.
void move_elements(TorchNode& node, ValueId id) {
  std::vector<std::size_t> axes(node.value(id).output.shape.size());
  std::iota(axes.begin(), axes.end(), std::size_t{0});
  ValueId source = id;
  if (auto reordered = node.reordered(id)) {
    source = reordered->source;
    axes = std::move(reordered->axes);
  }
  Op op = node.make_op("transpose");
  op.shape = node.value(source).output.shape;
  for (const std::size_t axis : axes) {
    op.shape.push_back(static_cast<std::int64_t>(axis));
  }
  const Tensor x = node.read(op, source);
  node.emit_results(std::move(op), {{x}});
}

Tensor bias_add(TorchNode& node, Tensor x, const Output& value, ValueId bias, Shape shape) {
  Op op = node.make_op("bias_add");
  op.shape = std::move(shape);
  op.flops = elements(value);
  op.outputs = {value};
  const Tensor addend = node.read(op, bias);
  return node.emit(std::move(op), {x, addend});
}

}  // namespace emplace::torch_program
