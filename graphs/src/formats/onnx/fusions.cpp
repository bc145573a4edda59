#include "fusions.hpp"

#include "model/assemble.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace emplace::onnx_model {
namespace {

class Fuser {
 public:
  explicit Fuser(Model& model) : model_(model), is_gone_(model.nodes.size(), false) {
    for (const onnx::ValueInfoProto& result : model.proto.graph().output()) {
      ++reads_[result.name()];
    }
    for (std::size_t i = 0; i < model.nodes.size(); ++i) {
      for (const std::string& name : model.nodes[i]->input()) {
        ++reads_[name];
        readers_[name].push_back(i);
      }
      for (const std::string& name : model.nodes[i]->output()) {
        makers_[name] = i;
      }
    }
  }

  void run() {
    for (std::size_t i = 0; i < model_.nodes.size(); ++i) {
      const onnx::NodeProto& node = *model_.nodes[i];
      if (!is_gone_[i] && is_standard_domain(node.domain())) {
        const bool is_fused = fuse_norm(i) || fuse_gelu(i) || fuse_gate(i);
        static_cast<void>(is_fused);
      }
    }
    std::vector<const onnx::NodeProto*> nodes;
    for (std::size_t i = 0; i < model_.nodes.size(); ++i) {
      if (!is_gone_[i]) {
        nodes.push_back(model_.nodes[i]);
      }
    }
    model_.nodes = std::move(nodes);
  }

 private:
  using Index = std::size_t;

  // Says whether a node is still there and of this operator of ONNX' own.
  bool is_of(Index index, std::string_view op_type) const {
    return !is_gone_[index] && at(index).op_type() == op_type &&
           is_standard_domain(at(index).domain());
  }

  // The node that makes a tensor, if it is of this operator.
  std::optional<Index> maker(const std::string& name, std::string_view op_type) const {
    const auto found = makers_.find(name);
    return found != makers_.end() && is_of(found->second, op_type) ? std::optional(found->second)
                                                                   : std::nullopt;
  }

  // The only node that reads a tensor, if it is of this operator.
  std::optional<Index> reader(const std::string& name, std::string_view op_type) const {
    const auto found = readers_.find(name);
    const auto reads = reads_.find(name);
    return found != readers_.end() && reads->second == 1 && is_of(found->second[0], op_type)
               ? std::optional(found->second[0])
               : std::nullopt;
  }

  const onnx::NodeProto& at(Index index) const { return *model_.nodes[index]; }

  const KnownValue* find(const std::string& name) const {
    const auto found = model_.values.find(name);
    return found != model_.values.end() ? &found->second : nullptr;
  }

  // The number that a tensor is, if it is one and known.
  std::optional<double> number(const std::string& name) const {
    const KnownValue* value = find(name);
    return value != nullptr && value->numbers ? single_of(*value->numbers) : std::nullopt;
  }

  bool is_near(const std::string& name, double expected) const {
    const auto found = number(name);
    return found && std::abs(*found - expected) < 1e-3 * std::abs(expected);
  }

  bool is_constant(const std::string& name) const { return number(name).has_value(); }

  // The input of a node of two that is not `name`.
  static const std::string& other(const onnx::NodeProto& node, const std::string& name) {
    return node.input(node.input(0) == name ? 1 : 0);
  }

  static bool reads(const onnx::NodeProto& node, const std::string& name) {
    return std::ranges::find(node.input(), name) != node.input().end();
  }

  // Puts `node` in the place of the last of `nodes`.
  void replace(const std::vector<Index>& nodes, onnx::NodeProto node) {
    const Index last = *std::ranges::max_element(nodes);
    node.set_name(at(last).name());
    node.add_output(at(last).output(0));
    for (const Index index : nodes) {
      is_gone_[index] = index != last;
    }
    model_.nodes[last] = &model_.made.emplace_back(std::move(node));
  }

  // The mean over trailing axes of which the results keep their place.
  std::optional<std::int64_t> axis_of_mean(Index mean) const {
    const onnx::NodeProto& node = at(mean);
    const KnownValue* x = find(node.input(0));
    if (x == nullptr || integer_attribute(node, "keepdims", 1) == 0) {
      return std::nullopt;
    }
    Shape axes = integers_attribute(node, "axes");
    if (node.input_size() > 1) {
      const KnownValue* given = find(node.input(1));
      const auto known =
          given != nullptr && given->numbers ? integers_of(*given->numbers) : std::nullopt;
      axes = known.value_or(Shape());
    }
    const auto rank = std::ssize(x->output.shape);
    for (std::int64_t& axis : axes) {
      axis = axis < 0 ? axis + rank : axis;
    }
    std::ranges::sort(axes);
    for (std::size_t i = 0; i < axes.size(); ++i) {
      if (axes[i] != rank - std::ssize(axes) + static_cast<std::int64_t>(i)) {
        return std::nullopt;
      }
    }
    return axes.empty() ? std::nullopt : std::optional(axes[0]);
  }

  // What is squared, if `name` is a square.
  std::optional<std::pair<Index, std::string>> square(const std::string& name) const {
    if (const auto power = maker(name, "Pow"); power && is_near(at(*power).input(1), 2)) {
      return std::pair(*power, at(*power).input(0));
    }
    const auto power = maker(name, "Mul");
    return power && at(*power).input(0) == at(*power).input(1)
               ? std::optional(std::pair(*power, at(*power).input(0)))
               : std::nullopt;
  }

  // With d = x - mean(x): d / sqrt(mean(d d) + e), and a product with the scale and a sum with the
  // offset. Without the mean: root mean square normalization.
  bool fuse_norm(Index root) {
    if (at(root).op_type() != "Sqrt") {
      return false;
    }
    const auto shifted = maker(at(root).input(0), "Add");
    if (!shifted) {
      return false;
    }
    const std::string& variance = at(*shifted).input(is_constant(at(*shifted).input(0)) ? 1 : 0);
    const auto mean = maker(variance, "ReduceMean");
    if (!mean) {
      return false;
    }
    const auto power = square(at(*mean).input(0));
    const auto axis = axis_of_mean(*mean);
    if (!power || !axis || !is_constant(other(at(*shifted), variance))) {
      return false;
    }
    const std::string centred = power->second;
    std::vector<Index> nodes{root, *shifted, *mean, power->first};
    // The quotient, or the product with the reciprocal.
    const std::string& deviation = at(root).output(0);
    auto result = reader(deviation, "Div");
    if (result && at(*result).input(1) != centred && at(*result).input(0) != centred) {
      nodes.push_back(*result);
      result = reader(at(*result).output(0), "Mul");  // 1 / sqrt(...)
    } else if (const auto inverse = reader(deviation, "Reciprocal")) {
      nodes.push_back(*inverse);
      result = reader(at(*inverse).output(0), "Mul");
    }
    if (!result || !reads(at(*result), centred)) {
      return false;
    }
    nodes.push_back(*result);
    std::string x = centred;
    bool is_centred = false;
    if (const auto difference = maker(centred, "Sub")) {
      const auto first_mean = maker(at(*difference).input(1), "ReduceMean");
      if (first_mean && at(*first_mean).input(0) == at(*difference).input(0) &&
          axis_of_mean(*first_mean) == axis) {
        x = at(*difference).input(0);
        nodes.push_back(*difference);
        nodes.push_back(*first_mean);
        is_centred = true;
      }
    }
    for (const Index node : nodes) {
      const auto inside = [&](Index reader) {
        return std::ranges::find(nodes, reader) != nodes.end();
      };
      if (node != *result && std::ranges::count_if(readers_[at(node).output(0)], inside) !=
                                 reads_[at(node).output(0)]) {
        return false;
      }
    }
    onnx::NodeProto fused;
    fused.set_op_type(is_centred ? "LayerNormalization" : "RMSNormalization");
    fused.add_input(x);
    onnx::AttributeProto& attribute = *fused.add_attribute();
    attribute.set_name("axis");
    attribute.set_i(*axis);
    add_parameters(fused, nodes, *result, *axis, is_centred);
    replace(nodes, std::move(fused));
    return true;
  }

  // A scale, and an offset, as long as a row.
  void add_parameters(onnx::NodeProto& fused, std::vector<Index>& nodes, Index result,
                      std::int64_t axis, bool has_offset) {
    const Shape& x = find(fused.input(0))->output.shape;
    const std::int64_t columns = product(std::span(x).subspan(static_cast<std::size_t>(axis)));
    for (const std::string_view op_type : {"Mul", "Add"}) {
      const auto next = reader(at(result).output(0), op_type);
      if (!next || (op_type == "Add" && !has_offset)) {
        return;
      }
      const std::string& side = other(at(*next), at(result).output(0));
      const KnownValue* value = find(side);
      if (value == nullptr || value->origin == Origin::kComputed ||
          product(value->output.shape) != columns) {
        return;
      }
      fused.add_input(side);
      nodes.push_back(*next);
      result = *next;
    }
  }

  // x (1 + erf(x / sqrt(2))) / 2, with the half at either side.
  bool fuse_gelu(Index erf) {
    if (at(erf).op_type() != "Erf") {
      return false;
    }
    const std::string& argument = at(erf).input(0);
    const auto quotient = maker(argument, "Div");
    const auto scaled = quotient ? quotient : maker(argument, "Mul");
    if (!scaled) {
      return false;
    }
    const onnx::NodeProto& scale = at(*scaled);
    const bool is_left = is_constant(scale.input(0));
    const double factor_of_x = quotient ? std::sqrt(2.0) : std::sqrt(0.5);
    if ((quotient && is_left) || !is_near(scale.input(is_left ? 0 : 1), factor_of_x)) {
      return false;
    }
    const std::string x = scale.input(is_left ? 1 : 0);
    const auto shifted = reader(at(erf).output(0), "Add");
    if (!shifted) {
      return false;
    }
    const auto product = reader(at(*shifted).output(0), "Mul");
    if (!product || reads_[argument] != 1 || !is_near(other(at(*shifted), at(erf).output(0)), 1)) {
      return false;
    }
    const std::string& factor = other(at(*product), at(*shifted).output(0));
    std::vector<Index> nodes{*scaled, erf, *shifted, *product};
    if (factor == x) {
      const auto half = reader(at(*product).output(0), "Mul");
      if (!half || !is_near(other(at(*half), at(*product).output(0)), 0.5)) {
        return false;
      }
      nodes.push_back(*half);
    } else {
      const auto half = maker(factor, "Mul");
      if (!half || reads_[factor] != 1 || !reads(at(*half), x) ||
          !is_near(other(at(*half), x), 0.5)) {
        return false;
      }
      nodes.push_back(*half);
    }
    onnx::NodeProto fused;
    fused.set_op_type("Gelu");
    fused.add_input(x);
    replace(nodes, std::move(fused));
    return true;
  }

  // x sigmoid(x), and x hard-sigmoid(x).
  bool fuse_gate(Index gate) {
    const bool is_hard = at(gate).op_type() == "HardSigmoid";
    if (!is_hard && at(gate).op_type() != "Sigmoid") {
      return false;
    }
    const auto product = reader(at(gate).output(0), "Mul");
    const std::string x = at(gate).input(0);
    if (!product || other(at(*product), at(gate).output(0)) != x) {
      return false;
    }
    onnx::NodeProto fused;
    fused.set_op_type(is_hard ? "HardSwish" : "Swish");
    fused.add_input(x);
    replace({gate, *product}, std::move(fused));
    return true;
  }

  Model& model_;
  std::vector<bool> is_gone_;
  std::map<std::string, int, std::less<>> reads_;  // results of the model count as a read
  std::map<std::string, std::vector<Index>, std::less<>> readers_;
  std::map<std::string, Index, std::less<>> makers_;
};

}  // namespace

void fuse_layers(Model& model) { Fuser(model).run(); }

}  // namespace emplace::onnx_model
