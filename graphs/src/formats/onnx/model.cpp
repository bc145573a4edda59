#include "model.hpp"

#include "expansion.hpp"
#include "formats/unsupported_models.hpp"
#include "model/assemble.hpp"
#include "operators.hpp"
#include "weights.hpp"

#include <emplace/base/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <utility>

namespace emplace::onnx_model {
namespace {

using onnx::TensorProto;

// Random numbers are made anew in each step, although they depend on nothing.
constexpr std::array<std::string_view, 6> kRandom = {"Bernoulli",     "Multinomial",
                                                     "RandomNormal",  "RandomNormalLike",
                                                     "RandomUniform", "RandomUniformLike"};

// Operators of which only the first input has a gradient, although others are real numbers.
constexpr std::array<std::string_view, 9> kFirstInputOnly = {
    "Clip",  "DequantizeLinear", "Dropout", "OneHot", "Pad", "QuantizeLinear",
    "Range", "Resize",           "Upsample"};

// What operators of ONNX Runtime are like that are called as standard ones, in a model without
// those.
constexpr std::int64_t kNewestOpset = 21;

// Functions may call functions, and loops stand in loops. A file that grows beyond all measure by
// that is refused.
constexpr int kMaxDepth = 32;
constexpr std::size_t kMaxNodes = 2'000'000;

template <class Names>
bool contains(const Names& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

bool is_standard(const onnx::NodeProto& node, std::string_view op_type) {
  return is_standard_domain(node.domain()) && node.op_type() == op_type;
}

bool is_random(const onnx::NodeProto& node) {
  return is_standard_domain(node.domain()) && contains(kRandom, node.op_type());
}

// Says whether the results do not depend on the elements of the inputs.
bool tells_shape(const onnx::NodeProto& node) {
  return is_standard(node, "Shape") || is_standard(node, "Size");
}

std::string name_of_type(std::int64_t type) {
  return type >= 0 && type <= std::numeric_limits<int>::max() &&
                 onnx::TensorProto_DataType_IsValid(static_cast<int>(type))
             ? onnx::TensorProto_DataType_Name(static_cast<onnx::TensorProto_DataType>(type))
             : fmt::format("element type {}", type);
}

class Loader final : public NodeSink {
 public:
  Loader(const std::string& source, const Dimensions& dimensions)
      : source_(source), dimensions_(dimensions) {}

  Model load(std::string_view bytes) && {
    if (bytes.size() > std::numeric_limits<int>::max()) {
      fail("the file is larger than 2 GiB; save the model with its weights in files of their own");
    }
    if (!model_.proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) ||
        !model_.proto.has_graph()) {
      refuse_unsupported_model(bytes, source_);
      fail("not an ONNX model: expected a ModelProto with a graph, in binary");
    }
    read_version();
    notes_ = ExporterNotes(graph());
    for (const TensorProto& tensor : graph().initializer()) {
      add_initializer(tensor, tensor.name());
    }
    find_originals();
    bind_inputs();
    add_graph(graph(), 0);
    find_constants();
    return std::move(model_);
  }

 private:
  [[noreturn]] void fail(const std::string& message) const override {
    throw Error(ErrorCode::kFormat, fmt::format("{}: {}", source_, message));
  }
  [[noreturn]] void unsupported(const std::string& message) const override {
    throw Error(ErrorCode::kUnsupported, fmt::format("{}: {}", source_, message));
  }

  const onnx::GraphProto& graph() const { return model_.proto.graph(); }

  void read_version() {
    for (const auto& import : model_.proto.opset_import()) {
      if (import.version() < 1) {
        fail(fmt::format("expected an opset of at least 1, found {}", import.version()));
      }
      if (is_standard_domain(import.domain())) {
        model_.opset = import.version();
      }
    }
    if (model_.proto.opset_import().empty()) {
      fail("the model does not say which opset it uses");
    }
    for (const auto& function : model_.proto.functions()) {
      for (const auto& import : function.opset_import()) {
        if (model_.opset == 0 && is_standard_domain(import.domain())) {
          model_.opset = import.version();
        }
      }
    }
    has_standard_opset_ = model_.opset > 0;
    model_.opset = has_standard_opset_ ? model_.opset : kNewestOpset;
  }

  DataType type_of(const std::string& name, std::int64_t type) const {
    const auto stored = data_type(type);
    if (!stored) {
      unsupported(fmt::format("tensor '{}': tensors of {} are not supported", excerpt(name),
                              name_of_type(type)));
    }
    return *stored;
  }

  KnownValue& add_value(const std::string& name, Shape shape, DataType type, Origin origin) {
    for (const std::int64_t extent : shape) {
      if (extent < 0 || extent > kMaxExtent) {
        fail(fmt::format("tensor '{}': expected dimensions of at least 0 and at most {}, found {}",
                         excerpt(name), kMaxExtent, extent));
      }
    }
    KnownValue value{.origin = origin};
    try {
      value.output = make_output(std::move(shape), type);
    } catch (const Error&) {
      fail(fmt::format("tensor '{}': its size does not fit 64 bits", excerpt(name)));
    }
    const auto [position, is_new] = model_.values.emplace(name, std::move(value));
    if (!is_new) {
      fail(fmt::format("the tensor '{}' is made twice", excerpt(name)));
    }
    return position->second;
  }

  void add_initializer(const TensorProto& tensor, const std::string& name) override {
    KnownValue& value = add_value(name, {tensor.dims().begin(), tensor.dims().end()},
                                  type_of(name, tensor.data_type()), Origin::kConstant);
    if (is_floating(value.output.type) && !value.output.shape.empty() &&
        notes_.may_be_trained(name)) {
      value.origin = Origin::kWeight;
    }
    pack(value, tensor.data_type());
    value.numbers = read_numbers(tensor);
  }

  // A weight that is tied to another one may be stored twice, once transposed.
  void find_originals() {
    for (const TensorProto& tensor : graph().initializer()) {
      const TensorProto* original = notes_.original(tensor);
      if (original == nullptr) {
        continue;
      }
      const KnownValue& known = *find_value(original->name());
      if (known.origin == Origin::kWeight &&
          product(known.output.shape) == product(find_value(tensor.name())->output.shape)) {
        model_.stored[tensor.name()] = {original->name()};
      }
    }
  }

  const KnownValue* find_value(std::string_view name) const override {
    const auto found = model_.values.find(name);
    return found != model_.values.end() ? &found->second : nullptr;
  }

  // Two elements of 4 bits share a byte.
  static void pack(KnownValue& value, std::int64_t type) {
    if (type == TensorProto::INT4 || type == TensorProto::UINT4 ||
        type == TensorProto::FLOAT4E2M1) {
      value.output.bytes = (value.output.bytes + 1) / 2;
    }
  }

  void bind_inputs() {
    std::vector<std::string> missing;
    for (const onnx::ValueInfoProto& input : graph().input()) {
      if (model_.values.contains(input.name())) {
        continue;  // up to IR version 3 initializers are inputs too
      }
      const auto& type = input.type().tensor_type();
      if (!input.type().has_tensor_type() || !type.has_shape()) {
        unsupported(
            fmt::format("input '{}': expected a tensor with a shape", excerpt(input.name())));
      }
      Shape shape;
      for (int i = 0; i < type.shape().dim_size(); ++i) {
        const auto& dimension = type.shape().dim(i);
        // Some exporters write -1 where a size is open.
        if (dimension.has_dim_value() && dimension.dim_value() >= 0) {
          shape.push_back(dimension.dim_value());
          continue;
        }
        // A dimension without a name is called by its place.
        const std::string symbol = dimension.dim_param().empty()
                                       ? fmt::format("{}.{}", input.name(), i)
                                       : dimension.dim_param();
        const auto given = dimensions_.find(symbol);
        symbols_.insert(symbol);
        shape.push_back(given != dimensions_.end() ? given->second : 1);
        if (given == dimensions_.end() && !contains(missing, symbol)) {
          missing.push_back(symbol);
        }
      }
      add_value(input.name(), std::move(shape), type_of(input.name(), type.elem_type()),
                Origin::kInput);
    }
    if (!missing.empty()) {
      throw Error(
          ErrorCode::kUsage,
          fmt::format(
              "{}: give the sizes of its symbolic dimensions after the file's name: {}:{}=SIZE",
              source_, excerpt(source_, 200),
              excerpt(fmt::format("{}", fmt::join(missing, "=SIZE,")), 300)));
    }
    for (const auto& [symbol, size] : dimensions_) {
      if (!symbols_.contains(symbol)) {
        const std::vector<std::string> known(symbols_.begin(), symbols_.end());
        throw Error(ErrorCode::kUsage,
                    fmt::format("{}: no parameter and no dimension is called '{}'{}", source_,
                                excerpt(symbol), suggest_names(symbol, known)));
      }
    }
  }

  void add_graph(const onnx::GraphProto& graph, int depth) {
    if (graph.sparse_initializer_size() > 0) {
      unsupported("sparse initializers are not supported");
    }
    for (const onnx::NodeProto& node : graph.node()) {
      add_node(node, depth);
    }
  }

  void add_node(const onnx::NodeProto& node, int depth) override {
    if (depth > kMaxDepth || std::max(model_.nodes.size(), model_.made.size()) > kMaxNodes) {
      unsupported(
          fmt::format("{}: functions and loops are nested more than {} deep, or the model has more "
                      "than {} nodes",
                      describe(node), kMaxDepth, kMaxNodes));
    }
    if (node.output_size() == 0) {
      fail(fmt::format("{} has no results", describe(node)));
    }
    std::vector<const KnownValue*> inputs;
    for (const std::string& name : node.input()) {
      inputs.push_back(name.empty() || expansion_.is_sequence(name) ? nullptr : &read(node, name));
    }
    if (expansion_.expand(node, depth)) {
      return;
    }
    for (const std::string& name : node.input()) {
      if (expansion_.is_sequence(name)) {
        unsupported(
            fmt::format("{} reads '{}', a sequence of tensors", describe(node), excerpt(name)));
      }
    }
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g() || attribute.graphs_size() > 0) {
        unsupported(
            fmt::format("{}: control flow is not supported; export the model for a fixed "
                        "number of steps",
                        describe(node)));
      }
    }
    infer(node, inputs);
  }

  const KnownValue& read(const onnx::NodeProto& node, const std::string& name) const {
    if (unknown_.contains(name)) {
      unsupported(
          fmt::format("{} reads '{}', whose shape is not known", describe(node), excerpt(name)));
    }
    const auto found = model_.values.find(name);
    if (found == model_.values.end()) {
      fail(fmt::format("{} reads '{}', which nothing before it makes", describe(node),
                       excerpt(name)));
    }
    return found->second;
  }

  void infer(const onnx::NodeProto& node, const std::vector<const KnownValue*>& inputs) {
    if (!has_standard_opset_ && is_standard_domain(node.domain())) {
      fail(fmt::format("{}: the model does not say which opset of the standard operators it uses",
                       describe(node)));
    }
    const Operator* row = find_operator(node.domain(), node.op_type());
    std::vector<Output> results;
    std::vector<Numbers> numbers;
    try {
      if (row == nullptr) {
        results = declared_results(node);
      } else {
        Inference inference(node, model_.opset, inputs);
        infer_results(inference, *row);
        results = inference.results();
      }
      if (const std::size_t named = named_results(node); results.size() > named) {
        results.resize(named);
      }
      numbers = evaluate_node(node, inputs, results);
    } catch (const Error& error) {
      // A size that does not fit 64 bits is the file's mistake.
      throw Error(error.code() == ErrorCode::kUsage ? ErrorCode::kFormat : error.code(),
                  fmt::format("{}: {}: {}", source_, describe(node), error.what()));
    }
    add_results(node, std::move(results), std::move(numbers));
    model_.nodes.push_back(&node);
  }

  static std::size_t named_results(const onnx::NodeProto& node) {
    auto count = static_cast<std::size_t>(node.output_size());
    while (count > 0 && node.output(static_cast<int>(count) - 1).empty()) {
      --count;
    }
    return count;
  }

  static std::vector<Numbers> evaluate_node(const onnx::NodeProto& node,
                                            const std::vector<const KnownValue*>& inputs,
                                            const std::vector<Output>& results) {
    std::vector<const Numbers*> numbers;
    std::vector<const Output*> outputs;
    for (const KnownValue* input : inputs) {
      numbers.push_back(input != nullptr && input->numbers ? &*input->numbers : nullptr);
      outputs.push_back(input != nullptr ? &input->output : nullptr);
    }
    return is_random(node) ? std::vector<Numbers>() : evaluate({node, numbers, outputs, results});
  }

  // What the file says of the results of an operator that has no row.
  std::vector<Output> declared_results(const onnx::NodeProto& node) const {
    std::vector<Output> results;
    for (const std::string& name : node.output()) {
      const onnx::ValueInfoProto* info = nullptr;
      for (const auto* list : {&graph().value_info(), &graph().output()}) {
        for (const onnx::ValueInfoProto& declared : *list) {
          info = declared.name() == name ? &declared : info;
        }
      }
      const auto shape = info != nullptr ? declared_shape(info->type()) : std::nullopt;
      if (!shape) {
        throw Error(
            ErrorCode::kUnsupported,
            "this operator is not known, and the file does not say what shape its result "
            "has; first run shape inference on the model, with the sizes of its dimensions");
      }
      results.push_back(make_output(*shape, type_of(name, info->type().tensor_type().elem_type())));
    }
    return results;
  }

  std::optional<Shape> declared_shape(const onnx::TypeProto& type) const {
    if (!type.has_tensor_type() || !type.tensor_type().has_shape()) {
      return std::nullopt;
    }
    Shape shape;
    for (const auto& dimension : type.tensor_type().shape().dim()) {
      const auto given = dimensions_.find(dimension.dim_param());
      if (dimension.has_dim_value() && dimension.dim_value() >= 0) {
        shape.push_back(dimension.dim_value());
      } else if (given != dimensions_.end()) {
        shape.push_back(given->second);
      } else {
        return std::nullopt;
      }
    }
    return shape;
  }

  void add_results(const onnx::NodeProto& node, std::vector<Output> results,
                   std::vector<Numbers> numbers) {
    for (std::size_t i = 0; std::cmp_less(i, node.output_size()); ++i) {
      const std::string& name = node.output(static_cast<int>(i));
      if (name.empty()) {
        continue;  // a result that is not used
      }
      if (i >= results.size()) {
        unknown_.insert(name);
        continue;
      }
      const DataType type = results[i].type;
      KnownValue& value = add_value(name, std::move(results[i].shape), type, Origin::kComputed);
      if (i < numbers.size()) {
        value.numbers = std::move(numbers[i]);
      }
      if (const auto* tensor = find_attribute(node, "value");
          is_standard(node, "Constant") && tensor != nullptr) {
        pack(value, tensor->t().data_type());
      }
    }
  }

  // --- What is known before the step ---

  // Numbers in a node of kind Constant are trained if they are many, of which not all are alike:
  // some exporters keep weights so, but not PyTorch.
  bool holds_weights(const onnx::NodeProto& node, const KnownValue& value) const {
    if (model_.proto.producer_name() == "pytorch" || !is_standard(node, "Constant") ||
        !is_floating(value.output.type) || product(value.output.shape) <= kMaxSetting) {
      return false;
    }
    return !value.numbers || std::ranges::any_of(value.numbers->values, [&](Number number) {
      return number != value.numbers->values.front();
    });
  }

  void find_constants() {
    std::set<std::string_view> from_data;  // tensors that depend on what enters the step
    for (const auto& [name, value] : model_.values) {
      if (value.origin == Origin::kInput) {
        from_data.insert(name);
      }
    }
    for (const onnx::NodeProto* node : model_.nodes) {
      const bool depends =
          !tells_shape(*node) &&
          (is_random(*node) || std::ranges::any_of(node->input(), [&](const auto& name) {
             return from_data.contains(name);
           }));
      for (const std::string& name : node->output()) {
        const auto found = model_.values.find(name);
        if (depends) {
          from_data.insert(name);
        } else if (found != model_.values.end() && holds_weights(*node, found->second)) {
          found->second.origin = Origin::kWeight;
        }
      }
    }
    const auto reached = find_reached(from_data);
    for (auto& [name, value] : model_.values) {
      if (value.origin == Origin::kWeight && !reached.contains(name)) {
        value.origin = Origin::kConstant;
      }
    }
    for (const onnx::NodeProto* node : model_.nodes) {
      const auto is_known = [&](const std::string& name) {
        return name.empty() || model_.values.find(name)->second.origin == Origin::kConstant;
      };
      if (!tells_shape(*node) &&
          (is_random(*node) || !std::ranges::all_of(node->input(), is_known))) {
        continue;
      }
      for (const std::string& name : node->output()) {
        const auto found = model_.values.find(name);
        if (found != model_.values.end() && found->second.origin == Origin::kComputed) {
          found->second.origin = Origin::kConstant;
        }
      }
    }
  }

  // Returns the tensors to which a gradient comes from a result of the model. Numbers to which
  // none comes are not trained: a mask that is only compared, say. Results that are no real
  // numbers (a choice of classes) count as if they had a gradient, where they depend on data.
  std::set<std::string_view> find_reached(const std::set<std::string_view>& from_data) const {
    std::set<std::string_view> reached;
    for (const onnx::ValueInfoProto& result : graph().output()) {
      reached.insert(result.name());
    }
    for (auto at = model_.nodes.rbegin(); at != model_.nodes.rend(); ++at) {
      const onnx::NodeProto& node = **at;
      const auto is_reached = [&](const std::string& name) { return reached.contains(name); };
      if (!std::ranges::any_of(node.output(), is_reached)) {
        continue;
      }
      const auto is_real = [&](const std::string& name) {
        const auto found = model_.values.find(name);
        return found != model_.values.end() && is_floating(found->second.output.type);
      };
      const bool has_derivative = std::ranges::any_of(node.output(), is_real);
      const int count = contains(kFirstInputOnly, node.op_type()) ? 1 : node.input_size();
      for (int i = 0; i < std::min(count, node.input_size()); ++i) {
        if (from_data.contains(node.input(i)) || (has_derivative && is_real(node.input(i)))) {
          reached.insert(node.input(i));
        }
      }
    }
    return reached;
  }

  const std::string& source_;
  const Dimensions& dimensions_;
  Model model_;
  ExporterNotes notes_;
  Expansion expansion_{model_, *this};
  bool has_standard_opset_ = false;
  std::set<std::string, std::less<>> symbols_;  // of the inputs' dimensions
  std::set<std::string, std::less<>> unknown_;  // results that are not known
};

}  // namespace

std::string describe_opsets(const onnx::ModelProto& model) {
  std::vector<std::string> others;
  for (const auto& import : model.opset_import()) {
    if (is_standard_domain(import.domain())) {
      return fmt::format("opset {}", import.version());
    }
    others.push_back(fmt::format("{} {}", excerpt(import.domain()), import.version()));
  }
  return fmt::format("{}", fmt::join(others, ", "));
}

std::string describe(const onnx::NodeProto& node) {
  return fmt::format("node '{}' ({})", excerpt(node.name()), excerpt(node.op_type()));
}

Model load_model(std::string_view bytes, const std::string& source, const Dimensions& dimensions) {
  const google::protobuf::LogSilencer silencer;  // what it would print stands in our errors
  return Loader(source, dimensions).load(bytes);
}

}  // namespace emplace::onnx_model
