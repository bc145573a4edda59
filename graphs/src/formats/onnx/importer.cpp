#include "importer.hpp"

#include "model/assemble.hpp"
#include "model/strides.hpp"
#include "operators.hpp"
#include "operators/operators.hpp"
#include "transforms/losses.hpp"

#include <emplace/base/check.hpp>
#include <emplace/base/error.hpp>
#include <emplace/base/id_vector.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
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

OnnxNode::OnnxNode(OnnxImporter& importer, const onnx::NodeProto& proto)
    : NodeView(proto, importer.model_.opset, importer.inputs_of(proto)), importer_(importer) {}

bool OnnxNode::is_constant(std::size_t index) const {
  return has_input(index) && value(index).origin == Origin::kConstant;
}

bool OnnxNode::is_data(std::size_t index) const {
  return has_input(index) && (!is_constant(index) || product(shape(index)) > kMaxSetting);
}

bool OnnxNode::is_weight(std::size_t index) const {
  return has_input(index) && value(index).origin == Origin::kWeight;
}

const Output& OnnxNode::result() const {
  for (const std::string& name : node().output()) {
    if (const auto found = importer_.model_.values.find(name);
        found != importer_.model_.values.end()) {
      return found->second.output;
    }
  }
  EMPLACE_CHECK(false, "node '{}' has no result", node().name());
}

bool OnnxNode::is_trained() const { return importer_.is_trained_; }

bool OnnxNode::is_trained_result() const {
  return num_outputs() > 0 && importer_.trained_results_.contains(node().output(0));
}

Op OnnxNode::make_op(std::string_view suffix) const {
  const std::string name = node().name().empty() ? kind_of(node().op_type()) : node().name();
  return {.name = suffix.empty() ? importer_.node_name(name)
                                 : importer_.unique_name(fmt::format("{}/{}", name, suffix)),
          .scope = scope_of(name)};
}

// An input as `reader` sees it; a variable that is read for the first time shares its device.
Tensor OnnxNode::read(Op& reader, Source source) {
  if (const auto* tensor = std::get_if<Tensor>(&source)) {
    return *tensor;
  }
  if (const auto* joined = std::get_if<Joined>(&source)) {
    return read_joined(reader, *joined);
  }
  const int index = std::get<int>(source);
  const KnownValue& read = value(static_cast<std::size_t>(index));
  const std::string name(importer_.resolve(node().input(index)));
  if (const auto known = importer_.tensors_.find(name); known != importer_.tensors_.end()) {
    return known->second;
  }
  if (read.origin == Origin::kComputed) {
    throw Error(ErrorCode::kUnsupported,
                fmt::format("it reads '{}', a result that its producer has in training only",
                            excerpt(name)));
  }
  if (read.origin == Origin::kWeight) {
    return importer_.read_weights(reader, importer_.stored_as(name), read.output);
  }
  return importer_.stored(
      reader, name, {.kind = "constant", .shape = read.output.shape, .outputs = {read.output}});
}

Tensor OnnxNode::read_joined(Op& reader, Joined weights) {
  std::vector<std::string> names;
  for (const int index : {weights.first, weights.second}) {
    std::ranges::move(importer_.stored_as(importer_.resolve(node().input(index))),
                      std::back_inserter(names));
  }
  const Output& one = input(static_cast<std::size_t>(weights.first));
  Shape shape = one.shape;
  shape.insert(shape.begin(), 2);
  return importer_.read_weights(reader, names, make_output(shape, one.type));
}

// Adds the op; with no name of an operator, it is counted already.
Tensor OnnxNode::emit(Op op, std::string_view name, Parts parts) {
  if (parts.inputs.empty()) {
    for (int i = 0; i < node().input_size(); ++i) {
      if (is_data(static_cast<std::size_t>(i))) {
        parts.inputs.emplace_back(i);
      }
    }
  }
  std::vector<Tensor> tensors;
  tensors.reserve(parts.inputs.size());
  const bool is_seen = parts.seen.empty() && !name.empty();
  for (const Source& source : parts.inputs) {
    tensors.push_back(read(op, source));
    if (is_seen) {
      const int* index = std::get_if<int>(&source);
      parts.seen.push_back(index != nullptr ? input(static_cast<std::size_t>(*index))
                                            : value_of(importer_.graph_, tensors.back()));
    }
  }
  std::vector<int> given;
  op.outputs = std::move(parts.results);
  if (op.outputs.empty()) {
    for (int i = 0; i < node().output_size(); ++i) {
      const auto found = importer_.model_.values.find(node().output(i));
      if (found != importer_.model_.values.end()) {
        op.outputs.push_back(found->second.output);
        given.push_back(i);
      }
    }
  }
  op.outputs.insert(op.outputs.end(), parts.reserve.begin(), parts.reserve.end());
  if (!name.empty()) {
    operators::count(op, name, std::move(parts.attributes), parts.seen, op.outputs);
  }
  const OpId id = append_op(importer_.graph_, std::move(op), tensors);
  for (std::int32_t output = 0; const int index : given) {
    give(index, {id, output++});
  }
  return {id, 0};
}

Tensor OnnxNode::add(std::string_view name, Parts parts) {
  Op op = make_op(parts.suffix);
  op.persistent_bytes = parts.persistent_bytes;
  return emit(std::move(op), name, std::move(parts));
}

void OnnxNode::add_uncounted() {
  Op op = make_op("");
  op.kind = kind_of(node().op_type());
  op.shape = result().shape;
  emit(std::move(op), "", {});
}

void OnnxNode::give(int index, Tensor tensor) {
  if (index < node().output_size()) {
    importer_.tensors_.emplace(node().output(index), tensor);
  }
}

void OnnxNode::pass_on() {
  importer_.aliases_.emplace(node().output(0), importer_.resolve(node().input(0)));
}

Shape OnnxNode::strides(std::size_t index) const {
  const auto known =
      importer_.strides_.find(importer_.resolve(node().input(static_cast<int>(index))));
  return known != importer_.strides_.end() ? known->second : contiguous_strides(shape(index));
}

void OnnxNode::set_strides(int index, Shape strides) {
  const std::string& name = node().output(index);
  const auto found = importer_.model_.values.find(name);
  if (found == importer_.model_.values.end()) {
    return;  // a result that is not used
  }
  const Shape& shape = found->second.output.shape;
  strides = normal_strides(shape, std::move(strides));
  if (strides != contiguous_strides(shape)) {
    importer_.strides_.emplace(name, std::move(strides));
  }
}

// The first input of the result's shape decides.
void OnnxNode::keep_order() {
  const Shape& shape = result().shape;
  for (std::size_t i = 0; i < num_inputs(); ++i) {
    if (has_input(i) && this->shape(i) == shape) {
      return set_strides(0, dense_strides(shape, strides(i)));
    }
  }
}

// --- OnnxImporter ---

OpGraph OnnxImporter::run() {
  for (const onnx::NodeProto* node : model_.nodes) {
    node_names_.insert(node->name());
  }
  for (const std::string& name : node_names_) {
    names_.unique(name);
  }
  if (is_trained_) {
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
  if (is_trained_) {
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

// The weights that hold what is called `name`.
std::vector<std::string> OnnxImporter::stored_as(std::string_view name) const {
  const auto stored = model_.stored.find(name);
  return stored != model_.stored.end() ? stored->second : std::vector{std::string(name)};
}

// The variable of a weight, in its own shape, or of several, in this one.
Tensor OnnxImporter::read_weights(Op& reader, const std::vector<std::string>& names,
                                  const Output& joined) {
  const std::string name = fmt::format("{}", fmt::join(names, "+"));
  if (const auto known = tensors_.find(name); known != tensors_.end()) {
    return known->second;
  }
  const Output& output = names.size() == 1 ? value(name).output : joined;
  return stored(reader, name,
                {.kind = "variable",
                 .shape = output.shape,
                 .outputs = {output},
                 .parameters = product(output.shape)});
}

std::vector<const KnownValue*> OnnxImporter::inputs_of(const onnx::NodeProto& node) const {
  std::vector<const KnownValue*> inputs;
  for (const std::string& name : node.input()) {
    inputs.push_back(name.empty() ? nullptr : &value(name));
  }
  return inputs;
}

void OnnxImporter::add_node(const onnx::NodeProto& proto) {
  OnnxNode node(*this, proto);
  const Operator* row = find_operator(proto.domain(), proto.op_type());
  try {
    if (row == nullptr) {
      ++uncounted_[proto.op_type()];
      return node.add_uncounted();
    }
    if (row->kind == "sigmoid" && node.is_trained_result()) {
      yes_or_no_.insert(proto.output(0));
    }
    row->convert(node, *row);
    if (op_class_of(row->kind) == OpClass::kElementwise) {
      node.keep_order();
    }
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
    add_op("loss/add_losses", "add_losses", losses);
  }
}

// Adds an op of the loss and returns its first output.
Tensor OnnxImporter::add_op(const std::string& name, std::string_view kind,
                            std::span<const Tensor> inputs, std::vector<Output> results) {
  Op op{.name = unique_name(name), .outputs = std::move(results), .scope = "loss"};
  operators::define(op, kind, {}, values_of(graph_, inputs));
  return {append_op(graph_, std::move(op), inputs), 0};
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
  const auto add_labels = [&](Shape shape, DataType type) {
    Op labels{.name = unique_name("labels"), .kind = "input", .shape = shape};
    labels.outputs = {make_output(std::move(shape), type)};
    return Tensor{append_op(graph_, std::move(labels), {}), 0};
  };
  if (is_scalar || columns == 1 || yes_or_no_.contains(result)) {
    const std::string kind = is_scalar ? "mean_squared_error" : "sigmoid_cross_entropy";
    const Tensor truth = add_labels(value.shape, value.type);
    return add_op("loss/" + kind, kind, std::array{logits->second, truth});
  }
  const std::int64_t rows = columns == 0 ? 0 : count / columns;
  Tensor matrix = logits->second;
  if (value.shape.size() != 2) {
    matrix = add_op("loss/flatten", "reshape", std::array{matrix},
                    {make_output({rows, columns}, value.type)});
  }
  const Tensor truth = add_labels({rows}, DataType::kInt32);
  return add_op("loss/softmax_cross_entropy", "softmax_cross_entropy", std::array{matrix, truth});
}

}  // namespace emplace::onnx_model
