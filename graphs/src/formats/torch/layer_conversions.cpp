// Layers with weights, windows or rows. Costs are those of ModelBuilder's layers.

#include "conversions.hpp"
#include "model/assemble.hpp"
#include "operators/operators.hpp"

#include <emplace/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace emplace::torch_program {
namespace {

// A window's setting for each dimension; one number stands for all.
Shape list_of(const TorchNode& node, std::string_view name, std::size_t size,
              const Shape& fallback) {
  Shape values = node.integers(name, fallback);
  if (values.size() == 1) {
    values.resize(size, values[0]);
  }
  if (values.size() != size) {
    throw Error(ErrorCode::kFormat,
                fmt::format("expected {} numbers in '{}', found {}", size, name, values.size()));
  }
  return values;
}

// How a call moves a window with so many places over maps of these extents.
Window window_of(const TorchNode& node, std::span<const std::int64_t> extents,
                 std::span<const std::int64_t> kernel, std::span<const std::int64_t> places,
                 const Shape& strides) {
  const std::size_t size = extents.size();
  Window window{.strides = list_of(node, "stride", size, strides),
                .dilations = list_of(node, "dilation", size, {1})};
  if (node.integers("padding", {}).empty()) {  // "same", "valid", or none
    window.pads = operators::pads_for(extents, kernel, window, places);
  } else {
    window.pads = list_of(node, "padding", size, {0});
    window.pads.insert(window.pads.end(), window.pads.begin(), window.pads.end());
  }
  return window;
}

std::int64_t rows_of(const Shape& shape) {
  return shape.empty() ? 1 : product(std::span(shape.data(), shape.size() - 1));
}

// A product of [..., K] and a matrix, of which `n` columns come out.
Op make_product(TorchNode& node, const Output& left, std::int64_t n, const Output& result) {
  if (left.shape.empty()) {
    throw Error(ErrorCode::kFormat, "expected a left side of at least one dimension");
  }
  Op op = node.make_op("matmul");
  op.shape = {rows_of(left.shape), n, left.shape.back()};
  op.flops = product({2, product(op.shape)});
  op.outputs = {result};
  return op;
}

// A product with weights, and the sum with a bias if there is one.
void give_product(TorchNode& node, ValueId x, ValueId weights, ValueId bias) {
  const Output result = node.output();
  const std::int64_t n = result.shape.empty() ? 1 : result.shape.back();
  Op op = make_product(node, node.value(x).output, n, result);
  const Tensor left = node.read(op, x);
  const Tensor right = node.read_stored(op, weights);
  Tensor y = node.emit(std::move(op), {left, right});
  if (bias != kNone) {
    if (elements(node.value(bias).output) != n || n == 0) {
      Op add = node.make_op("add");
      add.shape = {elements(result)};
      add.flops = add.shape[0];
      add.outputs = {result};
      const Tensor addend = node.read(add, bias);
      y = node.emit(std::move(add), {y, addend});
    } else {
      y = bias_add(node, y, result, bias, {rows_of(result.shape), n});
    }
  }
  node.give(node.result(), y);
}

// Adds the pool of kind `name` of maps [N, C, ...], or of one without N.
void give_pool(TorchNode& node, std::string_view name, ValueId x, PoolAttributes attributes) {
  Output maps = node.value(x).output;
  Output result = node.output();
  if (maps.shape.size() == attributes.kernel_shape.size() + 1) {
    maps.shape.insert(maps.shape.begin(), 1);
    result.shape.insert(result.shape.begin(), 1);
  }
  Op op = node.make_op(operators::describe(name, std::move(attributes), {maps}, result));
  const Tensor tensor = node.read(op, x);
  node.emit_results(std::move(op), {{tensor}});
}

// The dimensions that a pool moves over, by the operator's name: "max_pool2d".
std::size_t spatial_of(std::string_view op) {
  const std::size_t at = op.find_last_of("123");
  return at == std::string_view::npos ? 2 : static_cast<std::size_t>(op[at] - '0');
}

// The last dimensions of a shape.
Shape last(const Shape& shape, std::size_t size) {
  if (shape.size() < size + 1) {
    throw Error(ErrorCode::kFormat, fmt::format("expected maps of {} dimensions", size + 2));
  }
  return {shape.end() - static_cast<std::ptrdiff_t>(size), shape.end()};
}

}  // namespace

void expect_rank(const TorchNode& node, ValueId id, std::size_t rank, std::string_view what) {
  if (node.value(id).output.shape.size() != rank) {
    throw Error(ErrorCode::kFormat, fmt::format("expected {} of {} dimensions, found {}", what,
                                                rank, node.value(id).output.shape.size()));
  }
}

void convolution(TorchNode& node, const Conversion&) {
  const ValueId x = node.expect({"input", "self"});
  const ValueId weight = node.expect({"weight"});
  const ValueId bias = node.tensor({"bias"});
  const Shape maps = node.value(x).output.shape;
  const Shape filters = node.value(weight).output.shape;  // [K, C / groups, R, S]
  const Shape result = node.output().shape;
  expect_rank(node, weight, maps.size(), "filters");
  if (maps.size() < 3 || result.size() != maps.size()) {
    throw Error(ErrorCode::kUnsupported, "expected maps [N, C, ...]");
  }
  const bool is_transposed =
      node.integer("transposed", 0) != 0 || node.call().op.starts_with("conv_transpose");
  const std::span extents = std::span(maps).subspan(2);
  const std::span kernel = std::span(filters).subspan(2);
  const std::span places = std::span(result).subspan(2);
  ConvAttributes attributes{.group = node.integer("groups", 1)};
  if (is_transposed) {
    const std::size_t size = extents.size();
    attributes.window = {.strides = list_of(node, "stride", size, {1}),
                         .dilations = list_of(node, "dilation", size, {1})};
    attributes.window.pads = operators::transpose_pads(places, kernel, attributes.window, extents);
  } else {
    attributes.window = window_of(node, extents, kernel, places, {1});
  }
  const std::string_view name = is_transposed ? "conv_transpose" : "conv";
  Op op = node.make_op(operators::describe(name, std::move(attributes),
                                           {node.value(x).output, node.value(weight).output},
                                           node.output()));
  op.outputs = {node.output()};
  const Tensor tensor = node.read(op, x);
  const Tensor weights = node.read(op, weight);
  Tensor y = node.emit(std::move(op), {tensor, weights});
  if (bias != kNone) {
    y = bias_add(node, y, node.output(), bias,
                 {result[0], result[1], product(std::span(result).subspan(2))});
  }
  node.give(node.result(), y);
}

void linear(TorchNode& node, const Conversion&) {
  give_product(node, node.expect({"input"}), node.expect({"weight"}), node.tensor({"bias"}));
}

void addmm(TorchNode& node, const Conversion&) {
  give_product(node, node.expect({"mat1"}), node.expect({"mat2"}), node.expect({"self", "input"}));
}

void matmul(TorchNode& node, const Conversion&) {
  const ValueId left = node.expect({"self", "input", "tensor1"});
  const ValueId right = node.expect({"mat2", "other", "tensor2", "vec", "tensor"});
  Shape a = node.value(left).output.shape;
  Shape b = node.value(right).output.shape;
  if (b.size() <= 2) {
    if (b.size() == 1) {
      Op op = make_product(node, node.value(left).output, 1, node.output());
      const Tensor x = node.read(op, left);
      const Tensor vector = node.read(op, right);
      return node.give(node.result(), node.emit(std::move(op), {x, vector}));
    }
    return give_product(node, left, right, kNone);
  }
  if (a.empty()) {
    throw Error(ErrorCode::kFormat, "expected a left side of at least one dimension");
  }
  if (a.size() == 1) {
    a.insert(a.begin(), 1);
  }
  const std::int64_t m = a[a.size() - 2];
  const std::int64_t n = b.back();
  const auto per_product = product({m, n});
  Op op = node.make_op("batch_matmul");
  op.shape = {per_product == 0 ? 0 : elements(node.output()) / per_product, m, n, a.back()};
  op.flops = product({2, product(op.shape)});
  const Tensor x = node.read(op, left);
  const Tensor y = node.read(op, right);
  node.emit_results(std::move(op), {{x, y}});
}

// self + batch1 batch2.
void baddbmm(TorchNode& node, const Conversion&) {
  const ValueId left = node.expect({"batch1"});
  const ValueId right = node.expect({"batch2"});
  const ValueId addend = node.expect({"self", "input"});
  expect_rank(node, left, 3, "matrices");
  expect_rank(node, right, 3, "matrices");
  const Shape a = node.value(left).output.shape;
  Op op = node.make_op("batch_matmul");
  op.shape = {a[0], a[1], node.value(right).output.shape[2], a[2]};
  op.flops = product({2, product(op.shape)});
  op.outputs = {node.output()};
  const Tensor x = node.read(op, left);
  const Tensor y = node.read(op, right);
  const Tensor product_of_both = node.emit(std::move(op), {x, y});
  if (node.is_constant(addend) && elements(node.value(addend).output) <= 1) {
    return node.give(node.result(), product_of_both);  // memory that is not read
  }
  Op add = node.make_op("add");
  add.shape = {elements(node.output())};
  add.flops = add.shape[0];
  const Tensor more = node.read(add, addend);
  node.emit_results(std::move(add), {{product_of_both, more}});
}

// softmax(Q K^T / sqrt(d) + mask) V, by the ops that frameworks run without fused kernels.
void attention(TorchNode& node, const Conversion&) {
  const ValueId query = node.expect({"query"});
  const ValueId key = node.expect({"key"});
  const ValueId value = node.expect({"value"});
  const ValueId mask = node.tensor({"attn_mask", "attn_bias"});
  const Output q = node.value(query).output;
  const Shape k = node.value(key).output.shape;
  if (q.shape.size() < 3 || k.size() != q.shape.size() ||
      node.value(value).output.shape.size() != k.size()) {
    throw Error(ErrorCode::kUnsupported,
                "expected queries, keys and values [..., positions, width]");
  }
  const auto rank = q.shape.size();
  const std::int64_t queries = q.shape[rank - 2];
  const std::int64_t keys = k[rank - 2];
  const std::int64_t width = q.shape[rank - 1];
  const std::int64_t out = node.value(value).output.shape[rank - 1];
  const std::int64_t batch = product(std::span(q.shape.data(), rank - 2));
  Shape shape = q.shape;
  shape[rank - 1] = keys;
  const Output scores = make_output(shape, q.type);
  Op op = node.make_op("batch_matmul");
  op.shape = {batch, queries, keys, width};
  op.flops = product({2, product(op.shape)});
  op.outputs = {scores};
  const Tensor left = node.read(op, query);
  const Tensor right = node.read(op, key);
  Tensor y = node.emit(std::move(op), {left, right});
  const auto step = [&](std::string_view kind, std::int64_t flops, Shape extents) {
    Op next = node.make_op(kind);
    next.shape = std::move(extents);
    next.flops = product({flops, elements(scores)});
    next.outputs = {scores};
    if (kind == "dropout") {
      next.outputs.push_back(make_output(scores.shape, DataType::kBool));
    }
    y = node.emit(std::move(next), {y});
  };
  step("scale", 1, {elements(scores)});
  if (node.integer("is_causal", 0) != 0) {
    step("causal_mask", 1, {elements(scores)});
  }
  if (mask != kNone) {
    Op add = node.make_op("add");
    add.shape = {elements(scores)};
    add.flops = elements(scores);
    add.outputs = {scores};
    const Tensor hidden = node.read(add, mask);
    y = node.emit(std::move(add), {y, hidden});
  }
  step("softmax", 5, {keys == 0 ? 0 : elements(scores) / keys, keys});
  const Argument* p = node.find({"dropout_p"});
  if (p != nullptr && p->number.value_or(0) > 0) {
    step("dropout", 2, {elements(scores)});
  }
  Op last = node.make_op("batch_matmul");
  last.shape = {batch, queries, out, keys};
  last.flops = product({2, product(last.shape)});
  last.outputs = {node.output()};
  const Tensor values = node.read(last, value);
  node.give(node.result(), node.emit(std::move(last), {y, values}));
}

// As ModelBuilder::batch_norm(): scale and offset are one variable, the moving statistics belong to
// the op.
void batch_norm(TorchNode& node, const Conversion& row) {
  const ValueId x = node.expect({"input"});
  const Output value = node.value(x).output;
  if (value.shape.size() < 2) {
    throw Error(ErrorCode::kUnsupported, "expected a tensor [N, C, ...]");
  }
  const std::int64_t channels = value.shape[1];
  Op op = node.make_op("batch_norm");
  op.shape = {value.shape[0], channels, product(std::span(value.shape).subspan(2))};
  op.flops = product({row.flops, elements(value)});
  for (const std::string_view statistics : {"running_mean", "running_var"}) {
    const ValueId id = node.tensor({statistics});
    op.persistent_bytes = sum({op.persistent_bytes, id == kNone ? 0 : node.value(id).output.bytes});
  }
  op.bytes_read = sum({value.bytes, op.persistent_bytes});
  op.bytes_written = op.persistent_bytes;
  op.outputs = {node.output(), make_output({2, channels}, DataType::kFloat32)};
  const Tensor maps = node.read(op, x);
  const Tensor scale_offset =
      node.read_joined(op, {node.tensor({"weight"}), node.tensor({"bias"})}, {2, channels});
  node.give(node.result(), node.emit(std::move(op), {maps, scale_offset}));
}

// As ModelBuilder::layer_norm(). A group of channels is a row, too.
void layer_norm(TorchNode& node, const Conversion& row) {
  const ValueId x = node.expect({"input"});
  const Output value = node.value(x).output;
  const Argument* groups = node.find({"num_groups", "group"});
  const std::int64_t rows =
      groups != nullptr && !groups->integers.empty() && !value.shape.empty()
          ? product({value.shape[0], groups->integers[0]})
          : elements(value) /
                std::max<std::int64_t>(product(node.integers("normalized_shape", {1})), 1);
  Op op = node.make_op("layer_norm");
  op.shape = {rows, rows == 0 ? 0 : elements(value) / rows};
  op.flops = product({row.flops, elements(value)});
  op.outputs = {node.output(), make_output({rows, 2}, DataType::kFloat32)};
  const ValueId weight = node.tensor({"weight"});
  const std::int64_t width = weight == kNone ? op.shape[1] : elements(node.value(weight).output);
  const Tensor tensor = node.read(op, x);
  const Tensor scale_offset = node.read_joined(op, {weight, node.tensor({"bias"})}, {2, width});
  node.give(node.result(), node.emit(std::move(op), {tensor, scale_offset}));
}

// `row.flops` is what a window takes less than one operation for each of its numbers.
void pool(TorchNode& node, const Conversion& row) {
  const ValueId x = node.expect({"self", "input"});
  const std::size_t size = spatial_of(row.op);
  PoolAttributes attributes{.kernel_shape = list_of(node, "kernel_size", size, {1}),
                            .ceil_mode = node.integer("ceil_mode", 0) != 0};
  const Shape extents = last(node.value(x).output.shape, size);
  const Shape places = last(node.output().shape, size);
  attributes.window =
      window_of(node, extents, attributes.kernel_shape, places, attributes.kernel_shape);
  give_pool(node, row.kind, x, std::move(attributes));
}

void adaptive_pool(TorchNode& node, const Conversion& row) {
  const ValueId x = node.expect({"self", "input"});
  const Shape& maps = node.value(x).output.shape;
  if (maps == node.output().shape) {
    return node.view(x);
  }
  const std::size_t size = spatial_of(row.op);
  give_pool(node, row.kind, x,
            operators::adaptive_pool(last(maps, size), last(node.output().shape, size)));
}

// A mean over all of each map is a pool.
void mean(TorchNode& node, const Conversion& row) {
  const ValueId x = node.expect({"self", "input"});
  const Shape maps = node.value(x).output.shape;
  Shape dims = node.integers("dim", {});
  std::ranges::transform(dims, dims.begin(), [&](std::int64_t dim) {
    return static_cast<std::int64_t>(axis_of(dim, maps.size()));
  });
  std::ranges::sort(dims);
  if (maps.size() == 4 && dims == Shape{2, 3}) {
    give_pool(
        node, "avg_pool", x,
        operators::adaptive_pool(std::span(maps).subspan(2), std::array<std::int64_t, 2>{1, 1}));
  } else {
    per_input(node, row);
  }
}

void softmax(TorchNode& node, const Conversion& row) {
  const ValueId x = node.expect({"self", "input"});
  const Shape& shape = node.value(x).output.shape;
  const std::int64_t columns =
      shape.empty() ? 1 : shape[axis_of(node.integer("dim", -1), shape.size())];
  Op op = node.make_op(row.kind);
  op.shape = {columns == 0 ? 0 : product(shape) / columns, columns};
  op.flops = product({row.flops, product(shape)});
  const Tensor tensor = node.read(op, x);
  node.emit_results(std::move(op), {{tensor}});
}

// With a negative log-likelihood after it, it is one loss.
void log_softmax(TorchNode& node, const Conversion& row) {
  const bool is_loss = node.is_read_only_by("nll_loss_forward") ||
                       node.is_read_only_by("nll_loss2d_forward") ||
                       node.is_read_only_by("nll_loss_nd");
  if (is_loss) {
    node.view(node.expect({"self", "input"}));
  } else {
    softmax(node, row);
  }
}

void embedding(TorchNode& node, const Conversion&) {
  const ValueId weight = node.expect({"weight"});
  const ValueId ids = node.expect({"indices", "input"});
  expect_rank(node, weight, 2, "a table");
  const Output table = node.value(weight).output;
  Op op = node.make_op("embedding");
  op.shape = {elements(node.value(ids).output), table.shape[0], table.shape[1]};
  // Of the table, only the rows that are looked up are read.
  op.bytes_read = node.output().bytes - table.bytes;
  const Tensor rows = node.read(op, weight);
  const Tensor numbers = node.read(op, ids);
  node.emit_results(std::move(op), {{rows, numbers}});
}

// A sum, mean or maximum of some rows of a table for each bag.
void embedding_bag(TorchNode& node, const Conversion&) {
  const ValueId weight = node.expect({"weight"});
  const ValueId ids = node.expect({"indices", "input"});
  expect_rank(node, weight, 2, "a table");
  const Output table = node.value(weight).output;
  const Output result = node.output();
  const std::int64_t bags = result.shape.empty() ? 1 : result.shape[0];
  const std::int64_t rows = elements(node.value(ids).output);
  const std::int64_t width = table.shape[1];
  const bool is_mean = node.integer("mode", 0) == 1;
  Op op = node.make_op("embedding_bag");
  op.shape = {bags, bags == 0 ? 0 : (rows + bags - 1) / bags, table.shape[0], width};
  op.flops = product({std::max<std::int64_t>(rows - (is_mean ? 0 : bags), 0), width});
  op.bytes_read = product({rows, width, size_of(table.type)}) - table.bytes;
  op.outputs = {result};
  std::vector<Tensor> inputs{node.read(op, weight), node.read(op, ids)};
  if (const ValueId factors = node.tensor({"per_sample_weights"}); factors != kNone) {
    op.flops = sum({op.flops, product({rows, width})});
    inputs.push_back(node.read(op, factors));
  }
  node.give(node.result(), node.emit(std::move(op), inputs));
}

// Weights v of the length g: v g / |v|, with a length for each row, or one for all.
void weight_norm(TorchNode& node, const Conversion&) {
  const ValueId v = node.expect({"v"});
  const ValueId g = node.expect({"g"});
  const Output weights = node.value(v).output;
  const Output lengths = node.value(g).output;
  Op norm = node.make_op("reduce_l2");
  norm.shape = {elements(weights), elements(lengths)};
  norm.flops = product({2, elements(weights)});
  norm.outputs = {lengths};
  const Tensor directions = node.read(norm, v);
  const Tensor length = node.emit(std::move(norm), {directions});
  Op quotient = node.make_op("div");
  quotient.shape = {elements(lengths)};
  quotient.flops = elements(lengths);
  quotient.outputs = {lengths};
  const Tensor wanted = node.read(quotient, g);
  const Tensor factor = node.emit(std::move(quotient), {wanted, length});
  Op op = node.make_op("broadcast_multiply");
  op.shape = {elements(weights)};
  op.flops = elements(weights);
  op.outputs = {weights};
  node.give(node.call().results[0], node.emit(std::move(op), {directions, factor}));
  if (node.call().results.size() > 1 && node.call().results[1] != kNone) {
    node.give(node.call().results[1], length);
  }
}

namespace {

// Each of so many products has three factors, and is added up.
void emit_trilinear(TorchNode& node, const Conversion& row, std::int64_t products,
                    const std::vector<ValueId>& factors, ValueId bias) {
  Op op = node.make_op(row.kind);
  op.shape = {products};
  op.flops = product({3, products});
  op.outputs = {node.output()};
  std::vector<Tensor> inputs;
  inputs.reserve(factors.size());
  for (const ValueId factor : factors) {
    inputs.push_back(node.read(op, factor));
  }
  Tensor y = node.emit(std::move(op), inputs);
  if (bias != kNone) {
    const std::int64_t columns = std::max<std::int64_t>(elements(node.value(bias).output), 1);
    y = bias_add(node, y, node.output(), bias, {elements(node.output()) / columns, columns});
  }
  node.give(node.result(), y);
}

}  // namespace

// x1 [.., A], weights [K, A, B] and x2 [.., B] make [.., K].
void bilinear(TorchNode& node, const Conversion& row) {
  const ValueId x = node.expect({"input1"});
  const ValueId weight = node.expect({"weight"});
  const std::int64_t products =
      product({rows_of(node.value(x).output.shape), elements(node.value(weight).output)});
  emit_trilinear(node, row, products, {x, weight, node.expect({"input2"})}, node.tensor({"bias"}));
}

// The same, with new dimensions in each factor, and some of all that are added up.
void trilinear(TorchNode& node, const Conversion& row) {
  const std::vector<ValueId> factors{node.expect({"i1"}), node.expect({"i2"}), node.expect({"i3"})};
  Shape extents;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    Shape shape = node.value(factors[i]).output.shape;
    Shape axes = node.integers(std::array{"expand1", "expand2", "expand3"}[i], {});
    std::ranges::sort(axes);
    for (const std::int64_t axis : axes) {
      const std::size_t place = axis_of(axis, shape.size() + axes.size());
      shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(std::min(place, shape.size())), 1);
    }
    extents.resize(std::max(extents.size(), shape.size()), 1);
    for (std::size_t d = 0; d < shape.size(); ++d) {
      extents[d] = std::max(extents[d], shape[d]);
    }
  }
  emit_trilinear(node, row, product(extents), factors, kNone);
}

}  // namespace emplace::torch_program
