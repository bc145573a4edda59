#include "importer.hpp"

#include "model/assemble.hpp"
#include "operators.hpp"
#include "transforms/losses.hpp"

#include <emplace/base/check.hpp>
#include <emplace/base/error.hpp>
#include <emplace/base/id_vector.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

namespace emplace::onnx_model {
namespace {

// Normalizations whose results beside the first tell of the data: nothing is trained on them.
constexpr std::array<std::string_view, 5> kWithStatistics = {
    "BatchNormalization", "LayerNormalization", "SimplifiedLayerNormalization",
    "SkipLayerNormalization", "SkipSimplifiedLayerNormalization"};

// Exporters call nodes by the path of their layer: "/layer1/layer1.0/conv1/Conv".
std::string scope_of(std::string_view name) {
  name.remove_prefix(std::min(name.find_first_not_of('/'), name.size()));
  const std::size_t slash = name.rfind('/');
  return std::string(name.substr(0, slash == std::string_view::npos ? 0 : slash));
}

}  // namespace

// --- OnnxNode ---

std::int64_t OnnxNode::opset() const { return importer_.model_.opset; }

const std::string& OnnxNode::input_name(std::size_t index) const {
  if (!has_input(index)) {
    throw Error(ErrorCode::kFormat, describe_missing_input(proto_, index));
  }
  return proto_.input(static_cast<int>(index));
}

bool OnnxNode::has_input(std::size_t index) const {
  return index < num_inputs() && !proto_.input(static_cast<int>(index)).empty();
}

Operands OnnxNode::operands() const {
  Operands operands{.node = proto_};
  for (std::size_t i = 0; i < num_inputs(); ++i) {
    operands.shapes.push_back(has_input(i) ? &input(i).shape : nullptr);
    operands.numbers.push_back(numbers(i));
  }
  return operands;
}

bool OnnxNode::is_data(std::size_t index) const {
  return has_input(index) && (importer_.value(input_name(index)).origin != Origin::kConstant ||
                              product(input(index).shape) > kMaxSetting);
}

bool OnnxNode::is_weight(std::size_t index) const {
  return has_input(index) && importer_.value(input_name(index)).origin == Origin::kWeight;
}

const Output& OnnxNode::input(std::size_t index) const {
  return importer_.value(input_name(index)).output;
}

const Output& OnnxNode::result() const {
  for (const std::string& name : proto_.output()) {
    if (const auto found = importer_.model_.values.find(name);
        found != importer_.model_.values.end()) {
      return found->second.output;
    }
  }
  EMPLACE_CHECK(false, "node '{}' has no result", proto_.name());
}

const Numbers* OnnxNode::numbers(std::size_t index) const {
  if (!has_input(index)) {
    return nullptr;
  }
  const auto& numbers = importer_.value(input_name(index)).numbers;
  return numbers ? &*numbers : nullptr;
}

bool OnnxNode::is_trained_result() const {
  return proto_.output_size() > 0 && importer_.trained_results_.contains(proto_.output(0));
}

Op OnnxNode::make_op(std::string_view kind, std::string_view suffix) const {
  const std::string name = proto_.name().empty() ? kind_of(proto_.op_type()) : proto_.name();
  return {.name = suffix.empty() ? importer_.node_name(name)
                                 : importer_.unique_name(fmt::format("{}/{}", name, suffix)),
          .kind = std::string(kind),
          .scope = scope_of(name)};
}

Tensor OnnxNode::read(Op& reader, std::size_t index) {
  const std::string name(importer_.resolve(input_name(index)));
  const KnownValue& value = importer_.value(name);
  if (const auto known = importer_.tensors_.find(name); known != importer_.tensors_.end()) {
    return known->second;
  }
  if (value.origin == Origin::kComputed) {
    throw Error(ErrorCode::kUnsupported,
                fmt::format("it reads '{}', a result that its producer has in training only",
                            excerpt(name)));
  }
  Op op{.kind = value.origin == Origin::kWeight ? "variable" : "constant",
        .shape = value.output.shape,
        .outputs = {value.output}};
  op.parameters = value.origin == Origin::kWeight ? product(value.output.shape) : 0;
  return importer_.stored(reader, name, std::move(op));
}

Tensor OnnxNode::read_joined(Op& reader, std::size_t first, std::size_t second) {
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

std::vector<Tensor> OnnxNode::read_data(Op& reader) {
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < num_inputs(); ++i) {
    if (is_data(i)) {
      tensors.push_back(read(reader, i));
    }
  }
  return tensors;
}

Tensor OnnxNode::emit(Op op, std::span<const Tensor> inputs) {
  return {append_op(importer_.graph_, std::move(op), inputs), 0};
}

Tensor OnnxNode::emit(Op op, std::initializer_list<Tensor> inputs) {
  return emit(std::move(op), std::span(inputs.begin(), inputs.size()));
}

void OnnxNode::give(std::size_t index, Tensor tensor) {
  if (std::cmp_less(index, proto_.output_size())) {
    importer_.tensors_.emplace(proto_.output(static_cast<int>(index)), tensor);
  }
}

void OnnxNode::emit_results(Op op, std::span<const Tensor> inputs, std::optional<Output> reserve) {
  std::vector<std::size_t> results;
  for (std::size_t i = 0; std::cmp_less(i, proto_.output_size()); ++i) {
    const auto found = importer_.model_.values.find(proto_.output(static_cast<int>(i)));
    if (found != importer_.model_.values.end()) {
      op.outputs.push_back(found->second.output);
      results.push_back(i);
    }
  }
  if (reserve) {
    op.outputs.push_back(*std::move(reserve));
  }
  Tensor tensor = emit(std::move(op), inputs);
  for (const std::size_t index : results) {
    give(index, tensor);
    ++tensor.output;
  }
}

void OnnxNode::pass_on() {
  importer_.aliases_.emplace(proto_.output(0), importer_.resolve(input_name(0)));
}

// --- OnnxImporter ---

OpGraph OnnxImporter::run(bool with_loss) {
  for (const onnx::NodeProto* node : model_.nodes) {
    node_names_.insert(node->name());
  }
  for (const std::string& name : node_names_) {
    names_.unique(name);
  }
  if (with_loss) {
    find_trained_results();
  }
  for (const auto& input : model_.proto.graph().input()) {
    if (value(input.name()).origin == Origin::kInput) {
      add_input(input.name());
    }
  }
  for (const onnx::NodeProto* node : model_.nodes) {
    if (!is_constant(*node)) {
      add_node(*node);
    }
  }
  if (num_ops(graph_) == 0) {
    fail("the model has neither inputs nor nodes");
  }
  if (with_loss) {
    add_losses();
  }
  return graph_;
}

void OnnxImporter::fail(const std::string& message) const {
  throw Error(ErrorCode::kFormat, fmt::format("{}: {}", source_, message));
}

// Says whether a node makes nothing but what is known before the step, or weights.
bool OnnxImporter::is_constant(const onnx::NodeProto& node) const {
  return std::ranges::all_of(node.output(), [&](const std::string& name) {
    const auto found = model_.values.find(name);
    return found == model_.values.end() || found->second.origin != Origin::kComputed;
  });
}

std::string OnnxImporter::unique_name(const std::string& name) {
  return names_.unique(name.empty() ? "op" : name);
}

// The name of a node, which its first op has.
std::string OnnxImporter::node_name(const std::string& name) {
  return node_names_.erase(name) > 0 ? name : unique_name(name);
}

std::string_view OnnxImporter::resolve(std::string_view name) const {
  const auto alias = aliases_.find(name);
  return alias != aliases_.end() ? std::string_view(alias->second) : name;
}

const KnownValue& OnnxImporter::value(std::string_view name) const {
  const auto found = model_.values.find(resolve(name));
  EMPLACE_CHECK(found != model_.values.end(), "no tensor is called '{}'", name);
  return found->second;
}

void OnnxImporter::add_input(const std::string& name) {
  const Output& output = value(name).output;
  Op op{.name = unique_name(name), .kind = "input", .shape = output.shape, .outputs = {output}};
  tensors_[name] = {append_op(graph_, std::move(op), {}), 0};
}

// Adds the op that holds a tensor between steps; its first reader is where it lives.
Tensor OnnxImporter::stored(Op& reader, const std::string& name, Op op) {
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

void OnnxImporter::add_node(const onnx::NodeProto& proto) {
  OnnxNode node(*this, proto);
  const Operator* row = find_operator(proto.domain(), proto.op_type());
  try {
    if (row == nullptr) {
      ++uncounted_[proto.op_type()];
      Op op = node.make_op(kind_of(proto.op_type()));
      op.shape = node.result().shape;
      const auto inputs = node.read_data(op);
      node.emit_results(std::move(op), inputs);
      return;
    }
    if (row->kind == "sigmoid" && node.is_trained_result()) {
      yes_or_no_.insert(proto.output(0));
    }
    row->convert(node, *row);
  } catch (const Error& error) {
    // A size that does not fit 64 bits is the file's mistake.
    const bool is_usage = error.code() == ErrorCode::kUsage;
    throw Error(is_usage ? ErrorCode::kFormat : error.code(),
                fmt::format("{}: {}: {}", source_, describe(proto), error.what()));
  }
}

// --- The loss ---

// A loss is put on the first result that consists of real numbers, and on those that are classes of
// the same number beside it: heads that are there for training only.
void OnnxImporter::find_trained_results() {
  const Output* first = nullptr;
  const auto classes = [](const Output& output) {
    return output.shape.empty()      ? 1
           : output.shape.size() < 4 ? output.shape.back()
                                     : output.shape[1];
  };
  std::set<std::string_view> statistics;
  for (const onnx::NodeProto* node : model_.nodes) {
    if (std::ranges::find(kWithStatistics, node->op_type()) != kWithStatistics.end()) {
      // The fourth result of some is the sum that was normalized.
      for (int i = 1; i < node->output_size(); ++i) {
        if (i != 3 || node->op_type() == "BatchNormalization") {
          statistics.insert(node->output(i));
        }
      }
    }
  }
  for (const auto& result : model_.proto.graph().output()) {
    const auto found = model_.values.find(result.name());
    if (statistics.contains(result.name())) {
      continue;
    }
    if (found == model_.values.end() || found->second.origin != Origin::kComputed ||
        !is_floating(found->second.output.type)) {
      continue;
    }
    const Output& output = found->second.output;
    if (first == nullptr ||
        (output.shape.size() == first->shape.size() && classes(output) == classes(*first))) {
      first = first == nullptr ? &output : first;
      trained_results_.insert(result.name());
    }
  }
  for (const onnx::NodeProto* node : model_.nodes) {
    for (const std::string& name : node->input()) {
      // What others read is no probability of the model's end.
      if (trained_results_.size() > 1) {
        trained_results_.erase(name);
      }
    }
  }
}

void OnnxImporter::add_losses() {
  for (OpId op = 0; op < num_ops(graph_); ++op) {
    if (is_loss(graph_, op)) {
      return;
    }
  }
  if (trained_results_.empty()) {
    fail("to be trained, a model must have a result of real numbers that depends on its inputs");
  }
  std::vector<Tensor> losses;
  for (const auto& result : model_.proto.graph().output()) {
    if (trained_results_.contains(result.name())) {
      losses.push_back(add_loss(result.name()));
    }
  }
  if (losses.size() > 1) {
    Op sum{.name = unique_name("loss/add_losses"),
           .kind = "add_losses",
           .shape = {std::ssize(losses), 1},
           .flops = 2 * std::ssize(losses) - 1,
           .outputs = {make_output({}, DataType::kFloat32)},
           .scope = "loss"};
    append_op(graph_, std::move(sum), losses);
  }
}

// Logits are matrices, [..., classes], or maps, [N, classes, H, W].
Tensor OnnxImporter::add_loss(const std::string& result) {
  const auto logits = tensors_.find(resolve(result));
  if (logits == tensors_.end()) {
    fail(fmt::format("the result '{}' does not come from an op that could be trained",
                     excerpt(result)));
  }
  const Output value = value_of(graph_, logits->second);
  const std::int64_t count = product(value.shape);
  const bool is_scalar = value.shape.empty();
  const std::int64_t columns = is_scalar                ? 1
                               : value.shape.size() < 4 ? value.shape.back()
                                                        : value.shape[1];
  const Output scalar = make_output({}, DataType::kFloat32);
  const auto add_labels = [&](Shape shape, DataType type) {
    Op labels{.name = unique_name("labels"), .kind = "input", .shape = shape};
    labels.outputs = {make_output(std::move(shape), type)};
    return Tensor{append_op(graph_, std::move(labels), {}), 0};
  };
  if (is_scalar || columns == 1 || yes_or_no_.contains(result)) {
    const std::string kind = is_scalar ? "mean_squared_error" : "sigmoid_cross_entropy";
    const Tensor truth = add_labels(value.shape, value.type);
    Op loss{.name = unique_name("loss/" + kind),
            .kind = kind,
            .shape = {count},
            .flops = product({is_scalar ? 3 : 10, count}),
            .outputs = {scalar},
            .scope = "loss"};
    return {append_op(graph_, std::move(loss), {logits->second, truth}), 0};
  }
  const std::int64_t rows = columns == 0 ? 0 : count / columns;
  Tensor matrix = logits->second;
  if (value.shape.size() != 2) {
    Op flatten{.name = unique_name("loss/flatten"),
               .kind = "reshape",
               .shape = {rows, columns},
               .scope = "loss"};
    flatten.outputs = {make_output({rows, columns}, value.type)};
    matrix = {append_op(graph_, std::move(flatten), {matrix}), 0};
  }
  const Tensor truth = add_labels({rows}, DataType::kInt32);
  // Softmax, and a logarithm and an addition for each row.
  Op loss{.name = unique_name("loss/softmax_cross_entropy"),
          .kind = "softmax_cross_entropy",
          .shape = {rows, columns},
          .flops = sum({product({5, rows, columns}), product({2, rows})}),
          .outputs = {scalar, make_output({rows, columns}, value.type)},
          .scope = "loss"};
  return {append_op(graph_, std::move(loss), {matrix, truth}), 0};
}

}  // namespace emplace::onnx_model
