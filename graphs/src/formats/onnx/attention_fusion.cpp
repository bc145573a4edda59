#include "fusions.hpp"
#include "rewriter.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace emplace::onnx_model {
namespace {

class AttentionFuser : Rewriter {
 public:
  explicit AttentionFuser(Model& model) : Rewriter(model) {}

  void run() {
    for (Index i = 0; i < num_nodes(); ++i) {
      if (is_of(i, "MatMul")) {
        fuse(i);
      }
    }
    finish();
  }

 private:
  using Nodes = std::vector<Index>;

  // softmax(sQ (sK)^T + mask) V, with dropout, and zeros for rows that are all masked. What is
  // written by hand scales one side, or the scores: PyTorch's exporters scale both, or name the
  // result.
  void fuse(Index result) {
    Nodes nodes{result};
    const std::string repeated_values = input(result, 1);
    const auto softmax = find_softmax(input(result, 0), nodes);
    if (!softmax) {
      return;
    }
    std::string scores = input(*softmax, 0);
    std::string mask;
    if (const auto sum = maker(scores, "Add")) {
      nodes.push_back(*sum);
      const int side = maker(input(*sum, 0), "MatMul") ? 0 : 1;
      scores = input(*sum, side);
      mask = input(*sum, 1 - side);
    }
    const auto product = maker(scores, "MatMul");
    if (!product) {
      return;
    }
    nodes.push_back(*product);
    std::string queries = input(*product, 0);
    std::string transposed_keys = input(*product, 1);
    const auto left = find_scaled(queries);
    const auto right = find_scaled(transposed_keys);
    if (left && right && left->factor == right->factor) {
      queries = left->x;
      transposed_keys = right->x;
      nodes.insert(nodes.end(), {left->node, right->node});
    } else if (!at(result).output(0).starts_with("scaled_dot_product_attention")) {
      return;
    }
    const bool has_heads = shape(queries).size() == 4 && shape(transposed_keys).size() == 4 &&
                           shape(repeated_values).size() == 4;
    if (!has_heads || !are_alone(nodes, result)) {
      return;
    }
    onnx::NodeProto fused;
    fused.set_op_type("Attention");
    fused.add_input(queries);
    const auto keys = find_transposed(transposed_keys);
    const std::string made_keys = at(result).output(0) + "/keys";
    fused.add_input(keys.value_or(made_keys));
    fused.add_input(before_repeats(repeated_values));
    if (!mask.empty()) {
      fused.add_input(condition_of(mask));
    }
    replace(nodes, std::move(fused));
    if (!keys) {
      put_transpose(*product, transposed_keys, made_keys);
    }
  }

  std::optional<Index> find_softmax(std::string name, Nodes& nodes) const {
    if (const auto dropout = maker(name, "Dropout")) {
      nodes.push_back(*dropout);
      name = input(*dropout, 0);
    }
    if (const auto where = maker(name, "Where")) {
      const auto is_nan = maker(input(*where, 0), "IsNaN");
      if (!is_nan || number(input(*where, 1)) != 0 || input(*is_nan, 0) != input(*where, 2)) {
        return std::nullopt;
      }
      nodes.insert(nodes.end(), {*where, *is_nan});
      name = input(*where, 2);
    }
    const auto softmax = maker(name, "Softmax");
    if (!softmax) {
      return std::nullopt;
    }
    const auto last = std::ssize(shape(name)) - 1;
    const std::int64_t axis = integer_attribute(at(*softmax), "axis", -1);
    nodes.push_back(*softmax);
    return axis == -1 || axis == last ? softmax : std::nullopt;
  }

  struct Scaled {
    Index node;
    std::string x;
    double factor;
  };

  std::optional<Scaled> find_scaled(const std::string& name) const {
    const auto node = maker(name, "Mul");
    if (!node) {
      return std::nullopt;
    }
    for (const int side : {0, 1}) {
      if (const auto factor = number(input(*node, side))) {
        return Scaled{*node, input(*node, 1 - side), *factor};
      }
    }
    return std::nullopt;
  }

  // The tensor of which this one is the transpose, if there is one: exporters join its heads to
  // the batch around the transpose.
  std::optional<std::string> find_transposed(std::string name) const {
    const Shape expected = shape(name);
    const auto pass_reshape = [&] {
      if (const auto reshape = maker(name, "Reshape")) {
        name = input(*reshape, 0);
      }
    };
    pass_reshape();
    const auto transpose = maker(name, "Transpose");
    if (!transpose) {
      return std::nullopt;
    }
    const std::size_t rank = shape(name).size();
    Shape perm = integers_attribute(at(*transpose), "perm");
    if (rank < 2 || perm.size() != rank) {
      return std::nullopt;
    }
    std::swap(perm[rank - 2], perm[rank - 1]);
    if (!std::ranges::is_sorted(perm)) {
      return std::nullopt;
    }
    const bool is_joined = rank != expected.size();
    name = before_repeats(input(*transpose, 0));
    if (is_joined && shape(name).size() != expected.size()) {
      pass_reshape();
    }
    Shape found = shape(name);
    if (found.size() != expected.size()) {
      return std::nullopt;
    }
    std::swap(found[found.size() - 2], found.back());
    // Fewer heads serve groups of queries.
    const bool has_groups = found.size() == 4 && found[1] > 0 && expected[1] % found[1] == 0;
    found[1] = has_groups ? expected[1] : found[1];
    return found == expected ? std::optional(name) : std::nullopt;
  }

  // Keys or values [batch, heads, positions, width] before PyTorch's exporter repeats each head for
  // a group of queries; it calls its own tensors so. Who repeats them in a model has copies.
  std::string before_repeats(const std::string& name) const {
    const auto is_own = [](const std::string& tensor) { return tensor.starts_with("val_"); };
    const auto reshape = maker(name, "Reshape");
    if (!reshape || !is_own(name)) {
      return name;
    }
    const std::string& repeats = input(*reshape, 0);
    const auto expand = maker(repeats, "Expand");
    if (!expand || !is_own(repeats) || shape(repeats).size() != 5) {
      return name;
    }
    const auto unsqueeze = maker(input(*expand, 0), "Unsqueeze");
    const bool has_heads =
        unsqueeze && shape(input(*unsqueeze, 0)).size() == 4 && shape(input(*expand, 0))[2] == 1;
    return has_heads ? input(*unsqueeze, 0) : name;
  }

  // Puts a transpose of the last two axes in the place of a node.
  void put_transpose(Index place, const std::string& x, const std::string& result) {
    Shape exchanged = shape(x);
    std::swap(exchanged[2], exchanged[3]);
    onnx::NodeProto node;
    node.set_op_type("Transpose");
    node.add_input(x);
    node.add_output(result);
    onnx::AttributeProto& perm = *node.add_attribute();
    perm.set_name("perm");
    for (const int axis : {0, 1, 3, 2}) {
      perm.add_ints(axis);
    }
    put(place, std::move(node), std::move(exchanged));
  }

  // What says where scores count, if a mask is 0 there and next to minus infinity elsewhere.
  std::string condition_of(const std::string& mask) const {
    const auto where = maker(mask, "Where");
    const bool is_choice =
        where && number(input(*where, 1)) == 0 && number(input(*where, 2)).value_or(0) < -1e4;
    return is_choice ? input(*where, 0) : mask;
  }
};

}  // namespace

void fuse_attention(Model& model) { AttentionFuser(model).run(); }

}  // namespace emplace::onnx_model
