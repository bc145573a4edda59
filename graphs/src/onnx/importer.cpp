#include "importer.hpp"

#include "../assemble.hpp"
#include "conversions.hpp"

#include <emplace/graphs/check.hpp>
#include <emplace/graphs/error.hpp>
#include <emplace/graphs/id_vector.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace emplace::onnx_model {
namespace {

// Exporters call nodes by the path of their layer: "/layer1/layer1.0/conv1/Conv".
std::string_view path_of(std::string_view name) {
  return name.substr(std::min(name.find_first_not_of('/'), name.size()));
}

std::string scope_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return std::string(path.substr(0, slash == std::string_view::npos ? 0 : slash));
}

}  // namespace

// --- Node
// ------------------------------------------------------------------------------------------

std::int64_t Node::opset() const { return importer_.model_.opset; }

const std::string& Node::input_name(std::size_t index) const {
  EMPLACE_CHECK(has_input(index), "node '{}' has no input {}", proto_.name(), index);
  return proto_.input(static_cast<int>(index));
}

bool Node::has_input(std::size_t index) const {
  return index < num_inputs() && !proto_.input(static_cast<int>(index)).empty();
}

bool Node::is_data(std::size_t index) const {
  return has_input(index) && (importer_.value(input_name(index)).origin != Origin::kConstant ||
                              product(input(index).shape) > kMaxSetting);
}

bool Node::is_weight(std::size_t index) const {
  return has_input(index) && importer_.value(input_name(index)).origin == Origin::kWeight;
}

const Output& Node::input(std::size_t index) const {
  return importer_.value(input_name(index)).output;
}

const Output& Node::result() const {
  for (const std::string& name : proto_.output()) {
    if (const auto found = importer_.model_.values.find(name);
        found != importer_.model_.values.end()) {
      return found->second.output;
    }
  }
  EMPLACE_CHECK(false, "node '{}' has no result", proto_.name());
}

const Integers* Node::integers(std::size_t index) const {
  if (!has_input(index)) {
    return nullptr;
  }
  const auto& integers = importer_.value(input_name(index)).integers;
  return integers ? &*integers : nullptr;
}

Op Node::make_op(std::string_view kind, std::string_view suffix) const {
  std::string path(path_of(proto_.name()));
  if (path.empty()) {
    path = kind_of(proto_.op_type());
  }
  const std::string scope = scope_of(path);
  if (!suffix.empty()) {
    path += fmt::format("/{}", suffix);
  }
  return {
      .name = importer_.unique_name(std::move(path)), .kind = std::string(kind), .scope = scope};
}

Tensor Node::read(Op& reader, std::size_t index) {
  const std::string name(importer_.resolve(input_name(index)));
  const Value& value = importer_.value(name);
  if (const auto known = importer_.tensors_.find(name); known != importer_.tensors_.end()) {
    return known->second;
  }
  if (value.origin == Origin::kComputed) {
    throw Error(
        ErrorCode::kUnsupported,
        fmt::format("it reads '{}', a result that its maker has for training only", excerpt(name)));
  }
  Op op{.kind = value.origin == Origin::kWeight ? "variable" : "constant",
        .shape = value.output.shape,
        .outputs = {value.output}};
  op.parameters = value.origin == Origin::kWeight ? product(value.output.shape) : 0;
  return importer_.stored(reader, name, std::move(op));
}

Tensor Node::read_joined(Op& reader, std::size_t first, std::size_t second) {
  const std::string name = fmt::format("{}+{}", importer_.resolve(input_name(first)),
                                       importer_.resolve(input_name(second)));
  if (const auto known = importer_.tensors_.find(name); known != importer_.tensors_.end()) {
    return known->second;
  }
  std::vector<std::int64_t> shape = input(first).shape;
  shape.insert(shape.begin(), 2);
  Op op{.kind = "variable",
        .shape = shape,
        .outputs = {make_output(shape, input(first).type)},
        .parameters = product(shape)};
  return importer_.stored(reader, name, std::move(op));
}

std::vector<Tensor> Node::read_data(Op& reader) {
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < num_inputs(); ++i) {
    if (is_data(i)) {
      tensors.push_back(read(reader, i));
    }
  }
  return tensors;
}

Tensor Node::emit(Op op, std::span<const Tensor> inputs) {
  return {append_op(importer_.graph_, std::move(op), inputs), 0};
}

Tensor Node::emit(Op op, std::initializer_list<Tensor> inputs) {
  return emit(std::move(op), std::span(inputs.begin(), inputs.size()));
}

void Node::give(std::size_t index, Tensor tensor) {
  if (std::cmp_less(index, proto_.output_size())) {
    importer_.tensors_.emplace(proto_.output(static_cast<int>(index)), tensor);
  }
}

void Node::emit_results(Op op, std::span<const Tensor> inputs) {
  std::vector<std::size_t> results;
  for (std::size_t i = 0; std::cmp_less(i, proto_.output_size()); ++i) {
    const auto found = importer_.model_.values.find(proto_.output(static_cast<int>(i)));
    if (found != importer_.model_.values.end()) {
      op.outputs.push_back(found->second.output);
      results.push_back(i);
    }
  }
  Tensor tensor = emit(std::move(op), inputs);
  for (const std::size_t index : results) {
    give(index, tensor);
    ++tensor.output;
  }
}

void Node::pass_on() {
  importer_.aliases_.emplace(proto_.output(0), importer_.resolve(input_name(0)));
}

// --- Importer
// --------------------------------------------------------------------------------------

OpGraph Importer::run(bool with_loss) && {
  for (const auto& input : model_.proto.graph().input()) {
    if (value(input.name()).origin == Origin::kInput) {
      add_input(input.name());
    }
  }
  for (const onnx::NodeProto& node : model_.proto.graph().node()) {
    if (!is_constant(node)) {
      add_node(node);
    }
  }
  if (num_ops(graph_) == 0) {
    fail("the model has neither inputs nor nodes");
  }
  if (with_loss) {
    add_loss();
  }
  return std::move(graph_);
}

void Importer::fail(const std::string& message) const {
  throw Error(ErrorCode::kFormat, fmt::format("{}: {}", source_, message));
}

// Says whether a node makes nothing that depends on the step's data.
bool Importer::is_constant(const onnx::NodeProto& node) const {
  return std::ranges::all_of(node.output(), [&](const std::string& name) {
    const auto found = model_.values.find(name);
    return found == model_.values.end() || found->second.origin == Origin::kConstant;
  });
}

std::string Importer::unique_name(std::string name) {
  std::string unique = name.empty() ? "op" : name;
  for (int i = 2; !names_.insert(unique).second; ++i) {
    unique = fmt::format("{}_{}", name, i);
  }
  return unique;
}

std::string_view Importer::resolve(std::string_view name) const {
  const auto alias = aliases_.find(name);
  return alias != aliases_.end() ? std::string_view(alias->second) : name;
}

const Value& Importer::value(std::string_view name) const {
  const auto found = model_.values.find(resolve(name));
  EMPLACE_CHECK(found != model_.values.end(), "no tensor is called '{}'", name);
  return found->second;
}

void Importer::add_input(const std::string& name) {
  const Output& output = value(name).output;
  Op op{.name = unique_name(name), .kind = "input", .shape = output.shape, .outputs = {output}};
  tensors_[name] = {append_op(graph_, std::move(op), {}), 0};
}

// Adds the op that holds a tensor between steps; its first reader is where it lives.
Tensor Importer::stored(Op& reader, const std::string& name, Op op) {
  op.name = unique_name(name);
  op.scope = reader.scope;
  if (reader.colocation.empty()) {
    reader.colocation = op.name;
  }
  op.colocation = reader.colocation;
  op.outputs[0].persistent = true;
  op.persistent_bytes = op.outputs[0].bytes;
  return tensors_[name] = {append_op(graph_, std::move(op), {}), 0};
}

void Importer::add_node(const onnx::NodeProto& proto) {
  Node node(*this, proto);
  const bool is_standard = proto.domain().empty() || proto.domain() == "ai.onnx";
  const Conversion conversion = find_conversion(is_standard ? proto.op_type() : "");
  try {
    conversion.convert(node, conversion);
  } catch (const Error& error) {
    // A size that does not fit 64 bits is the file's mistake.
    const bool is_usage = error.code() == ErrorCode::kUsage;
    throw Error(is_usage ? ErrorCode::kFormat : error.code(),
                fmt::format("{}: node '{}' ({}): {}", source_, excerpt(proto.name()),
                            excerpt(proto.op_type()), error.what()));
  }
}

void Importer::add_loss() {
  for (OpId op = 0; op < num_ops(graph_); ++op) {
    if (graph_[index_of(op)].kind == "softmax_cross_entropy") {
      return;
    }
  }
  const auto& results = model_.proto.graph().output();
  const auto logits =
      results.size() == 1 ? tensors_.find(resolve(results[0].name())) : tensors_.end();
  if (logits == tensors_.end()) {
    fail(fmt::format("to be trained, a model must have one computed result, its logits; found {}",
                     results.size()));
  }
  const Output value = value_of(graph_, logits->second);
  if (value.shape.empty()) {
    fail("to be trained, the model's result must have a dimension of classes; found a scalar");
  }
  const std::int64_t columns = value.shape.back();
  const std::int64_t rows = columns == 0 ? 0 : product(value.shape) / columns;
  Tensor matrix = logits->second;
  if (value.shape.size() != 2) {
    Op flatten{.name = unique_name("loss/flatten"),
               .kind = "reshape",
               .shape = {rows, columns},
               .scope = "loss"};
    flatten.outputs = {make_output({rows, columns}, value.type)};
    matrix = {append_op(graph_, std::move(flatten), {matrix}), 0};
  }
  Op labels{.name = unique_name("labels"), .kind = "input", .shape = {rows}};
  labels.outputs = {make_output({rows}, DataType::kInt32)};
  const Tensor truth{append_op(graph_, std::move(labels), {}), 0};
  // Softmax, and a logarithm and an addition for each row.
  Op loss{
      .name = unique_name("loss/softmax_cross_entropy"),
      .kind = "softmax_cross_entropy",
      .shape = {rows, columns},
      .flops = sum({product({5, rows, columns}), product({2, rows})}),
      .outputs = {make_output({}, DataType::kFloat32), make_output({rows, columns}, value.type)},
      .scope = "loss"};
  append_op(graph_, std::move(loss), {matrix, truth});
}

}  // namespace emplace::onnx_model
