#include "model.hpp"

#include "../assemble.hpp"

#include <emplace/graphs/error.hpp>

#include <fmt/format.h>
#include <google/protobuf/stubs/logging.h>
#include <onnx/checker.h>
#include <onnx/shape_inference/implementation.h>

#include <algorithm>
#include <array>
#include <exception>
#include <limits>
#include <set>
#include <unordered_map>
#include <utility>

namespace emplace::onnx_model {
namespace {

using onnx::TensorProto;

// Random numbers are made anew in each step, although they depend on nothing.
constexpr std::array<std::string_view, 6> kRandom = {"Bernoulli",     "Multinomial",
                                                     "RandomNormal",  "RandomNormalLike",
                                                     "RandomUniform", "RandomUniformLike"};

bool is_standard(const std::string& domain) { return domain.empty() || domain == "ai.onnx"; }

// How an element type is stored. Unsigned integers count as signed ones of their width: only sizes
// matter.
std::optional<DataType> data_type(std::int64_t type) {
  switch (type) {
    case TensorProto::FLOAT:
      return DataType::kFloat32;
    case TensorProto::FLOAT16:
      return DataType::kFloat16;
    case TensorProto::BFLOAT16:
      return DataType::kBfloat16;
    case TensorProto::DOUBLE:
      return DataType::kFloat64;
    case TensorProto::INT8:
    case TensorProto::UINT8:
      return DataType::kInt8;
    case TensorProto::INT16:
    case TensorProto::UINT16:
      return DataType::kInt16;
    case TensorProto::INT32:
    case TensorProto::UINT32:
      return DataType::kInt32;
    case TensorProto::INT64:
    case TensorProto::UINT64:
      return DataType::kInt64;
    case TensorProto::BOOL:
      return DataType::kBool;
    default:
      return std::nullopt;
  }
}

bool is_floating(DataType type) {
  return type == DataType::kFloat32 || type == DataType::kFloat16 || type == DataType::kBfloat16 ||
         type == DataType::kFloat64;
}

// Says whether the elements stand in the tensor itself, as many as its dimensions say: only then
// may shape inference look at them.
bool has_elements(const TensorProto& tensor, const Output& output) {
  if (tensor.data_location() == TensorProto::EXTERNAL) {
    return false;
  }
  if (tensor.has_raw_data()) {
    return std::cmp_equal(tensor.raw_data().size(), output.bytes);
  }
  const std::int64_t stored =
      std::max({tensor.float_data_size(), tensor.int32_data_size(), tensor.int64_data_size(),
                tensor.double_data_size(), tensor.uint64_data_size()});
  return stored == product(output.shape);
}

class Loader {
 public:
  Loader(const std::string& source, const Dimensions& dimensions)
      : source_(source), dimensions_(dimensions) {}

  Model load(std::string_view bytes) && {
    if (bytes.size() > std::numeric_limits<int>::max() ||
        !model_.proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) ||
        !model_.proto.has_graph()) {
      fail("not an ONNX model; models above 2 GiB keep their weights in files of their own");
    }
    read_versions();
    if (graph().sparse_initializer_size() > 0) {
      unsupported("sparse initializers are not supported");
    }
    for (const TensorProto& tensor : graph().initializer()) {
      add_initializer(tensor);
    }
    bind_inputs();
    for (onnx::NodeProto& node : *graph().mutable_node()) {
      add_node(node);
    }
    return std::move(model_);
  }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    throw Error(ErrorCode::kFormat, fmt::format("{}: {}", source_, message));
  }
  [[noreturn]] void unsupported(const std::string& message) const {
    throw Error(ErrorCode::kUnsupported, fmt::format("{}: {}", source_, message));
  }

  onnx::GraphProto& graph() { return *model_.proto.mutable_graph(); }

  void read_versions() {
    const auto& known = onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
    const int newest = known.at("").second;
    for (const auto& import : model_.proto.opset_import()) {
      const std::string domain = is_standard(import.domain()) ? "" : import.domain();
      if (domain.empty() && import.version() > newest) {
        unsupported(
            fmt::format("opset {} is newer than {}, the newest that this build's libonnx "
                        "knows; export the model with opset_version={}",
                        import.version(), newest, newest));
      }
      if (import.version() < 1 || import.version() > std::numeric_limits<int>::max()) {
        fail(fmt::format("expected an opset of at least 1, found {}", import.version()));
      }
      opsets_[domain] = static_cast<int>(import.version());
    }
    if (!opsets_.contains("")) {
      fail("the model does not say which opset it uses");
    }
    model_.opset = opsets_.at("");
    checker_.set_ir_version(
        static_cast<int>(std::clamp<std::int64_t>(model_.proto.ir_version(), 3, onnx::IR_VERSION)));
    checker_.set_opset_imports(opsets_);
  }

  // Remembers a tensor of which nothing is known yet but its shape and type.
  Value& add_value(const std::string& name, std::vector<std::int64_t> shape, std::int64_t type,
                   Origin origin) {
    const auto stored = data_type(type);
    if (!stored) {
      unsupported(fmt::format("tensor '{}': tensors of {} are not supported", excerpt(name),
                              onnx::TensorProto_DataType_Name(static_cast<int>(type))));
    }
    for (const std::int64_t extent : shape) {
      if (extent < 0) {
        fail(fmt::format("tensor '{}': expected dimensions of at least 0, found {}", excerpt(name),
                         extent));
      }
    }
    Value value{.origin = origin};
    try {
      value.output = make_output(std::move(shape), *stored);
    } catch (const Error&) {
      fail(fmt::format("tensor '{}': its size does not fit 64 bits", excerpt(name)));
    }
    const auto [position, is_new] = model_.values.emplace(name, std::move(value));
    if (!is_new) {
      fail(fmt::format("the tensor '{}' is made twice", excerpt(name)));
    }
    onnx::TypeProto& proto = types_[name];
    proto.mutable_tensor_type()->set_elem_type(static_cast<int>(type));
    onnx::TensorShapeProto& dimensions = *proto.mutable_tensor_type()->mutable_shape();
    for (const std::int64_t extent : position->second.output.shape) {
      dimensions.add_dim()->set_dim_value(extent);
    }
    type_by_name_[name] = &proto;
    return position->second;
  }

  void add_initializer(const TensorProto& tensor) {
    Value& value = add_value(tensor.name(), {tensor.dims().begin(), tensor.dims().end()},
                             tensor.data_type(), Origin::kConstant);
    if (is_floating(value.output.type) && !value.output.shape.empty()) {
      value.origin = Origin::kWeight;
    }
    remember_elements(tensor.name(), tensor, value);
  }

  void remember_elements(const std::string& name, const TensorProto& tensor, Value& value) {
    if (has_elements(tensor, value.output)) {
      data_by_name_[name] = &tensor;
      value.integers = read_integers(tensor);
    }
  }

  void bind_inputs() {
    std::vector<std::string> missing;
    std::set<std::string, std::less<>> bound;
    for (onnx::ValueInfoProto& input : *graph().mutable_input()) {
      if (model_.values.contains(input.name())) {
        continue;  // up to IR version 3 initializers are inputs too
      }
      const auto& type = input.type().tensor_type();
      if (!input.type().has_tensor_type() || !type.has_shape()) {
        unsupported(
            fmt::format("input '{}': expected a tensor with a shape", excerpt(input.name())));
      }
      std::vector<std::int64_t> shape;
      for (int i = 0; i < type.shape().dim_size(); ++i) {
        const auto& dimension = type.shape().dim(i);
        if (dimension.has_dim_value()) {
          shape.push_back(dimension.dim_value());
          continue;
        }
        // A dimension without a name is called by its place.
        const std::string symbol = dimension.dim_param().empty()
                                       ? fmt::format("{}.{}", input.name(), i)
                                       : dimension.dim_param();
        const auto given = dimensions_.find(symbol);
        bound.insert(symbol);
        shape.push_back(given != dimensions_.end() ? given->second : 1);
        if (given == dimensions_.end() && std::ranges::find(missing, symbol) == missing.end()) {
          missing.push_back(symbol);
        }
      }
      add_value(input.name(), std::move(shape), type.elem_type(), Origin::kInput);
    }
    if (!missing.empty()) {
      throw Error(
          ErrorCode::kUsage,
          fmt::format("{}: give the sizes of its symbolic dimensions: dimensions={}:SIZE", source_,
                      excerpt(fmt::format("{}", fmt::join(missing, ":SIZE;")), 400)));
    }
    for (const auto& [symbol, size] : dimensions_) {
      if (!bound.contains(symbol)) {
        const std::vector<std::string> known(bound.begin(), bound.end());
        throw Error(ErrorCode::kUsage, fmt::format("{}: no dimension is called '{}'{}", source_,
                                                   excerpt(symbol), suggest_names(symbol, known)));
      }
    }
  }

  static std::string describe(const onnx::NodeProto& node) {
    return fmt::format("node '{}' ({})", excerpt(node.name()), excerpt(node.op_type()));
  }

  void add_node(onnx::NodeProto& node) {
    refuse_unsupported(node);
    std::vector<const Integers*> inputs;
    bool is_constant = std::ranges::find(kRandom, node.op_type()) == kRandom.end();
    for (const std::string& name : node.input()) {
      inputs.push_back(nullptr);
      if (name.empty()) {
        continue;  // an input that is left out
      }
      const auto input = model_.values.find(name);
      if (unknown_.contains(name)) {
        unsupported(fmt::format("{} reads '{}', whose shape cannot be known before the model runs",
                                describe(node), excerpt(name)));
      }
      if (input == model_.values.end()) {
        fail(fmt::format("{} reads '{}', which nothing before it makes", describe(node),
                         excerpt(name)));
      }
      is_constant = is_constant && input->second.origin == Origin::kConstant;
      inputs.back() = input->second.integers ? &*input->second.integers : nullptr;
    }
    const bool is_shape = node.op_type() == "Shape" || node.op_type() == "Size";
    add_results(node, infer(node), is_constant || is_shape);
    if ((is_constant || is_shape) && model_.values.contains(node.output(0))) {
      remember_result(node, is_shape ? shape_of_input(node) : evaluate(node, inputs));
    }
  }

  void refuse_unsupported(const onnx::NodeProto& node) const {
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g() || attribute.graphs_size() > 0) {
        unsupported(fmt::format("{}: control flow is not supported; export the model for one path",
                                describe(node)));
      }
    }
    for (const auto& function : model_.proto.functions()) {
      if (function.name() == node.op_type() && function.domain() == node.domain()) {
        unsupported(fmt::format("{}: functions of the model's own are not supported; inline them",
                                describe(node)));
      }
    }
  }

  // Returns the types of the node's results, as far as they can be known.
  std::vector<onnx::TypeProto> infer(onnx::NodeProto& node) {
    const std::string domain = is_standard(node.domain()) ? "" : node.domain();
    const auto opset = opsets_.find(domain);
    const onnx::OpSchema* schema =
        opset != opsets_.end()
            ? onnx::OpSchemaRegistry::Schema(node.op_type(), opset->second, domain)
            : nullptr;
    if (schema == nullptr) {
      if (domain.empty()) {
        fail(fmt::format("{}: opset {} has no such operator", describe(node), model_.opset));
      }
      return declared_types(node);
    }
    try {
      onnx::checker::check_node(node, checker_, {});
      onnx::shape_inference::InferenceContextImpl context(node, type_by_name_, data_by_name_, {},
                                                          nullptr, nullptr);
      if (schema->has_type_and_shape_inference_function() || !schema->HasFunction()) {
        schema->GetTypeAndShapeInferenceFunction()(context);
      } else {
        onnx::shape_inference::InferShapeForFunctionNode(
            *schema->GetFunction(), onnx::OpSchemaRegistry::Instance(), context);
      }
      return std::move(context.allOutputTypes_);
    } catch (const Error&) {
      throw;
    } catch (const std::exception& error) {
      fail(fmt::format("{}: {}", describe(node), excerpt(error.what(), 300)));
    }
  }

  // What the file says of the results of an operator that libonnx does not know.
  std::vector<onnx::TypeProto> declared_types(const onnx::NodeProto& node) {
    std::vector<onnx::TypeProto> types;
    for (const std::string& name : node.output()) {
      types.emplace_back();
      for (const auto* list : {&graph().value_info(), &graph().output()}) {
        const auto declared = std::ranges::find(*list, name, &onnx::ValueInfoProto::name);
        if (declared != list->end()) {
          types.back() = declared->type();
        }
      }
    }
    return types;
  }

  void add_results(const onnx::NodeProto& node, const std::vector<onnx::TypeProto>& types,
                   bool is_constant) {
    bool has_known_result = false;
    for (int i = 0; i < node.output_size(); ++i) {
      const std::string& name = node.output(i);
      if (name.empty()) {
        continue;  // a result that is not used
      }
      const onnx::TypeProto& type = types.at(static_cast<std::size_t>(i));
      bool is_known = type.has_tensor_type() && type.tensor_type().has_shape();
      std::vector<std::int64_t> shape;
      for (const auto& dimension : type.tensor_type().shape().dim()) {
        is_known = is_known && dimension.has_dim_value();
        shape.push_back(dimension.dim_value());
      }
      if (!is_known) {
        unknown_.insert(name);
        continue;
      }
      has_known_result = true;
      add_value(name, std::move(shape), type.tensor_type().elem_type(),
                is_constant ? Origin::kConstant : Origin::kComputed);
    }
    if (!has_known_result) {
      unsupported(fmt::format("{}: the shapes of its results cannot be known before the model runs",
                              describe(node)));
    }
  }

  std::optional<Integers> shape_of_input(const onnx::NodeProto& node) const {
    const auto& shape = model_.values.find(node.input(0))->second.output.shape;
    if (node.op_type() == "Size") {
      return Integers{.is_scalar = true, .values = {product(shape)}};
    }
    const auto rank = std::ssize(shape);
    const auto place = [&](std::int64_t index) {
      return std::clamp<std::int64_t>(index < 0 ? std::max(index, -rank) + rank : index, 0, rank);
    };
    const auto begin = place(integer_attribute(node, "start", 0));
    const auto end = std::max(begin, place(integer_attribute(node, "end", rank)));
    return Integers{.values = {shape.begin() + begin, shape.begin() + end}};
  }

  // Lets shape inference see what a node's constant result is.
  void remember_result(const onnx::NodeProto& node, std::optional<Integers> integers) {
    const std::string& name = node.output(0);
    Value& value = model_.values.find(name)->second;
    if (const auto* tensor = find_attribute(node, "value");
        node.op_type() == "Constant" && tensor) {
      remember_elements(name, tensor->t(), value);
    } else if (integers && std::cmp_equal(integers->values.size(), product(value.output.shape)) &&
               value.output.type == DataType::kInt64) {
      data_by_name_[name] = &(evaluated_[name] = to_tensor(*integers));
      value.integers = std::move(integers);
    } else if (integers && std::cmp_equal(integers->values.size(), product(value.output.shape))) {
      value.integers = std::move(integers);
    }
  }

  const std::string& source_;
  const Dimensions& dimensions_;
  Model model_;
  std::unordered_map<std::string, int> opsets_;
  onnx::checker::CheckerContext checker_;
  std::set<std::string, std::less<>> unknown_;  // results without a known shape
  std::map<std::string, onnx::TypeProto> types_;
  std::map<std::string, TensorProto> evaluated_;
  std::unordered_map<std::string, onnx::TypeProto*> type_by_name_;
  std::unordered_map<std::string, const TensorProto*> data_by_name_;
};

}  // namespace

Model load_model(std::string_view bytes, const std::string& source, const Dimensions& dimensions) {
  const google::protobuf::LogSilencer silencer;  // what it would print stands in our errors
  return Loader(source, dimensions).load(bytes);
}

}  // namespace emplace::onnx_model
