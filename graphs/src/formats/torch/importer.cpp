#include "importer.hpp"

#include "aten.hpp"
#include "conversions.hpp"
#include "model/assemble.hpp"
#include "model/element_type.hpp"
#include "model/strides.hpp"
#include "operators/operators.hpp"
#include "transforms/losses.hpp"

#include <emplace/base/check.hpp>
#include <emplace/base/error.hpp>
#include <emplace/base/id_vector.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

namespace emplace::torch_program {
namespace {

// Modules are called by paths with dots, "layer1.0.conv1"; scopes have slashes.
std::string scope_of(std::string_view module) {
  std::string scope(module);
  std::ranges::replace(scope, '.', '/');
  return scope;
}

std::string_view parent_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return path.substr(0, slash == std::string_view::npos ? 0 : slash);
}

std::string_view leaf_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

// --- TorchNode ---

const Argument* TorchNode::find(std::initializer_list<std::string_view> names) const {
  for (const std::string_view name : names) {
    const auto found = std::ranges::find(call_.arguments, name, &Argument::name);
    if (found != call_.arguments.end()) {
      return &*found;
    }
  }
  return nullptr;
}

ValueId TorchNode::tensor(std::initializer_list<std::string_view> names) const {
  const Argument* argument = find(names);
  return argument != nullptr && !argument->tensors.empty() ? argument->tensors.front() : kNone;
}

ValueId TorchNode::expect(std::initializer_list<std::string_view> names) const {
  const ValueId id = tensor(names);
  if (id == kNone) {
    throw Error(ErrorCode::kFormat,
                fmt::format("expected a tensor as argument '{}'", *names.begin()));
  }
  return id;
}

std::vector<ValueId> TorchNode::tensors() const {
  std::vector<ValueId> all;
  for (const Argument& argument : call_.arguments) {
    std::ranges::copy_if(argument.tensors, std::back_inserter(all),
                         [](ValueId id) { return id != kNone; });
  }
  return all;
}

std::vector<std::int64_t> TorchNode::integers(std::string_view name,
                                              const std::vector<std::int64_t>& fallback) const {
  const Argument* argument = find({name});
  return argument != nullptr && !argument->integers.empty() ? argument->integers : fallback;
}

std::int64_t TorchNode::integer(std::string_view name, std::int64_t fallback) const {
  return integers(name, {fallback}).front();
}

const TorchValue& TorchNode::value(ValueId id) const { return importer_.value(id); }

ValueId TorchNode::result() const {
  const auto found = std::ranges::find_if(call_.results, [](ValueId id) { return id != kNone; });
  if (found == call_.results.end()) {
    throw Error(ErrorCode::kFormat, "expected a result");
  }
  return *found;
}

bool TorchNode::is_wanted(ValueId id) const { return id != kNone && importer_.live_.contains(id); }

bool TorchNode::is_read_only_by(std::string_view op) const {
  const auto readers = importer_.readers_.find(result());
  return readers != importer_.readers_.end() &&
         std::ranges::all_of(readers->second, [&](auto reader) { return reader == op; });
}

Op TorchNode::make_op(Op op) const {
  op.scope = scope_of(call_.module);
  op.name =
      importer_.unique_name(op.scope.empty() ? op.kind : fmt::format("{}/{}", op.scope, op.kind));
  return op;
}

Operand Operand::stored(ValueId id) {
  Operand operand(id);
  operand.is_stored_ = true;
  return operand;
}

bool TorchNode::is_stored_transposed(ValueId id) const {
  const TorchValue& seen = value(id);
  return value(importer_.below_views(id)).origin == Origin::kParameter &&
         stored_order(seen.output.shape, seen.strides);
}

bool TorchNode::is_training() const { return importer_.training_; }

void TorchNode::add(std::string_view op_name, Attributes attributes,
                    std::span<const ValueId> inputs) {
  std::vector<Output> results;
  for (const ValueId id : call_.results) {
    if (id != kNone) {
      results.push_back(value(id).output);
    }
  }
  give_results(make(op_name, std::move(attributes), std::move(results),
                    std::vector<Operand>(inputs.begin(), inputs.end())));
}

void TorchNode::add(std::string_view op_name, Attributes attributes,
                    std::initializer_list<ValueId> inputs) {
  add(op_name, std::move(attributes), std::span(inputs.begin(), inputs.size()));
}

Tensor TorchNode::make(std::string_view op_name, Attributes attributes, std::vector<Output> results,
                       std::span<const Operand> inputs) {
  std::vector<Output> values;
  for (const Operand& input : inputs) {
    const ValueId base = input.is_stored_ ? importer_.below_views(input.id_) : input.id_;
    const bool is_stored = input.is_stored_ && value(base).origin == Origin::kParameter;
    values.push_back(input.id_ == kNone ? value_of(importer_.graph_, input.made_)
                                        : value(is_stored ? base : input.id_).output);
  }
  Op op;
  operators::count(op, op_name, std::move(attributes), values, results);
  op = make_op(std::move(op));
  op.outputs = std::move(results);
  std::vector<Tensor> tensors;
  for (const Operand& input : inputs) {
    tensors.push_back(input.id_ == kNone ? input.made_
                                         : importer_.read(op, input.id_, input.is_stored_));
  }
  return emit(std::move(op), tensors);
}

Tensor TorchNode::make(std::string_view op_name, Attributes attributes, std::vector<Output> results,
                       std::initializer_list<Operand> inputs) {
  return make(op_name, std::move(attributes), std::move(results),
              std::span(inputs.begin(), inputs.size()));
}

Tensor TorchNode::read(Op& reader, ValueId id) { return importer_.read(reader, id, false); }

Tensor TorchNode::read_joined(Op& reader, std::vector<ValueId> ids,
                              std::vector<std::int64_t> shape) {
  std::erase(ids, kNone);
  for (ValueId& id : ids) {
    id = importer_.below_views(id);
  }
  const bool are_parameters = !ids.empty() && std::ranges::all_of(ids, [&](ValueId id) {
    return value(id).origin == Origin::kParameter;
  });
  if (!are_parameters) {
    // A constant for what is not learned: ones, zeros, or what was computed before.
    const std::string name = reader.name + "/constant";
    Op op{.kind = "constant", .shape = shape, .outputs = {make_output(shape, DataType::kFloat32)}};
    return importer_.stored(reader, name, std::move(op));
  }
  std::string name = scope_of(value(ids.front()).name);
  for (std::size_t i = 1; i < ids.size(); ++i) {
    name += fmt::format("+{}", leaf_of(scope_of(value(ids[i]).name)));
  }
  if (const auto known = importer_.stored_.find(name); known != importer_.stored_.end()) {
    return known->second;
  }
  std::int64_t elements = 0;
  bool is_variable = false;
  for (const ValueId id : ids) {
    importer_.joined_.insert(id);
    elements = sum({elements, product(value(id).output.shape)});
    is_variable = is_variable || importer_.is_variable(id);
  }
  if (product(shape) != elements) {
    shape = {elements};
  }
  Op op{.kind = is_variable ? "variable" : "constant",
        .shape = shape,
        .outputs = {make_output(shape, value(ids.front()).output.type)},
        .parameters = is_variable ? elements : 0,
        .scope = std::string(parent_of(name))};
  return importer_.stored(reader, name, std::move(op));
}

Tensor TorchNode::emit(Op op, std::span<const Tensor> inputs) {
  return {append_op(importer_.graph_, std::move(op), inputs), 0};
}

Tensor TorchNode::emit(Op op, std::initializer_list<Tensor> inputs) {
  return emit(std::move(op), std::span(inputs.begin(), inputs.size()));
}

void TorchNode::give(ValueId id, Tensor tensor) {
  if (id != kNone) {
    importer_.tensors_.emplace(id, tensor);
  }
}

void TorchNode::emit_results(Op op, std::span<const Tensor> inputs) {
  for (const ValueId id : call_.results) {
    if (id != kNone) {
      op.outputs.push_back(value(id).output);
    }
  }
  give_results(emit(std::move(op), inputs));
}

void TorchNode::give_results(Tensor first) {
  for (const ValueId id : call_.results) {
    if (id != kNone) {
      give(id, first);
      ++first.output;
    }
  }
}

void TorchNode::view(ValueId id) { importer_.views_.insert_or_assign(result(), id); }

// --- TorchImporter ---

TorchImporter::TorchImporter(Program program, const std::string& source)
    : program_(std::move(program)), source_(source) {}

OpGraph TorchImporter::run(bool training) && {
  training_ = training;
  find_constants();
  find_uses();
  for (const ValueId id : program_.inputs) {
    if (value(id).origin == Origin::kInput) {
      const Output& output = value(id).output;
      Op op{.name = unique_name(value(id).name),
            .kind = "input",
            .shape = output.shape,
            .outputs = {output}};
      tensors_[id] = {append_op(graph_, std::move(op), {}), 0};
    }
  }
  for (const TorchCall& call : program_.calls) {
    add_call(call);
  }
  if (num_ops(graph_) == 0) {
    fail("the program has neither inputs nor operators");
  }
  if (training_) {
    add_loss();
  }
  add_unread_parameters();
  graph_[boost::graph_bundle] = {.name = program_.name, .source = program_.source};
  return graph_;
}

void TorchImporter::fail(const std::string& message) const {
  throw Error(ErrorCode::kFormat, fmt::format("{}: {}", source_, message));
}

// A list of tensors may leave some out that an operator needs.
std::size_t TorchImporter::place_of(ValueId id) {
  if (id == kNone) {
    throw Error(ErrorCode::kFormat, "expected a tensor in a list of its arguments, found none");
  }
  return static_cast<std::size_t>(id);
}

// What depends on constants alone, or on nothing but a shape, is a constant.
void TorchImporter::find_constants() {
  for (const TorchCall& call : program_.calls) {
    bool is_constant = true;
    bool is_random = draws_at_random(call.op);
    for (const Argument& argument : call.arguments) {
      for (const ValueId id : argument.tensors) {
        if (id != kNone) {
          is_constant = is_constant && value(id).origin == Origin::kConstant;
          is_random = is_random || value(id).is_random;
        }
      }
    }
    if (is_constant || reads_only_shapes(call.op)) {
      for (const ValueId id : call.results) {
        if (id != kNone) {
          value(id).origin = Origin::kConstant;
          value(id).is_random = is_random;
        }
      }
    }
  }
}

void TorchImporter::find_uses() {
  std::vector<ValueId> outputs = program_.outputs;
  live_.insert(outputs.begin(), outputs.end());
  for (auto call = program_.calls.rbegin(); call != program_.calls.rend(); ++call) {
    const bool is_live =
        std::ranges::any_of(call->results, [&](ValueId id) { return live_.contains(id); });
    for (const Argument& argument : call->arguments) {
      for (const ValueId id : argument.tensors) {
        if (is_live && id != kNone) {
          live_.insert(id);
          readers_[id].push_back(call->op);
        }
      }
    }
  }
  for (const ValueId id : outputs) {
    readers_[id].emplace_back("output");
  }
}

std::string TorchImporter::unique_name(const std::string& name) { return names_.unique(name); }

bool TorchImporter::is_variable(ValueId id) const {
  return value(id).origin == Origin::kParameter && (value(id).is_trained || !training_);
}

// Adds the op that holds a tensor between steps; its first reader is where it lives.
Tensor TorchImporter::stored(Op& reader, const std::string& key, Op op) {
  op.name = unique_name(key);
  if (op.scope.empty()) {
    op.scope = reader.scope;
  }
  if (reader.colocation.empty()) {
    reader.colocation = op.name;
  }
  op.colocation = reader.colocation;
  op.outputs[0].persistent = true;
  op.persistent_bytes = op.outputs[0].bytes;
  return stored_[key] = {append_op(graph_, std::move(op), {}), 0};
}

ValueId TorchImporter::below_views(ValueId id) const {
  for (auto view = views_.find(id); view != views_.end(); view = views_.find(id)) {
    id = view->second;
  }
  return id;
}

Tensor TorchImporter::read(Op& reader, ValueId id, bool as_stored) {
  if (const auto known = tensors_.find(id); known != tensors_.end()) {
    return known->second;
  }
  if (views_.contains(id)) {
    const ValueId base = below_views(id);
    const bool is_same = value(base).output.shape == value(id).output.shape;
    if (is_same || (as_stored && value(base).origin == Origin::kParameter)) {
      return read(reader, base, as_stored);
    }
    const Tensor below = read(reader, base, as_stored);
    Op op{.name = unique_name(
              fmt::format("{}{}reshape", reader.scope, reader.scope.empty() ? "" : "/")),
          .kind = "reshape",
          .shape = value(id).output.shape,
          .outputs = {value(id).output},
          .scope = reader.scope};
    return tensors_[id] = {append_op(graph_, std::move(op), {below}), 0};
  }
  const bool is_parameter = value(id).origin == Origin::kParameter;
  if (!is_parameter && value(id).origin != Origin::kConstant) {
    throw Error(ErrorCode::kUnsupported,
                fmt::format("it reads '{}', a result that its producer has in training only",
                            excerpt(value(id).name)));
  }
  const std::string name = scope_of(value(id).name);
  const Output& output = value(id).output;
  Op op{.kind = is_variable(id) ? "variable" : "constant",
        .shape = output.shape,
        .outputs = {output}};
  op.parameters = is_variable(id) ? product(output.shape) : 0;
  if (is_parameter) {
    op.scope = parent_of(name);
  }
  return tensors_[id] = stored(reader, name, std::move(op));
}

void TorchImporter::add_call(const TorchCall& call) {
  const auto is_wanted = [&](ValueId id) {
    return id != kNone && live_.contains(id) && value(id).origin != Origin::kConstant;
  };
  if (std::ranges::none_of(call.results, is_wanted)) {
    return;
  }
  TorchNode node(*this, call);
  try {
    find_conversion(call.op)(node, kind_of_aten(call.op));
  } catch (const Error& error) {
    // A size that does not fit 64 bits is the file's mistake.
    const bool is_usage = error.code() == ErrorCode::kUsage;
    throw Error(is_usage ? ErrorCode::kFormat : error.code(),
                fmt::format("{}: operator {} in module '{}': {}", source_, excerpt(call.op),
                            excerpt(call.module), error.what()));
  }
}

// What the step does not read takes memory all the same.
void TorchImporter::add_unread_parameters() {
  for (const ValueId id : program_.inputs) {
    if (value(id).origin != Origin::kParameter || joined_.contains(id) || tensors_.contains(id)) {
      continue;
    }
    const std::string name = scope_of(value(id).name);
    Op nobody{.scope = std::string(parent_of(name))};
    read(nobody, id, true);
  }
}

// The mean cross entropy of a result, whose last dimension is the classes: of its softmax, or of
// its sigmoid where there is one class.
Tensor TorchImporter::add_cross_entropy(ValueId logits) {
  const Output output = value(logits).output;
  const std::int64_t columns = output.shape.back();
  const std::int64_t rows = columns == 0 ? 0 : product(output.shape) / columns;
  const bool is_yes_or_no = columns == 1;
  const std::string kind = is_yes_or_no ? "sigmoid_cross_entropy" : "softmax_cross_entropy";
  Op loss{.name = unique_name("loss/" + kind), .scope = "loss"};
  Tensor matrix = read(loss, logits, false);
  const Output flat = is_yes_or_no ? output : make_output({rows, columns}, output.type);
  if (flat.shape.size() != output.shape.size()) {
    Op flatten{.name = unique_name("loss/reshape"), .outputs = {flat}, .scope = "loss"};
    operators::define(flatten, "reshape", {}, std::array{output});
    matrix = {append_op(graph_, std::move(flatten), {matrix}), 0};
  }
  const Output classes = is_yes_or_no ? output : make_output({rows}, DataType::kInt64);
  Op labels{
      .name = unique_name("labels"), .kind = "input", .shape = classes.shape, .outputs = {classes}};
  const Tensor truth{append_op(graph_, std::move(labels), {}), 0};
  operators::define(loss, kind, {}, std::array{flat, classes});
  return {append_op(graph_, std::move(loss), {matrix, truth}), 0};
}

void TorchImporter::add_loss() {
  std::vector<ValueId> computed;
  for (const ValueId id : program_.outputs) {
    if (id != kNone && value(id).origin == Origin::kComputed &&
        is_floating(value(id).output.type)) {
      computed.push_back(id);
    }
  }
  if (computed.empty()) {
    fail("to be trained, a model must have a result of floating-point numbers that it computes");
  }
  const std::vector<std::int64_t> shape = value(computed.front()).output.shape;
  const bool has_loss = [&] {
    for (OpId op = 0; op < num_ops(graph_); ++op) {
      if (is_loss(graph_, op)) {
        return true;
      }
    }
    return false;
  }();
  if (has_loss) {
    return;
  }
  if (shape.empty()) {
    fail(
        fmt::format("to be trained, a model must end in a loss or in logits; its result is a "
                    "number that is not a loss of the kinds {}",
                    fmt::join(kLosses, ", ")));
  }
  std::vector<Tensor> losses;
  for (const ValueId id : computed) {
    if (value(id).output.shape == shape) {
      losses.push_back(add_cross_entropy(id));
    }
  }
  if (losses.size() > 1) {
    Op op{.name = unique_name("loss/add_losses"), .scope = "loss"};
    operators::define(op, "add_losses", {},
                      std::vector<Output>(losses.size(), make_output({}, DataType::kFloat32)));
    append_op(graph_, std::move(op), losses);
  }
}

}  // namespace emplace::torch_program
