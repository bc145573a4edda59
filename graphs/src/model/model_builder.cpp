#include "assemble.hpp"
#include "operators/operators.hpp"

#include <emplace/base/error.hpp>
#include <emplace/base/id_vector.hpp>
#include <emplace/graphs/model_builder.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace emplace {
namespace {

constexpr std::int64_t kFloatBytes = 4;

}  // namespace

ModelBuilder::ModelBuilder(std::string name, std::string source, DataType type) : type_(type) {
  graph_[boost::graph_bundle] = {.name = std::move(name), .source = std::move(source)};
}

ModelBuilder::Scope::Scope(ModelBuilder& builder, std::string_view name)
    : builder_(builder), length_(builder.scope_.size()) {
  builder.scope_ += fmt::format("{}{}", builder.scope_.empty() ? "" : "/", name);
}

ModelBuilder::Scope::~Scope() { builder_.scope_.resize(length_); }

void ModelBuilder::fail(const std::string& message) const {
  throw Error(ErrorCode::kUsage, fmt::format("graph '{}': scope '{}': {}",
                                             graph_[boost::graph_bundle].name, scope_, message));
}

const std::vector<std::int64_t>& ModelBuilder::shape(Tensor x) const {
  return value_of(graph_, x).shape;
}

std::string ModelBuilder::in_scope(std::string_view name) const {
  return scope_.empty() ? std::string(name) : fmt::format("{}/{}", scope_, name);
}

std::string ModelBuilder::unique_name(const std::string& first) {
  std::string name = first;
  while (used_.contains(name)) {
    name = fmt::format("{}_{}", first, ++used_[first]);
  }
  used_.emplace(name, 1);
  return name;
}

Op ModelBuilder::make_op(std::string_view kind) {
  return {.name = unique_name(in_scope(kind)), .kind = std::string(kind), .scope = scope_};
}

Tensor ModelBuilder::emit(Op op, std::span<const Tensor> inputs) {
  // A variable shares its device with the op that reads it first.
  for (const Tensor input : inputs) {
    const bool is_variable = value_of(graph_, input).persistent;
    const auto producer = index_of(input.op);
    if (is_variable && boost::out_degree(producer, graph_) == 0) {
      Op& variable = graph_[producer];
      if (op.colocation.empty()) {
        op.colocation = variable.colocation;
      } else {
        variable.colocation = op.colocation;
      }
    }
  }
  return {append_op(graph_, std::move(op), inputs), 0};
}

Tensor ModelBuilder::emit(Op op, std::initializer_list<Tensor> inputs) {
  return emit(std::move(op), std::span(inputs.begin(), inputs.size()));
}

// Adds an op of an operator of the library, which says what its results are unless it has them.
Tensor ModelBuilder::define(Op op, std::string_view op_name, Attributes attributes,
                            std::span<const Tensor> inputs) {
  try {
    operators::define(op, op_name, std::move(attributes), values_of(graph_, inputs));
  } catch (const Error& error) {
    fail(error.what());
  }
  return emit(std::move(op), inputs);
}

Tensor ModelBuilder::define(Op op, std::string_view op_name, Attributes attributes,
                            std::initializer_list<Tensor> inputs) {
  return define(std::move(op), op_name, std::move(attributes),
                std::span(inputs.begin(), inputs.size()));
}

Tensor ModelBuilder::define(std::string_view kind, std::initializer_list<Tensor> inputs,
                            Attributes attributes) {
  return define(make_op(kind), kind, std::move(attributes), inputs);
}

Tensor ModelBuilder::add_variable(const std::string& name, std::vector<std::int64_t> shape) {
  check_extents(name, shape);
  Op op{.name = unique_name(name), .kind = "variable", .shape = shape, .scope = scope_};
  op.colocation = op.name;
  op.parameters = product(shape);
  op.outputs = {make_output(std::move(shape), type_)};
  op.outputs[0].persistent = true;
  op.persistent_bytes = op.outputs[0].bytes;
  return emit(std::move(op), {});
}

Tensor ModelBuilder::variable(std::string_view name, std::vector<std::int64_t> shape) {
  return add_variable(in_scope(name), std::move(shape));
}

Tensor ModelBuilder::variable(const Op& reader, std::string_view name,
                              std::vector<std::int64_t> shape) {
  return add_variable(fmt::format("{}/{}", reader.name, name), std::move(shape));
}

void ModelBuilder::check_extents(std::string_view name, std::span<const std::int64_t> shape) const {
  if (std::ranges::any_of(shape, [](std::int64_t extent) { return extent < 1; })) {
    fail(fmt::format("'{}': expected dimensions of at least 1, found [{}]", name,
                     fmt::join(shape, ", ")));
  }
}

Tensor ModelBuilder::input(std::string_view name, std::vector<std::int64_t> shape, DataType type) {
  check_extents(name, shape);
  Op op{.name = unique_name(in_scope(name)), .kind = "input", .shape = shape, .scope = scope_};
  op.outputs = {make_output(std::move(shape), type)};
  return emit(std::move(op), {});
}

Tensor ModelBuilder::batch_norm(Tensor x) {
  if (shape(x).size() < 2) {
    fail(fmt::format("expected a tensor [N, C, ...], found [{}]", fmt::join(shape(x), ", ")));
  }
  const auto channels = shape(x)[1];
  Op op = make_op("batch_norm");
  const Tensor scale_offset = variable(op, "scale_offset", {2, channels});
  op.persistent_bytes = product({2, channels, kFloatBytes});  // moving mean and variance
  return define(std::move(op), "batch_norm", {}, {x, scale_offset});
}

Tensor ModelBuilder::same_shape(std::string_view kind, Tensor a, Tensor b) {
  if (shape(b) != shape(a)) {
    fail(fmt::format("cannot {} [{}] and [{}]", kind, fmt::join(shape(a), ", "),
                     fmt::join(shape(b), ", ")));
  }
  return define(kind, {a, b});
}

Tensor ModelBuilder::relu(Tensor x) { return define("relu", {x}); }
Tensor ModelBuilder::tanh(Tensor x) { return define("tanh", {x}); }
Tensor ModelBuilder::sigmoid(Tensor x) { return define("sigmoid", {x}); }
Tensor ModelBuilder::scale(Tensor x) { return define("scale", {x}); }
Tensor ModelBuilder::dropout(Tensor x) { return define("dropout", {x}); }
Tensor ModelBuilder::add(Tensor a, Tensor b) { return same_shape("add", a, b); }
Tensor ModelBuilder::subtract(Tensor a, Tensor b) { return same_shape("subtract", a, b); }
Tensor ModelBuilder::multiply(Tensor a, Tensor b) { return same_shape("multiply", a, b); }

Tensor ModelBuilder::softmax_cross_entropy(Tensor logits, Tensor labels) {
  return define("softmax_cross_entropy", {logits, labels});
}

Tensor ModelBuilder::sigmoid_cross_entropy(Tensor logits, Tensor labels) {
  return define("sigmoid_cross_entropy", {logits, labels});
}

Tensor ModelBuilder::mean_squared_error(Tensor x, Tensor target) {
  return define("mean_squared_error", {x, target});
}

Tensor ModelBuilder::add_losses(std::span<const Tensor> losses) {
  return define(make_op("add_losses"), "add_losses", {}, losses);
}

OpGraph ModelBuilder::finish() && {
  validate(graph_, graph_[boost::graph_bundle].name);
  return take(graph_);
}

}  // namespace emplace
