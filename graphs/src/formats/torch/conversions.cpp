#include "conversions.hpp"

#include "model/assemble.hpp"
#include "model/strides.hpp"
#include "operators/operators.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace emplace::torch_program {
namespace {

// An operator on a tensor and a number, or a constant, which changes neither size nor cost.
void with_constant(TorchNode& node, std::string_view kind, ValueId x, bool constant_is_left) {
  node.add(operators::with_constant(kind, constant_is_left), {}, {x});
}

// Noise of zeros and ones that a tensor is multiplied by drops elements.
void drop(TorchNode& node, ValueId x) {
  const Output& result = node.output();
  node.give(node.result(),
            node.make("dropout", {}, {result, make_output(result.shape, DataType::kBool)}, {x}));
}

}  // namespace

void plain(TorchNode& node, std::string_view kind) {
  const std::vector<ValueId> inputs = node.tensors();
  if (operators::is_counted(kind)) {
    return node.add(kind, {}, inputs);
  }
  Op op = node.make_op(Op{.kind = std::string(kind)});
  op.shape = {elements(node.output())};
  std::vector<Tensor> tensors;
  tensors.reserve(inputs.size());
  for (const ValueId id : inputs) {
    tensors.push_back(node.read(op, id));
  }
  node.emit_results(std::move(op), tensors);
}

// Limits that are tensors do not count.
void of_one(TorchNode& node, std::string_view kind) { node.add(kind, {}, {self_of(node)}); }

// What PyTorch keeps for the gradient is of no use here.
void first_result(TorchNode& node, std::string_view kind) {
  node.give(node.result(), node.make(kind, {}, {node.output()}, {self_of(node)}));
}

void unchanged(TorchNode& node, std::string_view) { node.view(self_of(node)); }

// A copy takes time where it gets another order in memory.
void copied(TorchNode& node, std::string_view) {
  const ValueId x = self_of(node);
  if (node.value(x).strides == node.value(node.result()).strides) {
    return node.view(x);
  }
  node.give(node.result(), add_copy(node, x));
}

// A view of the same elements, unless their order in memory does not allow it.
void view(TorchNode& node, std::string_view) {
  const std::string_view op = node.call().op;
  const ValueId x = self_of(node);
  const TorchValue& from = node.value(x);
  if ((op == "reshape" || op == "flatten") &&
      !strides_in_shape(from.output.shape, from.strides, node.output().shape)) {
    const Tensor copy = add_copy(node, x);
    return node.give(node.result(), node.make("reshape", {}, {node.output()}, {copy}));
  }
  node.view(x);
}

// Repeats along new or single dimensions; where nothing is repeated it is the tensor itself.
void expand(TorchNode& node, std::string_view kind) {
  const ValueId x = self_of(node);
  const std::int64_t from = elements(node.value(x).output);
  if (from == elements(node.output()) || from == 0) {
    return node.view(x);
  }
  node.add(kind, {}, {x});
}

void block(TorchNode& node, std::string_view kind) {
  const ValueId x = self_of(node);
  if (elements(node.value(x).output) == elements(node.output())) {
    return node.view(x);
  }
  node.add(kind, {}, {x});
}

// Elements by their numbers: rows of a table are an embedding.
void pick(TorchNode& node, std::string_view kind) {
  const ValueId x = self_of(node);
  const Output whole = node.value(x).output;
  const Argument* index = node.find({"indices", "index"});
  std::vector<ValueId> ids = index == nullptr ? std::vector<ValueId>() : index->tensors;
  const bool is_lookup = node.call().op == "index" && whole.shape.size() == 2 && ids.size() == 1 &&
                         ids[0] != kNone && node.value(x).origin == Origin::kParameter &&
                         node.value(ids[0]).output.type != DataType::kBool;
  std::erase(ids, kNone);
  ids.insert(ids.begin(), x);
  node.add(is_lookup ? "embedding" : kind, {}, ids);
}

void concat(TorchNode& node, std::string_view kind) {
  std::vector<ValueId> parts = node.tensors();
  std::erase_if(parts, [&](ValueId id) { return elements(node.value(id).output) == 0; });
  if (parts.size() == 1) {
    return node.view(parts[0]);
  }
  node.add(kind, AxisAttributes{.axis = node.integer("dim", 0)}, parts);
}

void split(TorchNode& node, std::string_view kind) {
  const ValueId x = self_of(node);
  const auto parts =
      std::ranges::count_if(node.call().results, [](ValueId id) { return id != kNone; });
  if (parts == 1) {
    return node.view(x);
  }
  node.add(kind, AxisAttributes{.axis = node.integer("dim", 0)}, {x});
}

// The same numbers in another type.
void cast(TorchNode& node, std::string_view kind) {
  const ValueId x = self_of(node);
  if (node.value(x).output.type == node.output().type) {
    return node.view(x);
  }
  node.add(kind, {}, {x});
}

// An operator on two tensors, of one shape or with repeats.
void binary(TorchNode& node, std::string_view kind) {
  ValueId left = self_of(node);
  ValueId right = node.tensor({"other", "exponent"});
  const bool is_reversed = node.call().op == "rsub";
  if (right == kNone) {  // a number
    return with_constant(node, kind, left, is_reversed);
  }
  if (is_reversed) {
    std::swap(left, right);
  }
  const Shape& shape = node.output().shape;
  const std::array sides = {left, right};
  const auto shape_of = [&](std::size_t i) { return node.value(sides[i]).output.shape; };
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    const ValueId other = sides[1 - i];
    if (shape_of(i) != shape || !node.is_constant(other)) {
      continue;
    }
    if (kind == "multiply" && shape_of(1 - i) == shape && node.value(other).is_random) {
      return drop(node, sides[i]);
    }
    // A factor that is repeated takes no time to read.
    const bool is_factor = kind == "multiply" || (kind == "div" && i == 0);
    if (elements(node.value(other).output) == 1 || (is_factor && shape_of(1 - i) != shape)) {
      return with_constant(node, kind, sides[i], i == 1);
    }
  }
  if (operators::swaps(kind, shape_of(0), shape_of(1), shape)) {
    std::swap(left, right);
  }
  node.add(kind, {}, {left, right});
}

// a + b c, with b c of a's shape.
void multiply_add(TorchNode& node, std::string_view kind) {
  const std::vector<ValueId> inputs = node.tensors();
  if (inputs.size() != 3) {
    return plain(node, kind);
  }
  const Tensor product = node.make("multiply", {}, {node.output()}, {inputs[1], inputs[2]});
  node.give(node.result(), node.make("add", {}, {node.output()}, {inputs[0], product}));
}

// A mask that is known before the step hides scores; softmax follows.
void masked_fill(TorchNode& node, std::string_view) {
  const ValueId x = self_of(node);
  if (!node.is_constant(node.expect({"mask"})) ||
      node.value(x).output.shape != node.output().shape) {
    return plain(node, "where");
  }
  node.add("causal_mask", {}, {x});
}

// where(mask, scores, -inf) is the same.
void where(TorchNode& node, std::string_view kind) {
  const ValueId mask = node.expect({"condition", "self"});
  const Argument* left = node.find({"self", "input"});
  const Argument* right = node.find({"other"});
  if (node.is_constant(mask) && left != nullptr && right != nullptr) {
    for (const auto& [one, other] : {std::pair(left, right), std::pair(right, left)}) {
      const ValueId x = one->tensors.empty() ? kNone : one->tensors[0];
      const ValueId filler = other->tensors.empty() ? kNone : other->tensors[0];
      const bool is_filler = filler == kNone || node.is_constant(filler);
      if (x != kNone && is_filler && node.value(x).output.shape == node.output().shape) {
        return node.add("causal_mask", {}, {x});
      }
    }
  }
  plain(node, kind);
}

void dropout(TorchNode& node, std::string_view) {
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

void pad(TorchNode& node, std::string_view kind) {
  const ValueId x = self_of(node);
  if (node.value(x).output.shape == node.output().shape) {
    return node.view(x);
  }
  plain(node, kind);
}

void resize(TorchNode& node, std::string_view kind) {
  const std::string_view op = node.call().op;
  const bool is_linear = op.find("linear") != std::string_view::npos;
  const bool is_cubic = op.find("cubic") != std::string_view::npos;
  node.add(kind,
           ResizeAttributes{.mode = is_linear  ? "linear"
                                    : is_cubic ? "cubic"
                                               : "nearest"},
           {self_of(node)});
}

// The first tensor becomes the second.
void copy(TorchNode& node, std::string_view kind) {
  const ValueId source = node.tensor({"src"});
  if (source != kNone && node.value(source).output.shape == node.output().shape) {
    return node.view(source);
  }
  plain(node, kind);
}

// Half of the numbers times the sigmoid of the others.
void gated(TorchNode& node, std::string_view) {
  const Output half = node.output();
  const Tensor left = node.make("split_view", AxisAttributes{.axis = node.integer("dim", -1)},
                                {half, half}, {self_of(node)});
  const Tensor right = node.make("sigmoid", {}, {half}, {Tensor{left.op, 1}});
  node.give(node.result(), node.make("multiply", {}, {half}, {left, right}));
}

// The largest or least along some dimensions, or of two tensors.
void extreme(TorchNode& node, std::string_view kind) {
  const bool is_max = kind.ends_with("max");
  if (node.tensor({"other"}) != kNone) {
    binary(node, is_max ? "max" : "min");
  } else {
    reduce(node, is_max ? "reduce_max" : "reduce_min");
  }
}

Tensor add_copy(TorchNode& node, ValueId x) {
  const TorchValue& from = node.value(x);
  auto stored = stored_order(from.output.shape, from.strides);
  if (!stored) {
    return node.make("copy", {}, {from.output}, {x});
  }
  // As it lies in memory, and from there into the order of its axes.
  const Tensor below =
      node.make("reshape", {}, {make_output(std::move(stored->shape), from.output.type)}, {x});
  return node.make("transpose", TransposeAttributes{.perm = std::move(stored->perm)}, {from.output},
                   {below});
}

std::int64_t elements(const Output& value) { return product(value.shape); }

ValueId self_of(const TorchNode& node) { return node.expect({"self", "input", "data"}); }

}  // namespace emplace::torch_program
