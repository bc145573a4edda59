#include "fusions.hpp"

#include "model/assemble.hpp"
#include "rewriter.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace emplace::onnx_model {
namespace {

class LayerFuser : Rewriter {
 public:
  explicit LayerFuser(Model& model) : Rewriter(model) {}

  void run() {
    for (Index i = 0; i < num_nodes(); ++i) {
      const std::string op_type = at(i).op_type();
      if (!is_of(i, op_type)) {
        continue;
      }
      if (op_type == "Sqrt") {
        fuse_norm(i);
      } else if (op_type == "InstanceNormalization") {
        fuse_group_norm(i);
      } else if (op_type == "Erf") {
        fuse_gelu(i);
      } else if (op_type == "Tanh") {
        fuse_tanh_gelu(i);
      } else if (op_type == "Squeeze") {
        keep_contiguous(i);
      } else if (op_type == "Sigmoid" || op_type == "HardSigmoid") {
        fuse_gate(i);
      }
    }
    finish();
  }

 private:
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
    if (const auto power = maker(name, "Pow"); power && is_near(input(*power, 1), 2)) {
      return std::pair(*power, input(*power, 0));
    }
    const auto power = maker(name, "Mul");
    return power && input(*power, 0) == input(*power, 1)
               ? std::optional(std::pair(*power, input(*power, 0)))
               : std::nullopt;
  }

  // With d = x - mean(x): d / sqrt(mean(d d) + e), and a product with the scale and a sum with the
  // offset. Without the mean: root mean square normalization.
  void fuse_norm(Index root) {
    const auto shifted = maker(input(root, 0), "Add");
    if (!shifted) {
      return;
    }
    const std::string& variance = input(*shifted, is_constant(input(*shifted, 0)) ? 1 : 0);
    const auto mean = maker(variance, "ReduceMean");
    if (!mean) {
      return;
    }
    const auto power = square(input(*mean, 0));
    const auto axis = axis_of_mean(*mean);
    if (!power || !axis || !is_constant(other(at(*shifted), variance))) {
      return;
    }
    const std::string centred = power->second;
    std::vector<Index> nodes{root, *shifted, *mean, power->first};
    // The quotient, or the product with the reciprocal.
    const std::string& deviation = at(root).output(0);
    auto result = reader(deviation, "Div");
    if (result && input(*result, 1) != centred && input(*result, 0) != centred) {
      nodes.push_back(*result);
      result = reader(at(*result).output(0), "Mul");  // 1 / sqrt(...)
    } else if (const auto inverse = reader(deviation, "Reciprocal")) {
      nodes.push_back(*inverse);
      result = reader(at(*inverse).output(0), "Mul");
    }
    if (!result || !reads(at(*result), centred)) {
      return;
    }
    nodes.push_back(*result);
    std::string x = centred;
    bool is_centred = false;
    if (const auto difference = maker(centred, "Sub")) {
      const auto first_mean = maker(input(*difference, 1), "ReduceMean");
      if (first_mean && input(*first_mean, 0) == input(*difference, 0) &&
          axis_of_mean(*first_mean) == axis) {
        x = input(*difference, 0);
        nodes.push_back(*difference);
        nodes.push_back(*first_mean);
        is_centred = true;
      }
    }
    if (!are_alone(nodes, *result)) {
      return;
    }
    onnx::NodeProto fused;
    fused.set_op_type(is_centred ? "LayerNormalization" : "RMSNormalization");
    fused.add_input(x);
    onnx::AttributeProto& attribute = *fused.add_attribute();
    attribute.set_name("axis");
    attribute.set_i(*axis);
    const Shape& rows = shape(x);
    add_parameters(fused, nodes, *result,
                   product(std::span(rows).subspan(static_cast<std::size_t>(*axis))), is_centred);
    replace(nodes, std::move(fused));
  }

  bool keeps_type(Index cast) const {
    const KnownValue* from = find(input(cast, 0));
    const KnownValue* to = find(at(cast).output(0));
    return from != nullptr && to != nullptr && from->output.type == to->output.type;
  }

  // A scale, and an offset, of so many numbers.
  void add_parameters(onnx::NodeProto& fused, std::vector<Index>& nodes, Index result,
                      std::int64_t numbers, bool has_offset) const {
    for (const std::string_view op_type : {"Mul", "Add"}) {
      if (const auto cast = reader(at(result).output(0), "Cast"); cast && keeps_type(*cast)) {
        nodes.push_back(*cast);
        result = *cast;
      }
      const auto next = reader(at(result).output(0), op_type);
      if (!next || (op_type == "Add" && !has_offset)) {
        return;
      }
      const std::string& side = other(at(*next), at(result).output(0));
      const KnownValue* value = find(side);
      if (value == nullptr || value->origin == Origin::kComputed ||
          product(value->output.shape) != numbers) {
        return;
      }
      fused.add_input(side);
      nodes.push_back(*next);
      result = *next;
    }
  }

  // Instances of which each is a group of channels, then scaled and shifted by channel.
  void fuse_group_norm(Index norm) {
    const std::string& groups = input(norm, 0);
    const auto split = maker(groups, "Reshape");
    const auto joined = reader(at(norm).output(0), "Reshape");
    if (!split || !joined || shape(groups).size() != 3 || num_reads(groups) != 1) {
      return;
    }
    const std::string& x = input(*split, 0);
    const bool is_plain = std::ranges::all_of(std::array{1, 2}, [&](int side) {
      const KnownValue* value = find(input(norm, side));
      return value != nullptr && value->origin == Origin::kConstant;
    });
    if (!is_plain || shape(x).size() < 2 || shape(x) != shape(at(*joined).output(0)) ||
        shape(x)[0] != shape(groups)[0] || shape(x)[1] % shape(groups)[1] != 0) {
      return;
    }
    std::vector<Index> nodes{*split, norm, *joined};
    onnx::NodeProto fused;
    fused.set_op_type("GroupNormalization");
    fused.add_input(x);
    onnx::AttributeProto& attribute = *fused.add_attribute();
    attribute.set_name("num_groups");
    attribute.set_i(shape(groups)[1]);
    add_parameters(fused, nodes, *joined, shape(x)[1], true);
    if (fused.input_size() == 3) {
      replace(nodes, std::move(fused));
    }
  }

  // x (1 + erf(x / sqrt(2))) / 2, with the half at either side.
  void fuse_gelu(Index erf) {
    const std::string& argument = input(erf, 0);
    const auto quotient = maker(argument, "Div");
    const auto scaled = quotient ? quotient : maker(argument, "Mul");
    if (!scaled) {
      return;
    }
    const onnx::NodeProto& scale = at(*scaled);
    const bool is_left = is_constant(scale.input(0));
    const double factor_of_x = quotient ? std::sqrt(2.0) : std::sqrt(0.5);
    if ((quotient && is_left) || !is_near(scale.input(is_left ? 0 : 1), factor_of_x)) {
      return;
    }
    const std::string x = scale.input(is_left ? 1 : 0);
    const auto shifted = reader(at(erf).output(0), "Add");
    if (!shifted) {
      return;
    }
    const auto product = reader(at(*shifted).output(0), "Mul");
    if (!product || num_reads(argument) != 1 ||
        !is_near(other(at(*shifted), at(erf).output(0)), 1)) {
      return;
    }
    const std::string& factor = other(at(*product), at(*shifted).output(0));
    std::vector<Index> nodes{*scaled, erf, *shifted, *product};
    if (factor == x) {
      const auto half = reader(at(*product).output(0), "Mul");
      if (!half || !is_near(other(at(*half), at(*product).output(0)), 0.5)) {
        return;
      }
      nodes.push_back(*half);
    } else {
      const auto half = maker(factor, "Mul");
      if (!half || num_reads(factor) != 1 || !reads(at(*half), x) ||
          !is_near(other(at(*half), x), 0.5)) {
        return;
      }
      nodes.push_back(*half);
    }
    onnx::NodeProto fused;
    fused.set_op_type("Gelu");
    fused.add_input(x);
    replace(nodes, std::move(fused));
  }

  // x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2, as PyTorch's exporter writes it: with the
  // cube as two products. Models that have a power compute it by these steps.
  void fuse_tanh_gelu(Index tanh) {
    const auto inner = scaled(input(tanh, 0), 0.7978846);
    if (!inner) {
      return;
    }
    const auto sum = maker(inner->second, "Add");
    if (!sum) {
      return;
    }
    const int side = scaled(input(*sum, 0), 0.044715) ? 0 : 1;
    const auto term = scaled(input(*sum, side), 0.044715);
    if (!term) {
      return;
    }
    const std::string& x = input(*sum, 1 - side);
    const auto cube = maker(term->second, "Mul");
    if (!cube || !reads(at(*cube), x)) {
      return;
    }
    const auto power = square(other(at(*cube), x));
    const auto shifted = reader(at(tanh).output(0), "Add");
    if (!power || power->second != x || !shifted) {
      return;
    }
    const auto product = reader(at(*shifted).output(0), "Mul");
    if (!product || !reads(at(*product), x)) {
      return;
    }
    const auto half = reader(at(*product).output(0), "Mul");
    if (!half || !scaled(at(*half).output(0), 0.5)) {
      return;
    }
    const std::vector<Index> nodes{inner->first, *sum,     term->first, *cube, power->first,
                                   tanh,         *shifted, *product,    *half};
    if (are_alone(nodes, *half)) {
      onnx::NodeProto fused;
      fused.set_op_type("Gelu");
      fused.add_input(x);
      replace(nodes, std::move(fused));
    }
  }

  // A product with a number like this one: its node, and what the number is multiplied by.
  std::optional<std::pair<Index, std::string>> scaled(const std::string& name,
                                                      double factor) const {
    const auto product = maker(name, "Mul");
    if (!product) {
      return std::nullopt;
    }
    for (const int side : {0, 1}) {
      if (is_near(input(*product, side), factor)) {
        return std::pair(*product, input(*product, 1 - side));
      }
    }
    return std::nullopt;
  }

  // PyTorch's MultiheadAttention cuts its projection [..., 3, width] into contiguous parts: it puts
  // the 3 in front by exchanging it with a new axis, which it then drops. Of contiguous() nothing
  // is left in a model.
  void keep_contiguous(Index squeeze) {
    const auto transpose = maker(input(squeeze, 0), "Transpose");
    if (!transpose || !maker(input(*transpose, 0), "Unsqueeze")) {
      return;
    }
    const Shape perm = integers_attribute(at(*transpose), "perm");
    const auto rank = std::ssize(perm);
    const Shape& parts = shape(at(squeeze).output(0));
    if (rank < 4 || perm[0] != rank - 2 || perm[perm.size() - 2] != 0 || parts.empty() ||
        (parts[0] != 2 && parts[0] != 3)) {
      return;
    }
    onnx::NodeProto node = at(squeeze);
    node.clear_output();
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(std::string(kContiguous));
    attribute.set_i(1);
    replace({squeeze}, std::move(node));
  }

  // x sigmoid(x), and x hard-sigmoid(x).
  void fuse_gate(Index gate) {
    const bool is_hard = at(gate).op_type() == "HardSigmoid";
    const auto product = reader(at(gate).output(0), "Mul");
    const std::string x = input(gate, 0);
    if (!product || other(at(*product), at(gate).output(0)) != x) {
      return;
    }
    onnx::NodeProto fused;
    fused.set_op_type(is_hard ? "HardSwish" : "Swish");
    fused.add_input(x);
    replace({gate, *product}, std::move(fused));
  }
};

}  // namespace

void fuse_layers(Model& model) {
  LayerFuser(model).run();
  fuse_attention(model);
}

}  // namespace emplace::onnx_model
